#!/usr/bin/python
# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: server_verdict
short_description: Say every way in which an SGLang server is not what its inventory says
description:
  - Judges what other modules saw of a server, and fails where anything differs, with each difference and not only the first.
  - It looks at nothing itself. All of it happens on the controller, in the interpreter that runs Ansible, whatever host the
    task is for.
  - The playbook C(llmops.sglang.verify) gives it the results of modules that were kept from failing.
author:
  - llmops.sglang contributors (@llmops)
extends_documentation_fragment:
  - llmops.sglang._attributes
  - llmops.sglang._attributes.read_only
attributes:
  check_mode:
    support: full
    details:
      - In check mode it tells what differs and fails only where the inventory itself would be refused, or nothing could be read.
options:
  name:
    description: Name of the unit, for messages.
    type: str
    required: true
  info:
    description: A result of M(llmops.sglang.server_info).
    type: dict
    required: true
  unit:
    description:
      - A result of M(llmops.sglang.server_unit) in check mode with what the inventory says. Where it is left out, the file of the unit
        is not judged, and the server's own arguments are held against O(arguments) instead.
    type: dict
    default: {}
  generation:
    description: A result of M(llmops.sglang.wait_for_generation).
    type: dict
    default: {}
  journal:
    description: A result of M(llmops.sglang.journal_assert).
    type: dict
    default: {}
  arguments:
    description: The arguments of the server as in O(llmops.sglang.server_unit#module:args).
    type: dict
    default: {}
  min_acceptance_length:
    description:
      - The least acceptance length, in tokens per verify step with the bonus token.
      - It is held against the mean since the server started, the lowest of its ranks. Where the server does not tell one yet, it is
        held against RV(llmops.sglang.wait_for_generation#module:acceptance_length) of O(generation). One that is unknown falls short.
    type: float
  ignore:
    description: Subjects that may differ; what differs there is told as RV(ignored).
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Read what runs
  llmops.sglang.server_info:
    name: sglang
  register: info

- name: Let it generate once
  llmops.sglang.wait_for_generation:
    name: sglang
    successes: 1
    timeout: 60
    keep_start_time: false
  register: generation
  failed_when: false

- name: Judge both at once
  llmops.sglang.server_verdict:
    name: sglang
    info: "{{ info }}"
    generation: "{{ generation }}"
    min_acceptance_length: 2.5
"""

RETURN = r"""
ok:
  description: Whether nothing differs.
  type: bool
  returned: always
drift:
  description: Everything that differs.
  type: list
  elements: dict
  returned: always
  contains:
    subject:
      description:
        - What differs. V(unit) (the unit is not what the inventory says, or is not there), V(inventory) (what it says would be refused),
          V(process) (nothing runs, or a restart is pending), V(server) (it runs with other arguments), V(draft_window),
          V(trained_window) and V(block_size) (sources disagree on those), V(listener) (another process answers), V(journal),
          V(generation), V(acceptance), or V(host) (nothing could be read of it).
      type: str
    msg:
      description: How.
      type: str
    failure_class:
      description: Word for the kind of failure where there is one; else null.
      type: str
  sample:
    - subject: process
      msg: "a restart is pending: the command line differs: runs with --tp-size 4; unit says --tp-size 8"
      failure_class: null
ignored:
  description: What differs in subjects that are in O(ignore), with the same keys.
  type: list
  elements: dict
  returned: always
unchecked:
  description: What could not be judged and why, in sentences.
  type: list
  elements: str
  returned: always
acceptance:
  description: The acceptance length that is known.
  type: dict
  returned: always
  contains:
    length:
      description: Tokens per verify step; null where it is unknown.
      type: float
    source:
      description: V(lifetime), the mean since the server started, or V(probe), of the one answer; null where it is unknown.
      type: str
failure_class:
  description: That of the first difference that has one; else V(condition_not_met).
  type: str
  returned: failure
log_tail:
  description: Always empty here.
  type: list
  elements: str
  returned: failure
"""
