# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: sweep_plan
short_description: Plan a sweep over configurations of a server, and go on with one that was interrupted
description:
  - Expands named points and a grid, takes the excluded ones out, and adds two baselines. With O(checked) it also keeps the plan on
    the controller, with what an earlier play measured of the very same.
  - A run counts for a point whose command line, environment, installed release, model and drafter, and settings of the
    benchmark are the same, whatever the point was called then. Points with the same command line and environment are run once.
  - The role P(llmops.sglang.sweep#role) uses it; there is little use for it alone.
  - All of it happens on the controller, in the interpreter that runs Ansible, whatever host the task is for.
author:
  - llmops.sglang contributors (@llmops)
extends_documentation_fragment:
  - llmops.sglang._attributes
attributes:
  check_mode:
    support: full
    details:
      - In check mode the plan is the same and is not kept.
  diff_mode:
    support: N/A
    details:
      - A plan is no configuration, and has no earlier state.
  idempotent:
    support: full
    details:
      - RV(ignore:changed) is always false.
options:
  sweep_dir:
    description:
      - Directory on the controller for all sweeps. The state of this one is C(NAME/HOST/state.json) below it.
    type: path
    required: true
  name:
    description:
      - Name of the sweep.
    type: str
    required: true
  points:
    description:
      - Points, each with a C(name) and what it sets under C(speculative), C(args) and C(environment). Null leaves something out
        that the inventory sets.
    type: list
    elements: dict
    default: []
  grid:
    description:
      - Lists of values of which each combination is a point. A name alone is one of C(speculative); others are written as
        C(args.tp_size) or grouped by part. Null among the values leaves the parameter out.
    type: dict
    default: {}
  exclude:
    description:
      - What is not run. A point is excluded where it sets all that an entry has; a list has alternatives, C(name) is the point's.
    type: list
    elements: dict
    default: []
  baselines:
    description:
      - Whether to add a baseline without speculation, and one with plain DFLASH where there is a drafter for it. Both have nothing
        of what the points vary, and may run as many requests as the others.
    type: bool
    default: true
  repeats:
    description:
      - How often each point is measured.
    type: int
    default: 1
  interleave:
    description:
      - Whether all points are measured once before any is measured again, so that a drift of the host meets all alike.
    type: bool
    default: false
  order:
    description:
      - Whether points are run as they are given, or in an order that O(seed) decides. Baselines are always first.
    type: str
    choices: [given, shuffled]
    default: given
  seed:
    description:
      - See O(order).
    type: int
    default: 0
  retry_failed:
    description:
      - Whether points that failed in an earlier play are run again.
    type: bool
    default: false
  time_budget:
    description:
      - How many seconds the sweep may take, for RV(estimated_seconds); V(0) for no limit.
    type: float
    default: 0
  server:
    description:
      - What the inventory says of the server - C(speculative), C(args), C(environment), C(flag_names) and C(extra_args).
    type: dict
    default: {}
  benchmark:
    description:
      - How each point is measured, C(matrix) with the options of M(llmops.sglang.benchmark_matrix) and whatever else has to be the
        same for a measurement to count.
    type: dict
    default: {}
  checked:
    description:
      - What M(llmops.sglang.server_unit) says of each point in check mode. Each entry has the C(name) of the point, and C(argv),
        C(sglang_version) and C(inputs_sha256), or C(failure_class) and C(msg). Without it the points are only expanded.
    type: list
    elements: dict
  usual_start:
    description:
      - How many seconds a start usually takes, for RV(estimated_seconds).
    type: float
  records:
    description:
      - Directories with records of this host, for RV(estimated_seconds).
    type: list
    elements: path
    default: []
seealso:
  - module: llmops.sglang.sweep_point
  - module: llmops.sglang.sweep_result
"""

EXAMPLES = r"""
- name: Expand a grid
  llmops.sglang.sweep_plan:
    sweep_dir: /srv/sweeps
    name: window
    grid:
      draft_window_size: [null, 1024, 2048, 4096]
      block_size: [8, 16]
      args.max_running_requests: [16, 32]
    exclude:
      - {draft_window_size: 4096, block_size: 16}
    server:
      args: "{{ server_args }}"
      speculative: "{{ server_speculative }}"
  register: expanded
"""

RETURN = r"""
state:
  description: Where the state of the sweep lies.
  type: str
  returned: always
points:
  description:
    - The points in the order in which they are run, each with C(name), C(kind), C(overrides) and C(parameters); with O(checked)
      instead C(name), C(kind), C(status), C(same_as), C(failure_class) and C(msg).
  type: list
  elements: dict
  returned: always
runs_left:
  description: How many runs are still to be made.
  type: int
  returned: always
restarts:
  description: How many restarts they cost, the way back among them.
  type: int
  returned: always
estimated_seconds:
  description: How long that takes, by earlier starts and measurements; null where nothing is known of one of the two.
  type: float
  returned: always
plan:
  description: The plan in words, a line for each point and one for what it costs.
  type: list
  elements: str
  returned: always
measured_again:
  description: Points that were measured before and have to be measured again, and why.
  type: list
  elements: str
  returned: always
open_origin:
  description: What the host ran before an earlier play of this sweep that did not come to its end; null where there was none.
  type: dict
  returned: always
clock:
  description: The controller's monotonic clock in seconds, from which a time budget counts.
  type: float
  returned: always
failure_class:
  description:
    - V(bad_request) for a definition or an option that makes no sense, V(condition_not_met) while another play runs the same
      sweep, V(write_failed) where the state cannot be kept, or that of the first point where all are rejected.
  type: str
  returned: failure
log_tail:
  description: Always empty here.
  type: list
  elements: str
  returned: failure
"""
