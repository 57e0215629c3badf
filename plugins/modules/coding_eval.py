#!/usr/bin/python
# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: coding_eval
short_description: Let a served model write small programs, and run them
description:
  - Asks the server for some functions, from easy to hard, and calls each with cases that the model has not seen. It is a smoke
    test of the whole path, drafting and template included; so few tasks cannot resolve a small loss of quality.
  - A server that does not answer makes a task V(not_run), never V(failed), and RV(ok) false. After three requests in a row that
    ran into O(request_timeout) no further one is sent.
  - Generated code is hostile until shown otherwise. It runs in a transient systemd unit without network, with a read-only
    system, no place to write in, and limits of memory, processes, files and time, those of the control group and resource
    limits alike; as root with a user of its own, else under the manager of the user in a process namespace of its own. Before
    anything is asked, a program tries to break out; where it can, or where the sandbox does not start, the task fails with
    RV(failure_class=sandbox_unavailable).
  - The program only prints what its function returned. The values that are expected never reach it; they are compared outside,
    by type and value, so that V(true) is not 1, a tuple is no list, and an object that claims to equal everything equals
    nothing. Floating point numbers are equal within one part in 1e9.
author:
  - llmops.sglang contributors (@llmops)
requirements:
  - requests (on the host that runs the module)
  - PyYAML on that host, where O(tasks_file) is YAML
  - systemd 249 or newer on that host for O(sandbox=systemd); without root also lingering and unprivileged user namespaces
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
      - Each execution asks the model anew; nothing but the module's own record is changed.
options:
  tasks:
    description:
      - Tasks to use instead of the built-in ones.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the task.
        type: str
        required: true
      prompt:
        description: What the model is asked.
        type: str
        required: true
      entry_point:
        description: Name of the function that the answer must define.
        type: str
        required: true
      cases:
        description: Calls, each a mapping of C(args) (list), C(kwargs) (mapping) and C(expected), of plain data.
        type: list
        elements: dict
        required: true
      timeout:
        description: Seconds for all cases of this task; without it O(task_timeout).
        type: float
      compare:
        description:
          - V(exact) by type and value. With V(loose) 1 and 1.0 are equal, and a list and a tuple of the same elements;
            V(true) and 1 are not.
        type: str
        choices: [exact, loose]
        default: exact
  tasks_file:
    description:
      - File in JSON on the host that runs the module with such a list, also under the key C(tasks). A YAML file is read there as
        well where PyYAML is installed. There C(!!binary) makes bytes, and C(!!set) a set.
    type: path
  task_names:
    description:
      - Only these of the tasks, in this order; without it all.
      - The built-in ones are V(is_palindrome), V(fib), V(merge_sorted), V(word_count), V(gcd), V(second_largest), V(rotate),
        V(caesar), V(run_lengths), V(mean_and_deviation), V(roman), V(balanced), V(primes_below), V(flatten), V(varint),
        V(spiral), V(join_intervals), V(split_csv), V(edit_distance), V(fewest_coins), V(grid_steps), V(wildcard),
        V(task_order), V(longest_rise) and V(calculate), from easy to hard.
    type: list
    elements: str
  extra_body:
    description:
      - Further fields of the requests, for example C(chat_template_kwargs).
    type: dict
    default: {}
  samples:
    description:
      - How often each task is asked. A task has passed where all its samples have.
    type: int
    default: 1
  request_timeout:
    description:
      - Seconds for one answer, all of it.
    type: float
    default: 300
  sandbox:
    description:
      - V(none) runs the generated code as the user of the task, with limits but without protection.
    type: str
    choices: [systemd, none]
    default: systemd
  task_timeout:
    description:
      - Seconds for all cases of a task, from the moment that its program runs.
    type: float
    default: 10
  memory_max:
    description:
      - Memory that a program may use, such as V(256M); each of its processes as well as all together.
    type: str
    default: 256M
  require_evidence:
    description:
      - Whether the record is marked as proven where one invocation of O(name) wrote all programs. With V(false) it is marked as
        unproven.
    type: bool
    default: true
  results_dir:
    description:
      - Directory for the records, with the whole code, on the host that runs the module.
    type: path
    default: ~/.local/state/llmops-sglang/coding
