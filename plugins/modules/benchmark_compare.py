#!/usr/bin/python
# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_compare
short_description: Compare two benchmarks of an SGLang server, and fail where one is a regression
description:
  - Reads records of M(llmops.sglang.benchmark_matrix) and says whether the candidate is better than the baseline, as good,
    or worse, or that the runs do not tell.
  - Comparability comes first. Server arguments, variables, versions, models, files, host, GPU, kernel and load of both sides
    must be the same but for what is compared (O(allow_differences)). What differs is listed; where more differs than that,
    RV(verdict) is V(not_comparable) and there are no figures.
  - The sample is a run, never a request. The geometric means of the runs over all cells are held against each other by an
    exact one-sided rank test in both directions, from three runs a side on. A change counts where it is proven (O(alpha)) and
    above O(min_effect).
  - A single cell is tested from five runs a side on, with Holm's correction for the number of cells. Whatever the runs, a
    median that is worse by more than O(max_drop) is a regression, of all cells as of a single one. Where a side has a single
    run of several cells, those are held to the sum of O(max_drop) and O(min_effect), since one of many falls that far by chance.
  - A run counts where all of its cells are valid; those that are not are listed with their reasons.
  - Reads files and nothing else, so delegate it to the host that holds the records. Needs only Python's standard library.
author:
  - llmops.sglang contributors (@llmops)
extends_documentation_fragment:
  - llmops.sglang._attributes
  - llmops.sglang._attributes.read_only
options:
  baseline:
    description:
      - Records to compare with. A path may hold the wildcards of a shell.
      - Several records are several runs of one and the same thing.
    type: list
    elements: path
    required: true
  candidate:
    description:
      - Records to judge, likewise. Required unless O(check_only) is set.
    type: list
    elements: path
  check_only:
    description:
      - Only look, before anything is measured, whether the options and the records of O(baseline) can be used. RV(verdict) is then
        null, or V(not_comparable) where those records are not of one thing.
    type: bool
    default: false
  metric:
    description:
      - The figure of a cell that is compared. More is better of C(output_tokens_per_second), C(steady_tokens_per_second),
        C(requests_per_second) and C(acceptance_length); less of C(ttft_ms), C(ttfo_ms), C(tpot_ms), C(chunk_gap_ms) and
        C(e2e_ms), of which the mean is taken, or a percentile as in C(ttft_ms.p90).
    type: str
    default: output_tokens_per_second
  min_effect:
    description:
      - The least change that counts, as a share. A proven change below it is none.
    type: float
    default: 0.03
  max_drop:
    description:
      - A loss above this share is a regression, however few the runs.
    type: float
    default: 0.1
  alpha:
    description:
      - How probable runs like these may be without a change, for the change to be proven. Three runs a side reach 0.05 where
        each run of one side is better than all of the other, and no smaller number.
    type: float
    default: 0.05
  max_spread:
    description:
      - Standard deviation of a side's runs over their mean, above which they cannot pass.
    type: float
    default: 0.05
  allow_differences:
    description:
      - Names of what may differ, as in RV(differences), with the wildcards of a shell. Replaces the default.
      - Names of server arguments, and among others V(sglang_version), V(environment.NAME), V(model_files), V(gpu_driver),
        V(kernel), V(host_name), V(cells) (then those of both sides are compared) and V(requests).
      - Where V(sglang_version) is allowed, so are V(sglang_files) and arguments that only one of the two releases has.
      - Within one side nothing may differ, since its records count as runs of one thing.
    type: list
    elements: str
    default: ['speculative_*']
  fail_on:
    description:
      - V(regressed) fails the task on a regression, V(inconclusive) also where the runs do not tell. Both fail where the
        sides are V(not_comparable), since a gate that could not look must not let pass. V(never) only reports.
    type: str
    choices: [regressed, inconclusive, never]
    default: regressed
seealso:
  - module: llmops.sglang.benchmark_matrix
