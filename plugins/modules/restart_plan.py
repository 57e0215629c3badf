# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: restart_plan
short_description: Plan a rolling restart of the hosts of a play
description:
  - Says in which order and how many at a time the hosts of this play are restarted, by the variable C(server_router) of each and by
    what its router tells, and fails before anything is touched where too few workers would serve meanwhile.
  - The hosts of one server (C(server_nodes)) go together; the router of the first of them counts.
  - Hosts that their router sends nothing now are first. They take nothing away from anybody, and where an earlier run was cut off,
    they are what it left.
  - All of it happens on the controller, in the interpreter that runs Ansible. A task of it has C(run_once).
author:
  - llmops.sglang contributors (@llmops)
extends_documentation_fragment:
  - llmops.sglang._attributes
  - llmops.sglang._attributes.read_only
options:
  serial:
    description:
      - How many servers go at a time, as Ansible's C(serial), which is a number, a percentage of them, or a list of these.
    type: raw
    default: 1
  canary:
    description:
      - V(true) lets the very first host go alone, a host's name lets that one go first and alone. Hosts that are out of their router now
        still go before it, the first of them alone as well.
    type: raw
    default: false
  min_available:
    description:
      - How many workers of each router have to be healthy at any time, a number or a percentage of all (V(75%), rounded up).
    type: str
    default: ''
  routers:
    description:
      - Results of M(llmops.sglang.router_info), one for each of RV(routers). Without them only RV(routers) is returned.
    type: list
    elements: dict
seealso:
  - module: llmops.sglang.router_info
"""

EXAMPLES = r"""
- name: See which routers there are
  llmops.sglang.restart_plan:
  register: fleet
  run_once: true

- name: Ask each of them
  llmops.sglang.router_info:
    router_url: "{{ item.router_url }}"
  delegate_to: "{{ item.delegate_to }}"
  loop: "{{ fleet.routers }}"
  register: told
  run_once: true

- name: Plan the restart
  llmops.sglang.restart_plan:
    routers: "{{ told.results }}"
    min_available: 75%
    canary: true
  register: planned
  run_once: true
"""

RETURN = r"""
routers:
  description:
    - Each router once, with its C(router_url), the first C(host) of the play that names it, and C(delegate_to), from where it is reached.
  type: list
  elements: dict
  returned: always
batches:
  description: The hosts that go together, in order.
  type: list
  elements: list
  returned: always
serial:
  description: How many hosts each of RV(batches) has.
  type: list
  elements: int
  returned: always
together:
  description: For each host the URLs of the workers that are out of its router together with its own, its own among them.
  type: dict
  returned: always
plan:
  description: The plan in lines.
  type: list
  elements: str
  returned: always
failure_class:
  description: V(rule_violated) where too few workers would serve, V(bad_request) for options that cannot be.
  type: str
  returned: failure
log_tail:
  description: Always empty here.
  type: list
  elements: str
  returned: failure
"""