"""

EXAMPLES = r"""
- name: Let the model write the built-in functions
  llmops.sglang.coding_eval:
    name: sglang
    extra_body:
      chat_template_kwargs:
        enable_thinking: false
  register: coding
  become: true

- name: Ask for a few of them only
  llmops.sglang.coding_eval:
    name: sglang
    task_names: [is_palindrome, fib, merge_sorted, word_count, gcd]
  become: true

- name: Fail where less than four of five passed
  ansible.builtin.assert:
    that: coding.ok and coding.pass_rate >= 0.8

- name: Use a task of one's own
  llmops.sglang.coding_eval:
    base_url: http://127.0.0.1:30000
    tasks:
      - name: double
        prompt: Write a Python function double(x) that returns twice x. Answer with one code block.
        entry_point: double
        cases:
          - args: [2]
            expected: 4
          - args: [ab]
            expected: abab
  become: true
"""

RETURN = r"""
ok:
  description: Whether every task was run, by one and the same server; null in check mode. It says nothing about how many passed.
  type: bool
  returned: always
tasks:
  description: One entry a task.
  type: list
  elements: dict
  returned: always
  contains:
    name:
      description: Name of the task.
      type: str
    status:
      description:
        - V(passed) (every case of every sample), V(failed) (a program that does something else), V(refused) (no code in the
          answer), V(not_run) (the server did not answer).
      type: str
    cases:
      description: Number of cases.
      type: int
    cases_passed:
      description: Cases passed, of the worst sample.
      type: int
    reason:
      description: What went wrong first; empty where nothing did.
      type: str
    code:
      description: The program of the worst sample, cut at 2000 characters (less for very many tasks); null where there is none.
      type: str
    samples:
      description: Samples asked.
      type: int
    samples_passed:
      description: Samples passed.
      type: int
    seconds:
      description: Seconds that the answers took.
      type: float
    run_seconds:
      description: Seconds that the programs took, the making of their sandboxes included.
      type: float
    completion_tokens:
      description: Tokens of the answers.
      type: int
    contained:
      description:
        - What kept the task's programs in, as far as that shows; empty for one that tried nothing.
        - V(files) (it opened, wrote or changed what a stranger may not), V(network) (it made a socket), V(processes) (it started
          processes, which are few and end with it), V(signals) (it sent signals), V(system_calls) (it called the C library, or
          changed its limits), V(time), V(memory) and V(output) (it was ended at that limit), V(recursion) (the
          interpreter's own limit), V(crash) (a signal ended it, without a core dump), V(leftovers) (threads and exit handlers,
          which do not outlive the last case), V(values) (it looked for the expected values, ended early, or gave back
          something else than one plain value a case).
      type: list
      elements: str
tasks_omitted:
  description: Tasks that are in the record but not in this result, which must stay small.
  type: int
  returned: always
tasks_passed:
  description: Number of tasks that passed.
  type: int
  returned: always
tasks_failed:
  description: Number of tasks that failed.
  type: int
  returned: always
tasks_refused:
  description: Number of tasks without code in the answer.
  type: int
  returned: always
tasks_not_run:
  description: Number of tasks for which the server gave no answer.
  type: int
  returned: always
tasks_total:
  description: Number of tasks.
  type: int
  returned: always
pass_rate:
  description: Passed of all tasks; null where any was not run.
  type: float
  returned: always
output_tokens_per_second:
  description: Tokens of all answers by the seconds that they took; null where the server counted none.
  type: float
  returned: always
sandbox:
  description: Where the programs ran.
  type: str
  returned: always
evidence:
  description: What ran while the model was asked.
  type: dict
  returned: always