"""

EXAMPLES = r"""
- name: Compare with and without drafting
  llmops.sglang.benchmark_compare:
    baseline: benchmarks/gpu1/*_plain_*.json
    candidate: benchmarks/gpu1/*_dflash_*.json
    # DFLASH sets this one by itself; give it the same value on both sides to compare nothing but drafting.
    allow_differences: [speculative_*, max_running_requests]
    fail_on: never
  delegate_to: localhost
  register: drafting

- name: Refuse a release that is slower than the one before
  llmops.sglang.benchmark_compare:
    baseline: benchmarks/gpu1/baseline.json
    candidate: "{{ benchmark_results_dir }}/gpu1/{{ benchmark_measured.record_path | basename }}"
    allow_differences: [sglang_version]
    fail_on: inconclusive
  delegate_to: localhost

- name: Hold the time to the first token
  llmops.sglang.benchmark_compare:
    baseline: benchmarks/gpu1/baseline.json
    candidate: benchmarks/gpu1/today.json
    metric: ttft_ms.p90
  delegate_to: localhost
"""

RETURN = r"""
verdict:
  description:
    - V(improved), V(pass) (enough runs, little spread and no loss), V(regressed), V(inconclusive) or V(not_comparable); null
      where there was nothing to compare.
  type: str
  returned: always
reasons:
  description: What the verdict rests on - first that of all cells together, then the cells that are regressions.
  type: list
  elements: str
  returned: always
differences:
  description: In what the sides differ, what forbids the comparison first.
  type: list
  elements: dict
  returned: always
  contains:
    name:
      description: The server argument, or the other thing.
      type: str
    baseline:
      description: Its value on the one side.
      type: raw
    candidate:
      description: Its value on the other side.
      type: raw
    where:
      description:
        - V(sides) for what differs between them. V(baseline) or V(candidate) for what differs within that side; then the two
          values are those of two of its records.
      type: str
    allowed:
      description: Whether it may differ.
      type: bool
cells:
  description: The cells that both sides have; none where the sides are not comparable.
  type: list
  elements: dict
  returned: always
  contains:
    context:
      description: Wanted prompt tokens; null for prompts of the user.
      type: int
    concurrency:
      description: Streams; null in an open loop.
      type: int
    baseline:
      description: Median of the baseline's valid runs.
      type: float
    candidate:
      description: Median of the candidate's valid runs.
      type: float
    speedup:
      description: Candidate over baseline, turned around where less is better, so that above 1 is better.
      type: float
    p_value:
      description: Holm's corrected probability, in the direction of the change; null below five runs a side.
      type: float
    verdict:
      description: V(improved), V(pass), V(regressed) or V(inconclusive).
      type: str
    reason:
      description: Why, in words; empty where it passes or improves.
      type: str
    baseline_runs:
      description: Valid runs of the baseline.
      type: int
    candidate_runs:
      description: Valid runs of the candidate.
      type: int
    baseline_acceptance:
      description: Median acceptance length of the baseline; null where unknown.
      type: float
    candidate_acceptance:
      description: Median acceptance length of the candidate; null where unknown.
      type: float
cells_omitted:
  description: Cells that were judged and are not in this result, which must stay small.
  type: int
  returned: always
by_concurrency:
  description: Geometric means over the contexts - C(concurrency), C(speedup), C(baseline_acceptance), C(candidate_acceptance).
  type: list
  elements: dict
  returned: always
geometric_mean_speedup:
  description: Ratio of the medians of the runs' geometric means over all cells; null without a whole run on each side.
  type: float
  returned: always
p_value:
  description: Probability of the rank test over all cells, in the direction of the change; null below three runs a side.
  type: float
  returned: always
runs:
  description: Runs of the C(baseline) and of the C(candidate) in which all cells are valid.
  type: dict
  returned: always
spread:
  description: Standard deviation over mean of those runs, of the C(baseline) and of the C(candidate).
  type: dict
  returned: always
metric:
  description: The figure that was compared.
  type: str
  returned: always
interleaved:
  description: Whether the sides took turns, so that a drift of the host meets both alike.
  type: bool
  returned: always
caveats:
  description: What a reader must know beside the verdict, such as measurements that do not count and why.
  type: list
  elements: str
  returned: always
markdown:
  description: Verdict, cells, speedup by concurrency, acceptance and differences as Markdown.
  type: str
  returned: always
failure_class:
  description:
    - V(condition_not_met) where O(fail_on) says so, V(bad_request) for records or options that cannot be used.
  type: str
  returned: failure
log_tail:
  description: Always empty here.
  type: list
  elements: str
  returned: failure
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.llmops.sglang.plugins.module_utils._compare_report import check_baseline, compare, nothing
from ansible_collections.llmops.sglang.plugins.module_utils._compare_verdict import Rules, refusal
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure, fail_module


def argument_spec() -> dict[str, dict[str, t.Any]]:
    return {
        "baseline": {"type": "list", "elements": "path", "required": True},
        "candidate": {"type": "list", "elements": "path"},
        "check_only": {"type": "bool", "default": False},
        "metric": {"type": "str", "default": "output_tokens_per_second"},
        "min_effect": {"type": "float", "default": 0.03},
        "max_drop": {"type": "float", "default": 0.1},
        "alpha": {"type": "float", "default": 0.05},
        "max_spread": {"type": "float", "default": 0.05},
        "allow_differences": {"type": "list", "elements": "str", "default": ["speculative_*"]},
        "fail_on": {"type": "str", "choices": ["regressed", "inconclusive", "never"], "default": "regressed"},
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec=argument_spec(),
        required_if=[("check_only", False, ["candidate"])],
        supports_check_mode=True,
    )
    params = module.params
    result = nothing()
    try:
        rules = Rules(*(params[name] for name in ("min_effect", "max_drop", "alpha", "max_spread")))
        if params["check_only"]:
            result = check_baseline(params["baseline"], params["metric"])
        else:
            sides = (params["baseline"], params["candidate"])
            result = compare(*sides, params["metric"], rules, params["allow_differences"])
        refused = refusal(result["verdict"], result["reasons"], params["fail_on"])
        if refused:
            raise refused
    except Failure as failure:
        fail_module(module, failure, **result)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
