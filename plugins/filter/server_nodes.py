# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts one server runs on, in the order of their ranks."""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.plugin_utils._server_nodes import server_nodes

DOCUMENTATION = r"""
name: server_nodes
short_description: Tell which hosts one server runs on, and the rank of a host
author: llmops.sglang contributors (@llmops)
description:
  - A server whose model does not fit into one host is one of several nodes, given as a group of the inventory or as a list of hosts.
  - The first one is rank 0, which alone answers requests.
positional: groups, host, args
options:
  _input:
    description: A group of the inventory, or hosts in the order of their ranks; empty for a server on one host.
    type: raw
    required: true
  groups:
    description: The groups of the inventory with their hosts.
    type: dict
    required: true
  host:
    description: The host that asks.
    type: str
    required: true
  args:
    description: Arguments of the server that the inventory sets, since some of them are not its to set where there are several nodes.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Tell the rank of this host
  ansible.builtin.debug:
    msg: "{{ (server_nodes | llmops.sglang.server_nodes(groups, inventory_hostname)).rank }}"
"""

RETURN = r"""
_value:
  description:
    - A mapping with the keys V(hosts) (list of str), V(several) (bool), V(first) (str, the host that answers), V(rank) (int, of the
      host that asks; 0 for a server on one host) and V(problems) (list of str, why such a server cannot be; empty where it can).
  type: dict
"""


class FilterModule:
    """The filters of this file by their names."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"server_nodes": server_nodes}