evidence_changes:
  description: What tells that another process answered at the end than at the start.
  type: list
  elements: str
  returned: always
proven:
  description: Whether one invocation of O(name) answered from start to end, and O(require_evidence) was not V(false).
  type: bool
  returned: always
record_path:
  description: The record with the whole code, on the host that ran the module.
  type: str
  returned: always
skipped_reason:
  description: Why nothing was asked; null otherwise.
  type: str
  returned: always
failure_class:
  description: Word for the kind of failure.
  type: str
  returned: failure
log_tail:
  description: Always empty here.
  type: list
  elements: str
  returned: failure
"""

import os
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.llmops.sglang.plugins.module_utils._coding_eval import evaluate, summary
from ansible_collections.llmops.sglang.plugins.module_utils._coding_judge import check_sandbox, judge
from ansible_collections.llmops.sglang.plugins.module_utils._coding_options import argument_spec
from ansible_collections.llmops.sglang.plugins.module_utils._coding_server import (
    CodingServer,
    chosen_tasks,
    write_record,
)
from ansible_collections.llmops.sglang.plugins.module_utils._evidence import changes
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure, fail_module
from ansible_collections.llmops.sglang.plugins.module_utils._sandbox import Sandbox, bytes_of, unavailable
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager
from ansible_collections.llmops.sglang.plugins.module_utils._unit_name import unit_name


def nothing(params: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {
        **summary([]),
        "ok": None,
        "sandbox": params["sandbox"],
        "evidence": {},
        "evidence_changes": [],
        "proven": False,
        "record_path": None,
        "skipped_reason": None,
    }


def sandbox_environ(module: AnsibleModule) -> t.Optional[dict[str, str]]:
    """What reaches the user's own service manager; ``None`` for root, who uses the system's."""
    if os.geteuid() == 0 or module.params["sandbox"] == "none":
        return None
    try:
        return Manager(module.run_command, "user").command_environ
    except Failure as failure:
        raise unavailable(failure.msg) from failure


def run(module: AnsibleModule) -> dict[str, t.Any]:
    params = module.params
    tasks = chosen_tasks(params)
    memory = bytes_of(params["memory_max"])
    if module.check_mode:
        return {"skipped_reason": "check mode: no request is sent and no program is run"}
    name = unit_name(params["name"]) if params["name"] else None
    manager = Manager(module.run_command, params["scope"]) if name else None
    server = CodingServer(params, manager, name)
    sandbox = Sandbox(module.run_command, params["sandbox"], memory, sandbox_environ(module))
    check_sandbox(sandbox)
    server.check_owner()
    before = server.evidence()
    if server.hidden:
        module.warn(
            f"Whose process answers for '{name}' cannot be told by this user: the programs may be another server's."
        )
    reports = evaluate(
        tasks,
        server.ask,
        lambda task, code: judge(sandbox, task, code, task.timeout or params["task_timeout"]),
        params["samples"],
    )
    server.check_owner()
    after = server.evidence()
    changed = changes(before, after)
    figures = summary(reports)
    result = {**figures, "ok": figures["ok"] and not changed, "evidence": before, "evidence_changes": changed}
    result["proven"] = bool(params["require_evidence"] and before.get("invocation_id") and not changed)
    result["record_path"] = write_record(params, reports, {**result, "sandbox": params["sandbox"]}, after)
    return server.mask.value(result)


def main() -> None:
    module = AnsibleModule(
        argument_spec=argument_spec(),
        mutually_exclusive=[("tasks", "tasks_file")],
        required_one_of=[("name", "base_url")],
        supports_check_mode=True,
    )
    try:
        result = run(module)
    except Failure as failure:
        fail_module(module, failure, **{**nothing(module.params), "ok": False})
    if module.params["sandbox"] == "none" and not module.check_mode:
        module.warn("The generated programs ran without a sandbox, as the user of this task.")
    module.exit_json(changed=False, **{**nothing(module.params), **result})


if __name__ == "__main__":
    main()
