# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What to do with a server after a change of it has failed."""

from __future__ import annotations

import typing as t

DOCUMENTATION = r"""
name: way_back
short_description: Decide what becomes of a server after a change of it has failed
author: llmops.sglang contributors (@llmops)
description:
  - One word, by what M(llmops.sglang.server_history) keeps of the server and by what the user wants.
positional: written, check_mode, rollback, keep_failed_install
options:
  _input:
    description: What M(llmops.sglang.server_history) told after the failure; empty where it was not asked.
    type: dict
    required: true
  written:
    description: Whether the change had begun to write, as P(llmops.sglang.written_before_failure#filter) tells.
    type: bool
    required: true
  check_mode:
    description: Whether the play only looks.
    type: bool
    default: false
  rollback:
    description: Whether to go back at all.
    type: bool
    default: true
  keep_failed_install:
    description: Whether a first install, to which there is nothing earlier, stays.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Tell what will become of the server
  ansible.builtin.debug:
    msg: "{{ history | llmops.sglang.way_back(true, ansible_check_mode) }}"
"""

RETURN = r"""
_value:
  description:
    - V(restore) (the configuration that worked last is to be put back) or V(remove) (there is none, so what failed has to go).
    - All others leave the host as it is. They are V(checked) (in check mode), V(not_written), V(left) (nobody wants to go back),
      V(unreachable) (the host is gone), V(unread) (what is kept could not be read), V(kept) (a first install stays) and V(same) (what
      worked last is what is there).
  type: str
"""


def way_back(
    history: t.Mapping[str, t.Any],
    written: bool,
    check_mode: bool = False,
    rollback: bool = True,
    keep_failed_install: bool = False,
) -> str:
    """The word for what comes next; the first reason that holds is the one that is told."""
    if check_mode:
        return "checked"
    if not written:
        return "not_written"
    if not rollback:
        return "left"
    if history.get("unreachable", False):
        return "unreachable"
    if "configurations" not in history:
        return "unread"
    last_good = history.get("last_good")
    if last_good is None:
        return "kept" if keep_failed_install else "remove"
    on_host = [one["id"] for one in history["configurations"] if one["on_host"]]
    return "same" if last_good in on_host else "restore"


class FilterModule:
    """The filters of this file by their names."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"way_back": way_back}
