# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: sweep_result
short_description: Find the winner of a sweep, and make its report
description:
  - Reads the state of a sweep and the records of its points. Says of each point what became of it, picks the winner, and makes one
    HTML page with plots.
  - The winner is the point with the best objective among those that were measured in each repeat with every cell valid, hold all
    O(constraints), and are V(improved) over the baseline by the gate of M(llmops.sglang.benchmark_compare). Where no point is,
    there is no winner, and RV(reason) says why.
  - The baseline is plain DFLASH where it was measured, else the one without speculation. The gains over both are told.
  - Records that are missing or damaged, cells that do not count, and points of different releases are told and never make it fail.
  - All of it happens on the controller, in the interpreter that runs Ansible, whatever host the task is for. In check mode only the
    options are looked at, expressions and gate among them.
author:
  - llmops.sglang contributors (@llmops)
requirements:
  - jmespath, for the interpreter that runs Ansible, where O(objective) or O(constraints) hold an expression
  - matplotlib 3.8 or newer, there too, for the plots
extends_documentation_fragment:
  - llmops.sglang._attributes
  - llmops.sglang._attributes.controller_files
  - llmops.sglang._report
attributes:
  idempotent:
    support: full
    details:
      - The same state and records give the same result and the same page. RV(ignore:changed) is always false.
options:
  state:
    description:
      - The file C(state.json) of the sweep on the controller. A relative path of a record in it starts at its directory.
    type: path
    required: true
  objective:
    description:
      - JMESPath expression over the record of a point, whose result is a number, or a list of numbers of which the geometric mean is
        taken. Its C(cells) are the valid ones alone. Of several repeats the median counts.
      - Without it the geometric mean over the cells of C(output_tokens_per_second), of each cell the median of its runs.
    type: str
  objective_goal:
    description:
      - Whether the highest or the lowest objective is the best.
    type: str
    choices: [highest, lowest]
    default: highest
  constraints:
    description:
      - JMESPath expressions that must be true of a point for it to win. What is null or no boolean is not true.
      - Each is over a document with C(record) (all repeats as one; its C(cells) are the valid ones), C(worst) (the worst figure over
        the cells, null where a cell has none), C(coding) (C(passed), C(total), C(pass_rate), or null), C(objective) and C(point)
        (C(name), C(parameters), C(overrides)). The same, without C(point), is there under C(baseline), C(baseline_linear) and
        C(baseline_dflash), each null where it was not measured.
    type: list
    elements: str
    default: []
  baseline:
    description:
      - Name of the point that must be beaten; without it plain DFLASH where it was measured, else the one without speculation.
    type: str
  gate:
    description:
      - How a point is held against the baseline, as the options of M(llmops.sglang.benchmark_compare).
    type: dict
    default: {}
    suboptions:
      metric:
        description: The figure of a cell that is compared.
        type: str
        default: output_tokens_per_second
      min_effect:
        description: The least change that counts, as a share.
        type: float
        default: 0.03
      max_drop:
        description: A loss above this share is a regression, however few the runs.
        type: float
        default: 0.1
      alpha:
        description: How probable runs like these may be without a change.
        type: float
        default: 0.05
      max_spread:
        description: Standard deviation over mean above which runs cannot pass.
        type: float
        default: 0.05
      allow_differences:
        description:
          - What may differ from the baseline beside that which the point itself sets.
        type: list
        elements: str
        default: ['speculative_*']
  current:
    description:
      - What the inventory says now - C(speculative), C(args) and C(environment). What the winner has alike is left out of
        RV(sweep_winner.inventory).
    type: dict
    default: {}
  dest:
    description:
      - Directory for page and plots; without it that of O(state).
    type: path
  prometheus_file:
    description:
      - File on the controller for the textfile collector of Prometheus' node exporter; its name must end in C(.prom) for that. It
        holds the last result of each host and sweep.
    type: path
seealso:
  - module: llmops.sglang.benchmark_compare
  - module: llmops.sglang.benchmark_report
"""

EXAMPLES = r"""
- name: Find the winner
  llmops.sglang.sweep_result:
    state: sweeps/window/gpu1/state.json
    constraints:
      # The code that the model writes is not worse than that of the baseline.
      - coding.pass_rate >= baseline.coding.pass_rate
      - worst.acceptance_length >= `2.5`
      - worst.ttft_ms.p99 <= `800`
  register: swept

