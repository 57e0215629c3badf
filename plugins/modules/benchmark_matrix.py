#!/usr/bin/python
# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_matrix
short_description: Measure an SGLang server over prompt lengths and concurrency
description:
  - Puts streamed requests on a server, cell by cell, and writes a record of throughput, latencies and acceptance length
    that knows what it measured. Before and after each cell it notes which process ran; where that changed, or other
    clients were served, or the client itself could not keep up, the cell is invalid and says why.
  - Tokens are counted by the server's own usage and never by chunks, because a chunk holds as many tokens as a verify step
    accepted. A request is a success when tokens, counts, a finish reason and the end mark all came. Nothing is sent twice.
  - The acceptance length counts the bonus token and not the prefill's token. It comes from the detail of each request where
    the server gives one (the C(generate) route of every release; the others from SGLang 0.5.19 on), else from how far the
    counters of C(/metrics) rose during the cell (from SGLang 0.5.13 on, with C(--enable-metrics)), else it is unknown.
    From counters it is (completion tokens - 1) / verify steps; a last step that O(max_tokens) cuts then lowers it a little,
    unless O(max_tokens) is one more than a multiple of the block size.
  - Prompts are passages of the documentation and sources that come with Python, fitted to the wanted number of tokens by
    the server's own count. Each starts with letters of its own, so that none is found in the prefix cache.
  - The matrix is measured to its end whatever the cells show; an invalid cell makes RV(ok) false and does not fail the task.
  - Needs nothing but Python's standard library on the host that runs it, unless O(engine) names a client of others.
author:
  - llmops.sglang contributors (@llmops)
extends_documentation_fragment:
  - llmops.sglang._attributes
  - llmops.sglang._attributes.asks_server
  - llmops.sglang._unit
  - llmops.sglang._connection
  - llmops.sglang._requests
attributes:
  idempotent:
    support: N/A
    details:
      - Each execution measures; the module changes nothing but its own records.
options:
  api:
    description:
      - The route that is measured. V(generate) is SGLang's own and tells the acceptance of each request in every release.
    type: str
    choices: [chat, completions, generate]
    default: chat
  contexts:
    description:
      - Lengths of the prompts in tokens, the chat template included. Their mean is within 2 % or one token of it.
      - Each prompt is fitted by the server's tokenizer. Where the server has no route for that, its answers tell the counts, so it
        computes a cell's prompts about twice before they are measured (each time behind another start, and not many of the long ones).
    type: list
    elements: int
    default: [60, 1024, 4096]
  concurrency:
    description:
      - Numbers of streams in a closed loop. Not used with O(load_model=open).
    type: list
    elements: int
    default: [1, 8, 32]
  ignore_eos:
    description:
      - Whether to go on behind the natural end of an answer. Throughput is then comparable; text behind the end is often
        easier to draft, so measure the acceptance of real work with V(false).
    type: bool
    default: true
  requests:
    description:
      - Requests of a cell; without it the number of O(profile).
    type: int
  repeats:
    description:
      - Runs of each cell; without it the number of O(profile).
    type: int
  warmup:
    description:
      - Requests before each cell that are not measured, with prompts of their own, at the concurrency of the cell.
      - Without it as many as there are streams, and at least 8 in a cell's first run with O(profile=standard) and
        O(profile=long).
    type: int
  profile:
    description:
      - V(quick) measures each cell once with 2 requests a stream and at least 8, V(standard) 3 times with 5, V(long) 5 times
        with 10.
    type: str
    choices: [quick, standard, long]
    default: quick
  load_model:
    description:
      - V(closed) keeps a number of streams busy. V(open) sends at a O(rate) whatever the server does, and counts latency from
        the scheduled time.
    type: str
    choices: [closed, open]
    default: closed
  rate:
    description:
      - Requests a second in an open loop.
    type: float
  arrival:
    description:
      - How the requests of an open loop are spaced.
    type: str
    choices: [poisson, constant]
    default: poisson
  engine:
    description:
      - What makes the load. V(builtin) is this collection's own generator and needs nothing installed.
      - V(sglang) is the load client that ships inside the server's own environment; V(guidellm) is that tool, where it is
        installed. Each is asked for its help first, and refused with RV(failure_class=missing_dependency) where it does not
        work. Nothing is installed, and nothing is fetched.
      - Prompts, warm-up, evidence, counters and verdicts are the same with each. What such a client is known to get wrong is
        written into the record as caveats; what it does not tell is null.
    type: str
    choices: [builtin, sglang, guidellm]
    default: builtin
  engine_python:
    description:
      - Interpreter whose environment has the load client of O(engine). Without it the interpreter of the unit for V(sglang),
        and the command C(guidellm) on the search path for V(guidellm).
    type: path
  prompts:
    description:
      - File on the host that runs the module with prompts to use instead of generated ones - a JSON list of strings, JSON
        lines (strings, or mappings with a C(prompt)), or text with one prompt a line. O(contexts) is then not used.
    type: path
  seed:
    description:
      - Picks the passages and the arrivals; two matrices with the same seed use the same text.
    type: int
    default: 0
  results_dir:
    description:
      - Directory for the records on the host that runs the module.
    type: path
    default: ~/.local/state/llmops-sglang/benchmarks
  resume:
    description:
      - Whether a matrix that was interrupted goes on where it stopped. That happens only where all options are the same and
        the same invocation of O(name) still runs; invalid cells are measured again. Without O(name) it starts over.
      - While another run measures the very same, this one fails with RV(failure_class=condition_not_met).
      - A matrix that was measured to its end has its record and is measured anew the next time, also where cells of it are
        invalid. What made them invalid may have touched the others, and the figures of a record are to be of one time.
    type: bool
    default: true
  require_evidence:
    description:
      - Whether figures must be bound to an invocation of O(name). With V(false) the record is marked as unproven.
    type: bool
    default: true
  min_acceptance_length:
    description:
      - Floor of the acceptance length. A cell below it makes RV(ok) false; a cell whose acceptance is unknown is then invalid.
    type: float
  max_cached_share:
    description:
      - Share of the prompt tokens, beyond the prefix that all prompts share, which may come from the prefix cache.
    type: float
    default: 0.01
  cell_timeout:
    description:
      - Seconds for the load of one cell. What is not answered then is an error and the cell is invalid.
    type: float
    default: 1800
  progress_interval:
    description:
      - Seconds between lines about the progress while a cell is measured, beside that at the end of each cell. V(0) shows none at
        all, and neither does C(no_log) or a callback that owns the terminal.
    type: int
    default: 15
  slice_seconds:
    description:
      - Set by the action plugin of this module, as O(run_id) is. It ends after the first cell that ends later than so many seconds.
    type: float
  run_id:
    description:
      - The matrix whose next cells are measured.
    type: str
