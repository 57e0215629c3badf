#!/usr/bin/python
# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: server_info
short_description: Tell what runs of an SGLang server, and where its sources disagree
description:
  - Reads the unit, the running process, the server's own answers, the drafter's configuration and the journal of the
    current invocation, and names where two of them disagree.
  - A unit that anybody wrote is read back into the options of M(llmops.sglang.server_unit) as RV(adoption), so that moving it
    to the role is copy and paste.
  - An unknown unit is no failure; then RV(unit.state) is V(not-found). Keys and secrets are never returned.
author:
  - llmops.sglang contributors (@llmops)
extends_documentation_fragment:
  - llmops.sglang._attributes
  - llmops.sglang._attributes.read_only
  - llmops.sglang._unit
  - llmops.sglang._connection
options:
  name:
    required: true
  timeout:
    description:
      - How long, in seconds, each question to the server may take. A server whose scheduler hangs does not answer all of
        them.
    type: float
    default: 5
  speculative:
    description:
      - Speculative decoding that the server should run with, as O(llmops.sglang.server_unit#module:speculative). Where the
        algorithm, the draft model or the draft window is given here and is another one on its command line, that is a conflict.
    type: dict
requirements:
  - requests, to ask the server itself; the rest is told without it
"""

EXAMPLES = r"""
- name: Read what runs
  llmops.sglang.server_info:
    name: sglang
  register: info

- name: Refuse a drafter that runs outside of what it was trained for
  ansible.builtin.assert:
    that: info.conflicts | length == 0
    fail_msg: "{{ info.conflicts | map(attribute='msg') | join('; ') }}"

- name: Turn the unit that somebody wrote into variables of the role
  ansible.builtin.copy:
    dest: "host_vars/{{ inventory_hostname }}.yml"
    content: "{{ info.adoption.role_variables | to_nice_yaml }}"
    mode: "0644"
  delegate_to: localhost
  when: info.adoption.complete
"""

RETURN = r"""
unit:
  description: The unit as its service manager has it.
  type: dict
  returned: success
  contains:
    name:
      description: Full name of the unit.
      type: str
    state:
      description: The active state, or the load state where the unit cannot be used.
      type: str
      sample: active
    sub_state:
      description: The sub-state.
      type: str
    result:
      description: How the last process ended.
      type: str
    enabled:
      description: State of the unit file.
      type: str
    path:
      description: File of the unit.
      type: str
    drop_ins:
      description: Files that add to it.
      type: list
      elements: str
    invocation_id:
      description: The current invocation, without dashes; null where there is none.
      type: str
    main_pid:
      description: The main process; null where none runs.
      type: int
    restarts:
      description: How often systemd restarted the unit by itself.
      type: int
    argv:
      description: Words of the running command line.
      type: list
      elements: str
    matches_unit:
      description: Whether the running process is what the unit says now; null where that cannot be told.
      type: bool
    differences:
      description: Why it is not.
      type: list
      elements: str
server:
  description: What the server says of itself.
  type: dict
  returned: success
  contains:
    reachable:
      description: Whether it answered at all.
      type: bool
    version:
      description: Version of the server; null where it does not tell it.
      type: str
    model:
      description: Path or name of the model.
      type: str
    served_models:
      description: Names under which it serves models.
      type: list
      elements: str
    arguments:
      description: Resolved arguments, under the names of the newest release that has them, without keys.
      type: dict
    arguments_from:
      description: Whether the arguments are the V(server)'s own or those of the V(command_line).
      type: str
    speculation:
      description: Settings and counters of speculative decoding.
      type: dict
      contains:
        algorithm:
          description: The algorithm.
          type: str
        draft_window_size:
          description: The draft window in tokens.
          type: int
        num_draft_tokens:
          description: Tokens per verify step that are drafted, the block size of DFLASH.
          type: int
        lifetime_accept_lengths:
          description: Mean acceptance length since the start, in tokens per verify step, of each rank that tells it.
          type: list
          elements: float
listener:
  description: Who listens where the server should; null where nobody does, or where that was not looked at.
  type: dict
  returned: success
  contains:
    url:
      description: Where it was looked.
      type: str
    pid:
      description: The process; null where that cannot be read.
      type: int
    unit:
      description: The unit that it belongs to.
      type: str
    cmdline:
      description: Its command line, without keys.
      type: str
    owned:
      description: Whether it is the unit's own, V(yes), V(no) or V(unknown).
      type: str
drafter:
  description: What the draft model was trained for, by its C(config.json); null where the server has no drafter.
  type: dict
  returned: success
  contains:
    path:
      description: Where it lies.
      type: str
    trained_window:
      description: The sliding window in tokens; null where it attends to everything.
      type: int
    block_size:
      description: Tokens of a block.
      type: int
    layer_types:
      description: How many layers there are of each type.
      type: dict
    architectures:
      description: Class names of the model.
      type: list
      elements: str
    unknown_because:
      description: Why the configuration could not be read; null where it was.
      type: str
journal:
  description: Facts of the current invocation's journal.
  type: dict
  returned: success
  contains:
    draft_runner:
      description: Fields of the draft-runner line; null where there is none.
      type: dict
    covers_start:
      description: Whether the rows reach back to the start of the invocation.
      type: bool
    incomplete:
      description: Failure class that forbids conclusions from an absent line; null where the rows are complete.
      type: str
conflicts:
  description:
    - Where two sources disagree, each with C(subject), C(values) and C(msg).
    - Subjects are C(algorithm), C(draft_window) and C(argument) (the command line, the server and the journal differ), C(inventory)
      (O(speculative) differs from the command line), C(trained_window) and C(block_size) (the drafter was trained for another),
      C(unit) (a restart is pending) and C(listener) (another process answers).
    - Of its arguments the server is held to those that it takes as they are given, such as the sizes of parallelism, the context
      length, and absolute paths of models.
  type: list
  elements: dict
  returned: success
evidence:
  description:
    - The record of what ran, with the invocation, the hash of the command line, versions, model and drafter, GPUs, host and
      kernel. What cannot be read is null.
    - C(inputs_sha256) holds hashes of what the server reads at its start beside its command line, under C(sglang) (the
      installed distribution), C(model), C(drafter) (their small configuration files), C(config_file), C(chat_template) and
      C(script). They are of now, and of the process only as long as RV(unit.matches_unit) is true.
  type: dict
  returned: success
journal_proof:
  description:
    - What M(llmops.sglang.journal_assert) must be asked of the running invocation for the speculation of its command line to be
      proved; as RV(llmops.sglang.server_unit#module:journal_proof), for a unit that anybody wrote.
  type: dict
  returned: success
  sample: {preset: [dflash], preset_fields: {compact_cache: true, draft_window_size: 2048}}
restart_cost:
  description: What a start or restart of the unit costs now.
  type: dict
  returned: success
  contains:
    usual_elapsed:
      description:
        - How many seconds earlier starts took until M(llmops.sglang.wait_for_generation) was content with them, the median.
        - Null where no start on this host was timed yet.
      type: float
      sample: 300.0
    usual_from:
      description:
        - Whose starts these were, V(this configuration) (of the command line that comes next, be it of the running process or of a
          unit that changed) or V(this host) (all that were timed here, where this configuration has not been started yet).
      type: str
      sample: this configuration
    running_requests:
      description:
        - Requests that the server runs or has waiting, by C(/v1/loads), C(/get_load) or C(/metrics), whichever its release has.
        - V(0) where the unit has no process; null where it has one and that could not be read.
      type: int
      sample: 7
    msg:
      description: The same in a sentence, with the reason where something is not known.
      type: str
      sample: a restart follows, usually 300 s; 7 requests are running now
adoption:
  description:
    - The unit as options of M(llmops.sglang.server_unit), whoever wrote it; null where there is no unit.
    - Continued lines, quotes, specifiers, variables and C(EnvironmentFile=) are resolved, and abbreviated or renamed flags are
      spelled out. Wrappers such as C(bash -c), C(env), C(conda run) or C(uv run) are looked through and named.
    - Variables that a script reads from another file (C(source), C(conda activate)) are those of the server that runs; while none
      runs, RV(adoption.complete) is false.
  type: dict
  returned: success
  contains:
    options:
      description:
        - Options for M(llmops.sglang.server_unit); those that would be empty are left out, and so are settings that it writes
          by itself.
      type: dict
      sample:
        name: sglang
        python: /opt/sglang/bin/python
        args: {model_path: /models/target, tp_size: 8}
        speculative: {algorithm: DFLASH, draft_model_path: /models/draft, draft_window_size: 2048}
        environment: {NCCL_DEBUG: WARN}
    role_variables:
      description: The same as variables of the role P(llmops.sglang.server#role).
      type: dict
    secrets:
      description:
        - Names of arguments, variables and credentials that are secrets. They were dropped and have to be given to
          O(llmops.sglang.server_unit#module:api_key) or O(llmops.sglang.server_unit#module:environment_secrets).
      type: list
      elements: str
    wrapper:
      description: The C(kind) of what starts the server and its C(command); null where the unit starts the server itself.
      type: dict
      sample: {kind: shell, command: /bin/bash -c}
    complete:
      description: Whether a unit with these options and secrets starts the same server.
      type: bool
    remarks:
      description: What was left out or is uncertain, in sentences.
      type: list
      elements: str
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

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.llmops.sglang.plugins.module_utils._argspec import CONNECTION_SPEC, required_unit
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure, fail_module
from ansible_collections.llmops.sglang.plugins.module_utils._server_report import report
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager
from ansible_collections.llmops.sglang.plugins.module_utils._unit_name import unit_name


def main() -> None:
    spec = {
        **required_unit(),
        **CONNECTION_SPEC,
        "timeout": {"type": "float", "default": 5},
        "speculative": {"type": "dict"},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    try:
        manager = Manager(module.run_command, module.params["scope"])
        result = report(manager, unit_name(module.params["name"]), module.params, module.warn)
    except Failure as failure:
        fail_module(module, failure)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