- name: Sweep for few streams, by the worst time to the first token
  llmops.sglang.sweep_result:
    state: sweeps/window/gpu1/state.json
    objective: max(cells[?concurrency == `1`].ttft_ms.p90)
    objective_goal: lowest
    gate: {metric: ttft_ms.p90}

- name: Hand the result on to the job
  ansible.builtin.set_stats:
    data:
      sweep_artifacts: "{{ {inventory_hostname: swept.artifact} }}"
"""

RETURN = r"""
sweep_results:
  description: One entry a point, in the order of the sweep.
  type: list
  elements: dict
  returned: always
  contains:
    name:
      description: Name of the point.
      type: str
    status:
      description: V(measured), V(failed), V(rejected) (by a rule, before any start) or V(not_run).
      type: str
    failure_class:
      description: Why it failed or was rejected; null otherwise.
      type: str
    msg:
      description: The cause in a sentence; empty where there is none.
      type: str
    record_path:
      description: The newest record of the point; null where there is none.
      type: str
    objective:
      description: The figure by which points are ranked; null where it has none.
      type: float
    same_as:
      description: The point whose figures these are, because its command line is the same; null otherwise.
      type: str
    verdict:
      description: That of M(llmops.sglang.benchmark_compare) against the baseline; null where there was nothing to compare.
      type: str
    speedup_linear:
      description: Geometric mean speedup over the baseline without speculation; null where there is none.
      type: float
    speedup_dflash:
      description: The same over plain DFLASH.
      type: float
    eligible:
      description: Whether it may win.
      type: bool
    why_not:
      description: Why it may not, in words; empty where it may.
      type: str
results_omitted:
  description: Points that are on the page but not in this result, which must stay small.
  type: int
  returned: always
sweep_winner:
  description: The winner; null where there is none.
  type: dict
  returned: always
  contains:
    name:
      description: Name of the point.
      type: str
    objective:
      description: Its objective.
      type: float
    overrides:
      description: What it sets - C(speculative), C(args) and C(environment).
      type: dict
    parameters:
      description: The same by parameter.
      type: dict
    argv:
      description: Its command line.
      type: list
      elements: str
    verdict:
      description: Always V(improved).
      type: str
    p_value:
      description: That of the gate.
      type: float
    speedup_linear:
      description: Geometric mean speedup over the baseline without speculation; null where there is none.
      type: float
    speedup_dflash:
      description: The same over plain DFLASH.
      type: float
    record_paths:
      description: Its records.
      type: list
      elements: str
    inventory:
      description: What to put into the inventory, as YAML.
      type: str
reason:
  description: Why this point won, or why none did, in a sentence.
  type: str
  returned: always
baseline:
  description: Name of the point that had to be beaten; null where there is none.
  type: str
  returned: always
objective:
  description: What ranks the points - C(expression) (null for the default), C(goal), C(name), C(best) (of the eligible ones, or null).
  type: dict
  returned: always
counts:
  description: Number of points by status.
  type: dict
  returned: always
caveats:
  description: What a reader must know beside the result, such as records that cannot be used and why.
  type: list
  elements: str
  returned: always
markdown:
  description: The result as Markdown.
  type: str
  returned: always
artifact:
  description:
    - The result in at most 4000 characters of JSON - C(sweep), C(host), C(winner), C(reason), C(counts), C(baseline),
      C(best_objective), C(objective), C(speedup_linear), C(speedup_dflash) and C(page).
  type: dict
  returned: always
page:
  description: The page, C(report.html); null where none was made.
  type: str
  returned: always
plots:
  description: The plots, C(report-points.png) and the others.
  type: list
  elements: str
  returned: always
not_drawn:
  description: Plots for which there was nothing to draw, by name, and why.
  type: dict
  returned: always
skipped_reason:
  description: Why nothing was done, or why there are no plots; null otherwise.
  type: str
  returned: always
failure_class:
  description:
    - V(missing_dependency) for a Python package that is not there, V(bad_request) for an expression or a state that cannot be used,
      V(write_failed) for a file that cannot be written.
  type: str
  returned: failure
log_tail:
  description: Always empty here.
  type: list
  elements: str
  returned: failure
"""
