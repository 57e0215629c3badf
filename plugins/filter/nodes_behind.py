# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes of one server have not come as far in a play as the others."""

from __future__ import annotations

import typing as t

DOCUMENTATION = r"""
name: nodes_behind
short_description: Tell which nodes of a server have not come as far in a play as the others
author: llmops.sglang contributors (@llmops)
description:
  - The hosts of a play go from task to task together, and each notes how far it has come. A node that has noted something else has
    failed, was lost, or takes no part in this play or in this batch of it.
positional: hostvars, batch, stage, result
options:
  _input:
    description: The hosts of the server.
    type: list
    elements: str
    required: true
  hostvars:
    description: The variables of all hosts, of which RV(ignore:server_node_at) tells how far one has come.
    type: dict
    required: true
  batch:
    description: The hosts that take part now.
    type: list
    elements: str
    required: true
  stage:
    description: How far they should have come.
    type: str
    required: true
  result:
    description: The variable that tells what became of the last task, to say why one has not.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Go on only where every unit is written
  ansible.builtin.assert:
    that: >-
      ['gpu1', 'gpu2'] | llmops.sglang.nodes_behind(hostvars, ansible_play_batch, 'written', 'server_unit_written') | length == 0
"""

RETURN = r"""
_value:
  description: For each of them its name and why, as far as that is known.
  type: list
  elements: str
"""

_NOT_KNOWN = "it failed before, is lost, or is no part of this play or of this batch of it"


def nodes_behind(
    hosts: list[str], hostvars: t.Mapping[str, t.Any], batch: list[str], stage: str, result: str
) -> list[str]:
    """Each node that is not at *stage*, with the cause."""
    told = []
    for host in hosts:
        known = hostvars[host]
        if host not in batch or known.get("server_node_at", "") != stage:
            said = known.get(result) or {}
            told.append(f"'{host}': {said.get('msg') or _NOT_KNOWN}")
    return told


class FilterModule:
    """The filters of this file by their names."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"nodes_behind": nodes_behind}
