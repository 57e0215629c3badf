# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_report
short_description: Make a page and plots of a benchmark's record
description:
  - Makes one HTML page of a record, and its plots as PNG - throughput and time to the first token over concurrency by context,
    speedup against a baseline by concurrency, acceptance length, and how long starts took. The page also has the cells, the
    invalid ones with the reasons, the evidence, and the options.
  - The page needs nothing else, neither a network nor a script, and follows the reader's light or dark colours. It can be printed.
  - Invalid cells are in no figure. A plot for which there is nothing to draw is left out, and the page says why.
  - All of it happens on the controller, in the interpreter that runs Ansible, whatever host the task is for.
author:
  - llmops.sglang contributors (@llmops)
requirements:
  - matplotlib 3.8 or newer, for the interpreter that runs Ansible
extends_documentation_fragment:
  - llmops.sglang._attributes
  - llmops.sglang._attributes.controller_files
  - llmops.sglang._report
attributes:
  idempotent:
    support: full
    details:
      - The same record gives the same page. RV(ignore:changed) is always false.
options:
  record:
    description:
      - The record on the controller, as M(llmops.sglang.benchmark_archive) filed it. The times of starts are read from C(starts.csv)
        beside it.
    type: path
    required: true
  baseline:
    description:
      - Other records, against which the speedup is drawn, together as one; paths may hold the wildcards of a shell. Where
        M(llmops.sglang.benchmark_compare) would not compare them there is no speedup, and the page says why; other cells may
        differ. The record itself is never its own baseline.
    type: list
    elements: path
    default: []
  allow_differences:
    description:
      - What may differ between the record and its O(baseline), as for M(llmops.sglang.benchmark_compare).
    type: list
    elements: str
    default: ['speculative_*']
  dest:
    description:
      - Directory for page and plots; without it that of the record.
    type: path
seealso:
  - module: llmops.sglang.benchmark_archive
"""

EXAMPLES = r"""
- name: Show the measurement beside that without drafting
  llmops.sglang.benchmark_report:
    record: "{{ filed.record_path }}"
    baseline: results/gpu1/20261101T101500Z_no-drafting_0a1b2c3d.json
"""

RETURN = r"""
page:
  description: The page, C(NAME.html); null where none was made.
  type: str
  returned: always
plots:
  description: The plots, C(NAME-throughput.png) and the others.
  type: list
  elements: str
  returned: always
not_drawn:
  description: Plots for which there was nothing to draw, by name, and why.
  type: dict
  returned: always
skipped_reason:
  description: Why nothing was done; null otherwise.
  type: str
  returned: always
failure_class:
  description:
    - V(missing_dependency) where matplotlib cannot be imported, V(bad_request) for what is no whole record, V(write_failed) for
      a file that cannot be written.
  type: str
  returned: failure
log_tail:
  description: Always empty here.
  type: list
  elements: str
  returned: failure
"""
