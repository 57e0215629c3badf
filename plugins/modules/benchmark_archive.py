# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: benchmark_archive
short_description: File the record of a benchmark on the controller
description:
  - Checks a record that was fetched from a host against the JSON Schema that ships with the collection, moves it with its raw
    requests and its table into the directory of that host, adds it to the history, and lets old records go.
  - The record is seen in O(dest) only when it is whole and all that it names is there. Where it does not hold against the
    schema nothing is done, and it stays where it is.
  - The history below O(dest) has one CSV file a label and cell, C(history/LABEL/context-C_concurrency-N.csv), with one row for each
    valid run, and C(starts.csv) with the times of starts. A tool that looks for change points reads each as it is; C(time) is
    the column of the time. Rows of records that were let go stay.
  - All of it happens on the controller, in the interpreter that runs Ansible, whatever host the task is for. Nothing but
    Python's standard library is needed.
author:
  - llmops.sglang contributors (@llmops)
extends_documentation_fragment:
  - llmops.sglang._attributes
  - llmops.sglang._attributes.controller_files
attributes:
  idempotent:
    support: full
    details:
      - A record that was filed already can be fetched and filed again; its history has it once.
      - RV(ignore:changed) is always false, because another measurement changes no host.
options:
  src:
    description:
      - The record as fetched, best in a directory within O(dest), so that moving it is one step. Files of the same name that
        end in C(.jsonl.gz) and C(.md) are moved with it.
    type: path
    required: true
  dest:
    description:
      - Directory for the records of this host.
    type: path
    required: true
  kind:
    description:
      - Which schema it is held against, that of M(llmops.sglang.benchmark_matrix) or of M(llmops.sglang.coding_eval). For the
        latter there is no history, artifact or metric.
    type: str
    choices: [benchmark, coding]
    default: benchmark
  wait:
    description:
      - A result of M(llmops.sglang.wait_for_generation). Where it saw the start of the invocation that was measured, the times
        of that start are kept.
    type: dict
    default: {}
  prometheus_file:
    description:
      - File on the controller for the textfile collector of Prometheus' node exporter; its name must end in C(.prom) for that. It
        holds the last record of each host and unit, so that several hosts can share it.
    type: path
  keep:
    description:
      - How many records stay in O(dest), the newest; without it all.
    type: int
  keep_days:
    description:
      - Records that ended longer ago go, with their raw requests and reports; without it none.
    type: float
  keep_records:
    description:
      - Records that stay whatever their number and age, such as a baseline; paths may hold the wildcards of a shell.
    type: list
    elements: path
    default: []
seealso:
  - module: llmops.sglang.benchmark_matrix
  - module: llmops.sglang.benchmark_report
"""

EXAMPLES = r"""
- name: Fetch a record
  ansible.builtin.fetch:
    src: "{{ benchmark.record_path }}"
    dest: "results/{{ inventory_hostname }}/.incoming/{{ benchmark.record_path | basename }}"
    flat: true

- name: File it, and keep the last fifty of the last year
  llmops.sglang.benchmark_archive:
    src: "results/{{ inventory_hostname }}/.incoming/{{ benchmark.record_path | basename }}"
    dest: "results/{{ inventory_hostname }}"
    keep: 50
    keep_days: 365
    keep_records: [results/baseline.json]
    prometheus_file: /var/lib/prometheus/node-exporter/llmops.prom
  register: filed

- name: Hand the figures on to AWX
  ansible.builtin.set_stats:
    data:
      llmops_sglang_benchmark: "{{ {inventory_hostname: filed.artifact} }}"
"""

RETURN = r"""
record_path:
  description: The record in O(dest); null in check mode.
  type: str
  returned: always
history:
  description: Folder of the history that has the record's valid runs; null where there is none.
  type: str
  returned: always
start_kept:
  description: Whether O(wait) told how long the start of the measured process took.
  type: bool
  returned: always
removed:
  description: Records that were let go, without suffix, at most a hundred of them.
  type: list
  elements: str
  returned: always
artifact:
  description:
    - The record in at most 4000 characters of JSON - C(label), C(run_id), C(started), C(record_path), C(proven), C(model),
      C(sglang_version), C(invocation_id), C(cells_valid), C(cells_invalid), C(reasons), and C(figures) by context and concurrency
      as far as they fit (C(figures_omitted) counts the others).
  type: dict
  returned: always
skipped_reason:
  description: Why nothing was done; null otherwise.
  type: str
  returned: always
failure_class:
  description: V(bad_request) for what does not hold against its schema, V(write_failed) for a file that cannot be written.
  type: str
  returned: failure
log_tail:
  description: Always empty here.
  type: list
  elements: str
  returned: failure
"""
