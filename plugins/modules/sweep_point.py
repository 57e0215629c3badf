# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: sweep_point
short_description: Take the next run of a sweep, and note what became of it
description:
  - Changes the state of a sweep that M(llmops.sglang.sweep_plan) made. Each change is written in one step, so that a play that is
    killed at any moment can be repeated, and goes on with what is missing.
  - The role P(llmops.sglang.sweep#role) uses it; there is little use for it alone.
  - All of it happens on the controller, in the interpreter that runs Ansible, whatever host the task is for.
author:
  - llmops.sglang contributors (@llmops)
extends_documentation_fragment:
  - llmops.sglang._attributes
  - llmops.sglang._attributes.controller_files
attributes:
  idempotent:
    support: partial
    details:
      - What was noted before is noted again, with another time. RV(ignore:changed) is always false.
options:
  state:
    description:
      - The file C(state.json) of the sweep.
    type: path
    required: true
  event:
    description:
      - V(origin) before the first run, V(begun) to take the next run, V(measured) or V(failed) at its end, V(over) once the host runs
        again what it ran before, or a winner.
    type: str
    choices: [origin, begun, measured, failed, over]
    required: true
  point:
    description:
      - Name of the point, with V(measured) and V(failed).
    type: str
  repeat:
    description:
      - Which of its repeats that was.
    type: int
    default: 1
  record_path:
    description:
      - Its record. One with another label than that of the run is none.
    type: path
  start_elapsed:
    description:
      - How many seconds its start took, where it was started for this run.
    type: float
  coding:
    description:
      - How many programs C(passed), and their C(total).
    type: dict
  failure_class:
    description:
      - Why it failed.
    type: str
  msg:
    description:
      - The cause in a sentence.
    type: str
    default: ''
  log_tail:
    description:
      - The last lines of its log.
    type: list
    elements: str
    default: []
  stage:
    description:
      - Whether it failed before it could be measured, or while it was.
    type: str
    choices: [start, benchmark]
    default: start
  max_failures:
    description:
      - How many runs may fail one after the other before the sweep stops; V(0) for any number.
    type: int
    default: 0
  time_budget:
    description:
      - With O(event=begun), how many seconds the sweep may take since O(began); V(0) for no limit. No run is begun that would not
        end in time, by how long earlier ones took.
    type: float
    default: 0
  began:
    description:
      - RV(llmops.sglang.sweep_plan#module:clock) of this play.
    type: float
  there:
    description:
      - With O(event=origin), whether the host has the unit.
    type: bool
    default: true
  running:
    description:
      - With O(event=origin), whether the unit runs.
    type: bool
    default: true
seealso:
  - module: llmops.sglang.sweep_plan
  - module: llmops.sglang.sweep_result
"""

EXAMPLES = r"""
- name: Take the next run
  llmops.sglang.sweep_point:
    state: "{{ planned.state }}"
    event: begun
  register: begun

- name: Note that it could not start
  llmops.sglang.sweep_point:
    state: "{{ planned.state }}"
    event: failed
    point: "{{ begun.run.point }}"
    repeat: "{{ begun.run.repeat }}"
    failure_class: out_of_memory
    msg: The server ran out of GPU memory.
"""

RETURN = r"""
run:
  description:
    - With O(event=begun), the run - its C(point) and C(repeat), the C(label) for its record, the C(overrides) and the C(argv) of the
      point, and its C(number) among how many (C(of)).
    - Null where none is left, or the sweep stops.
  type: dict
  returned: always
stopped:
  description:
    - Why the sweep ends early, with C(why) (V(failures) or V(time)) and C(msg); null where it does not.
  type: dict
  returned: always
runs_left:
  description: How many runs are still to be made.
  type: int
  returned: always
became:
  description:
    - Names of the points by what became of them, C(measured), C(failed) (before it could be measured), C(invalid) (while it was),
      C(rejected) and C(not_run).
  type: dict
  returned: always
skipped_reason:
  description: Why nothing was done; null otherwise.
  type: str
  returned: always
failure_class:
  description: V(bad_request) for a point or record that is not one of the sweep, V(write_failed) where the state cannot be written.
  type: str
  returned: failure
log_tail:
  description: Always empty here.
  type: list
  elements: str
  returned: failure
"""