notes:
  - It cannot be run with C(async), because nothing could show the progress then.
  - O(use_proxy=true) is refused. A proxy between client and server would be part of every figure.
"""

EXAMPLES = r"""
- name: Measure what was just deployed
  llmops.sglang.benchmark_matrix:
    name: sglang
    label: block 8, window 2048
    min_acceptance_length: 3.5
  register: benchmark

- name: Measure the acceptance of real work, request by request
  llmops.sglang.benchmark_matrix:
    name: sglang
    api: generate
    contexts: [1024]
    concurrency: [1]
    ignore_eos: false
    profile: standard

- name: Measure under a constant rate, from another machine and without proof of what ran
  llmops.sglang.benchmark_matrix:
    base_url: http://gpu1.example:30000
    load_model: open
    rate: 4
    require_evidence: false
  delegate_to: localhost
"""

RETURN = r"""
ok:
  description: Whether all cells are valid and every floor held; null in check mode.
  type: bool
  returned: always
cells:
  description: The cells that are measured, each one run of one context and concurrency.
  type: list
  elements: dict
  returned: always
  contains:
    context:
      description: Wanted prompt tokens; null with O(prompts).
      type: int
    concurrency:
      description: Streams; null in an open loop.
      type: int
    run:
      description: Number of the run, from 1.
      type: int
    valid:
      description: Whether the figures count.
      type: bool
    reasons:
      description:
        - Why they do not - V(evidence_changed), V(errors), V(no_usage), V(short_outputs), V(prompt_length), V(cached),
          V(client_saturated), V(foreign_traffic), V(unknown_acceptance), V(simulated_acceptance), V(timeout).
      type: list
      elements: str
    output_tokens_per_second:
      description: Generated tokens of all streams over the time from the first sending to the last token.
      type: float
    requests_per_second:
      description: Answered requests over the same time.
      type: float
    ttft_ms:
      description:
        - Time to the first token of any channel, with C(mean), C(p50), C(p90) and C(p99). A percentile p is null where fewer
          than 10 / (1 - p) values stand behind it.
      type: dict
    tpot_ms:
      description: Time a token over the tokens behind the first chunk.
      type: dict
    chunk_gap_ms:
      description: Time between two chunks that hold tokens.
      type: dict
    e2e_ms:
      description: Time to the end of the stream.
      type: dict
    acceptance_length:
      description: Accepted tokens of a verify step, the bonus token included; null where unknown.
      type: float
    acceptance_source:
      description: V(per_request), V(counters) or V(unknown).
      type: str
    acceptance_formula:
      description: V(correct_drafts) (correct drafts / verify steps + 1) or V(completion_tokens) ((tokens - 1) / verify steps).
      type: str
    acceptance_floor_held:
      description: Whether O(min_acceptance_length) is reached; null without a floor.
      type: bool
    cached_share:
      description: Share of prompt tokens from the prefix cache beyond the prefix that all share; null where nobody reported it.
      type: float
    short_outputs:
      description: Answers with fewer tokens than O(max_tokens).
      type: int
    errors:
      description: Failed requests by kind.
      type: dict
    error_samples:
      description: One message of each kind.
      type: dict
    requests:
      description: Requests sent.
      type: int
    succeeded:
      description: Requests answered whole.
      type: int
    evidence_changes:
      description: What tells that another process answered at the end than at the start.
      type: list
      elements: str
