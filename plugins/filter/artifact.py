# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host's part of a play hands on to the job around it."""

from __future__ import annotations

import re
import typing as t

DOCUMENTATION = r"""
name: artifact
short_description: Make what a host tells an artifact of the job
author: llmops.sglang contributors (@llmops)
description:
  - The artifacts of a job become variables of the next job of a workflow. Text of a log or of an answer in them must not be a
    template there.
  - A space is put behind each brace that would begin one.
positional: host
options:
  _input:
    description: What the host tells, of text, numbers, lists and mappings.
    type: raw
    required: true
  host:
    description: The host that tells it.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Hand on what a wait told
  ansible.builtin.set_stats:
    data:
      wait_artifacts: "{{ waited.stages | llmops.sglang.artifact(inventory_hostname) }}"
"""

RETURN = r"""
_value:
  description: A mapping with one key, the host.
  type: dict
"""

_OPENS_TEMPLATE = re.compile(r"\{(?=[{%#])")


def artifact(value: t.Any, host: str) -> dict[str, t.Any]:
    """What *host* tells, with nothing in it that a later job would take for a template."""
    return {host: _plain(value)}


def _plain(value: t.Any) -> t.Any:
    if isinstance(value, str):
        return _OPENS_TEMPLATE.sub("{ ", value)
    if isinstance(value, t.Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


class FilterModule:
    """The filters of this file by their names."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"artifact": artifact}