cells_omitted:
  description: Cells that are in the record but not in this result, which must stay small.
  type: int
  returned: always
cells_done:
  description: Cells measured so far.
  type: int
  returned: always
cells_total:
  description: Cells of the matrix.
  type: int
  returned: always
new_cells:
  description: Cells measured by this execution of the module (the last one, where the action plugin called it several times).
  type: list
  elements: dict
  returned: always
next_cell:
  description: The cell that comes next; null when none is left.
  type: str
  returned: always
complete:
  description: Whether the whole matrix is measured.
  type: bool
  returned: always
record_path:
  description: The record on the host that ran the module; raw requests and the table lie beside it.
  type: str
  returned: always
markdown:
  description: The table, runs of one cell in one row.
  type: str
  returned: always
evidence_before:
  description: What ran before the first cell.
  type: dict
  returned: always
evidence_after:
  description: What ran after the last cell.
  type: dict
  returned: always
server_end:
  description:
    - Why the invocation that was measured ended before the matrix did, with C(failure_class), C(msg) and C(log_tail).
    - Null where it still runs at the end, or no unit is named.
  type: dict
  returned: always
resumed_cells:
  description: Cells taken over from an interrupted matrix.
  type: int
  returned: always
run_id:
  description: Identifies this matrix.
  type: str
  returned: always
skipped_reason:
  description: Why nothing was measured; null otherwise.
  type: str
  returned: always
failure_class:
  description: Word for the kind of failure.
  type: str
  returned: failure
log_tail:
  description: Always empty here; the server's own rows are found by M(llmops.sglang.journal_assert).
  type: list
  elements: str
  returned: failure
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.llmops.sglang.plugins.module_utils._benchmark_options import argument_spec, matrix_plan
from ansible_collections.llmops.sglang.plugins.module_utils._benchmark_run import measure
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure, fail_module
from ansible_collections.llmops.sglang.plugins.module_utils._unit_name import unit_name

NOTHING = {
    "ok": None, "cells": [], "cells_omitted": 0, "cells_done": 0, "cells_total": 0, "new_cells": [], "next_cell": None,
    "complete": False, "record_path": None, "markdown": "", "evidence_before": None, "evidence_after": None,
    "server_end": None, "resumed_cells": 0, "run_id": None, "skipped_reason": None,
}  # fmt: skip


def main() -> None:
    module = AnsibleModule(
        argument_spec=argument_spec(),
        required_if=[("load_model", "open", ["rate"])],
        required_one_of=[("name", "base_url")],
        supports_check_mode=True,
    )
    params = module.params
    try:
        if params["name"]:
            params["name"] = unit_name(params["name"])
        plan = matrix_plan(params)
        if module.check_mode:
            module.exit_json(changed=False, **{**NOTHING, "skipped_reason": "check mode: no request is sent"})
        result, warnings = measure(params, plan, module.run_command)
    except Failure as failure:
        fail_module(module, failure, **{**NOTHING, "ok": False})
    for warning in warnings:
        module.warn(warning)
    module.exit_json(changed=False, **{**NOTHING, **result})


if __name__ == "__main__":
    main()
