#!/usr/bin/python
# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: wait_for_generation
short_description: Wait until a server generates text, in the very process that is meant
description:
  - Waits until an SGLang server (or another one with the same API, such as vLLM or llama.cpp's) answers real generation
    requests. Metadata and health routes are notes, never proof.
  - With O(name), only an answer of the unit's current invocation counts. The process that listens must be in the unit's
    control group, and the invocation must be the same at the start and at the end of each probe.
  - Where the unit runs a script, O(base_url) is taken from the process below it that is a server's. Until there is one,
    SGLang's default is asked, another server at that address is no failure yet, and a failure in the end says so.
  - It fails at once, with a word in RV(failure_class), where waiting cannot help, as when the process died or its log tells why.
  - While it waits, a line is shown at each change of the stage and at least every O(progress_interval) seconds, and a warning
    once a start takes more than twice what earlier ones of the same command line took.
  - When the run is interrupted, its connection is cut, or the task's own C(timeout) strikes, the module on the host ends, too.
author:
  - llmops.sglang contributors (@llmops)
requirements:
  - requests (on the host that runs the module)
  - jmespath (there too, only for O(ready_when))
extends_documentation_fragment:
  - llmops.sglang._attributes
  - llmops.sglang._attributes.asks_server
  - llmops.sglang._unit
  - llmops.sglang._connection
attributes:
  idempotent:
    support: full
    details: The times of starts are kept in a small file on the host for RV(expected_elapsed).
options:
  api:
    description: Which API to use. V(chat) and V(completions) are those of OpenAI, V(generate) is SGLang's own.
    type: str
    choices: [chat, completions, generate]
    default: chat
  path:
    description:
      - Path of the generation route below O(base_url), where it is not the usual one of O(api).
      - A whole URL is refused, since the key would go to another server.
    type: str
  model:
    description:
      - Name of the model in the request.
      - By default O(expected_model), else the first one that the server lists.
    type: str
  expected_model:
    description: The model that the server must list as served. The name in an answer is no proof, since SGLang echoes any.
    type: str
  prompt:
    description:
      - Text to generate from. A number is appended to it for all probes but the first, so that no two are the same.
      - By default a few short questions take turns.
    type: str
  max_tokens:
    description: Most tokens to generate in each probe.
    type: int
    default: 64
  extra_body:
    description: Further fields of the request; a mapping is merged with the one that the request has under that name.
    type: dict
    default: {}
  headers:
    description: Further HTTP headers. Values of headers whose names sound secret are masked in results.
    type: dict
    default: {}
  timeout:
    description: How long to wait in all, in seconds.
    type: float
    default: 1800
  request_timeout:
    description: How long one whole request may take, in seconds, whatever the server sends meanwhile.
    type: float
    default: 60
  poll_interval:
    description:
      - Longest gap between two probes in seconds. The module starts with much shorter ones, which grow to a fifth of the time
        for which the port is bound, and probes at once when the health route or the log tells something new.
      - Only the default is exceeded, and only where a server still answers with status 503 after 100 seconds. Then the gap
        grows to 15 % of that time, at most 20 seconds, so that a load of six minutes sees fewer than 40 requests and not 53.
    type: float
    default: 10
  successes:
    description: How many probes in a row must generate.
    type: int
    default: 2
  ready_when:
    description:
      - A JMESPath expression on the decoded answer that must be true, for example V(usage.completion_tokens > `10`).
      - With O(stream), it sees the last event of the stream alone. It is not true where it takes more than a second.
    type: str
  expect_regex:
    description:
      - A regular expression that must be found in the generated text, of which the first 100000 characters are searched.
      - One that takes more than a second of processor time fails at once with V(pattern_too_slow).
    type: str
  degenerate_output:
    description:
      - What to do about text that only repeats one character or one short unit, or that has nothing but white space or the
        same punctuation mark.
      - A short text counts where its token limit ended it and all tokens are the same, at least eight, or two of a punctuation
        mark. With O(max_tokens) below that too little is seen.
    type: str
    choices: [fail, warn, ignore]
    default: fail
  require_content:
    description: Whether tokens must come as content, and not only as reasoning or tool calls.
    type: bool
    default: false
  require_speculation:
    description: Whether verify steps of speculative decoding must show in an answer, or else in the server's counters.
    type: bool
    default: false
  warmup_contexts:
    description: Prompt lengths, in tokens, to exercise before the server counts as ready; approximate, by the server's counts.
    type: list
    elements: int
    default: []
  warmup_concurrency:
    description: How many generations at once to exercise before the server counts as ready.
    type: int
    default: 1
  previous_invocation_id:
    description:
      - The invocation before a restart. The wait fails with V(not_restarted) while it is still the current one.
      - Dashes and case do not matter; an empty string counts as not given. Refused without O(name).
    type: str
  invocation_id:
    description:
      - The invocation that is waited for. The wait fails once the unit has another one, also where that was started before the wait
        began, and tells why the wanted one ended. Nothing is done with it where O(max_restarts) allows restarts.
      - Refused without O(name).
    type: str
  require_owner:
    description:
      - Whether the listening process must be shown to belong to the unit's current invocation; refused without O(name).
      - By default true where O(name) is given.
    type: bool
  max_restarts:
    description: How often systemd may restart the unit during the wait.
    type: int
    default: 0
  health_path:
    description: Health route to note beside the generation; an empty string for none. By default V(/health).
    type: str
  fail_fast:
    description: Whether to fail at once where waiting cannot help.
    type: bool
    default: true
  stream:
    description: Whether to probe with server-sent events.
    type: bool
    default: false
  progress_interval:
    description: Longest time between two progress lines in seconds; V(0) shows none.
    type: int
    default: 15
  until:
    description:
      - What the wait is for. V(node) is for a unit that is rank 1 or more of a server over several hosts, which never generates.
        It waits until the ranks of that host are loaded and its own process says so, and proves no generation; rank 0 does.
      - V(node) is refused for any other server, and V(generation) for such a node.
    type: str
    choices: [generation, node]
    default: generation
  nodes:
    description:
      - The invocation of each node of a server over several hosts by its inventory host, rank 0 first.
      - A wait with it ends when that of another node of the same play has failed, and names that node; one with O(until=node) goes
        on to watch its node until rank 0 generates.
    type: dict
  keep_start_time:
    description: Whether to keep on the host, for RV(expected_elapsed) of later waits, how long the start took that this one saw.
    type: bool
    default: true
  slice_seconds:
    description: Set by this module's action plugin, which runs it in slices; leave it alone.
    type: float
    default: 86400
  slice_limit:
    description: Set by this module's action plugin where the task has a timeout; leave it alone.
    type: float
    default: 86400
  slice_state:
    description: Set by this module's action plugin to what the slice before remembered; leave it alone.
    type: dict
"""

EXAMPLES = r"""
- name: Wait until the restarted server generates
  llmops.sglang.wait_for_generation:
    name: sglang
    previous_invocation_id: "{{ service.previous_invocation_id }}"
    require_speculation: true
    warmup_contexts: [1024, 4096]

- name: Wait for a server by its URL alone
  llmops.sglang.wait_for_generation:
    base_url: http://10.0.0.5:30000
    expected_model: moonshotai/Kimi-K2.6
    api_key_file: /etc/sglang/key
    timeout: 600
  delegate_to: localhost
"""

RETURN = r"""
ok:
  description: Whether the server generates as asked; null in check mode.
  type: bool
  returned: always
failure_class:
  description: Word for the kind of failure; null where there is none.
  type: str
  returned: always
  sample: generation_timeout
elapsed:
  description: Duration of the wait in seconds.
  type: float
  returned: always
attempts:
  description: Generation requests sent or tried. A look that only finds nobody listening is none.
  type: int
  returned: always
outcomes:
  description:
    - How the tries ended, a count for each of V(generated), V(refused), V(reset), V(timeout), V(http_error), V(bad_answer),
      V(tls_error) and V(not_ready) (status 503).
    - V(refused) also counts the times at which a probe was due and nobody listened.
  type: dict
  returned: always
last_error:
  description: The last failed try in words; null where none failed.
  type: str
  returned: always
stages:
  description:
    - Seconds from the start of the invocation (without O(name), of the wait) to C(process_started), C(port_bound),
      C(first_http_answer), C(first_generation), C(ready) and each C(warmup_...); null where it was not reached.
    - Where the wait began later than a stage, it is the time at which the stage was seen.
  type: dict
  returned: always
from_start:
  description: Whether the wait began before the port was bound, so that RV(stages) tells how long the start took.
  type: bool
  returned: always
invocation_id:
  description: The invocation that this result speaks of; null without a unit.
  type: str
  returned: always
main_pid:
  description: Main process of that invocation; null where there is none.
  type: int
  returned: always
listener:
  description: Who listens on the port.
  type: dict
  returned: always
  contains:
    pid:
      description: Process that holds the listening socket; null where it cannot be read.
      type: int
    unit:
      description: Unit of that process by its control group.
      type: str
    cmdline:
      description: Its command line, at most 400 characters.
      type: str
    owned:
      description: Whether it belongs to the current invocation, V(yes), V(no) or V(unknown).
      type: str
models:
  description: Models that the server lists, at most twenty.
  type: list
  elements: str
  returned: always
generated_from:
  description: Where the tokens of the last good answer were, V(content), V(reasoning) or V(tool_calls).
  type: str
  returned: always
text:
  description: The last generated text, at most 2000 characters.
  type: str
  returned: always
finish_reason:
  description: Why the last generation ended, in the server's words.
  type: str
  returned: always
acceptance_length:
  description:
    - Tokens per verify step in the last answer, without the token of the prefill; null where it does not count those steps.
    - With O(require_speculation) or O(api=generate) SGLang counts them. One short answer says little of the mean.
  type: float
  returned: always
usage:
  description: Token counts of the last generation as the server gave them.
  type: dict
  returned: always
warmups:
  description: The warm-ups that were done.
  type: list
  elements: dict
  returned: always
  contains:
    kind:
      description: V(context) or V(concurrency).
      type: str
    size:
      description: Wanted prompt tokens, or generations at once.
      type: int
    prompt_tokens:
      description: Prompt tokens as the server counted them; null where it did not, and for V(concurrency).
      type: int
    seconds:
      description: Duration in seconds.
      type: float
expected_elapsed:
  description: Seconds that earlier starts of the same command line took on this host (the median); null where none is known.
  type: float
  returned: always
base_url:
  description: The server's URL.
  type: str
  returned: always
node_rank:
  description: Rank of the unit's node by its command line; 0 for a server on one host, null where there is no command line.
  type: int
  returned: always
log_tail:
  description: The last log lines of the invocation where the wait failed, at most ten of 400 characters; else empty.
  type: list
  elements: str
  returned: always
skipped_reason:
  description: Why nothing was done; null where it was.
  type: str
  returned: always
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.llmops.sglang.plugins.module_utils._argspec import CONNECTION_SPEC, UNIT_SPEC
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure, fail_module
from ansible_collections.llmops.sglang.plugins.module_utils._generation_wait import (
    GenerationWait,
    hidden_words,
    skipped,
)
from ansible_collections.llmops.sglang.plugins.module_utils._wait_argspec import PROBE_SPEC, WAIT_SPEC
from ansible_collections.llmops.sglang.plugins.module_utils._wait_memory import empty_result


def main() -> None:
    module = AnsibleModule(
        argument_spec={**UNIT_SPEC, **CONNECTION_SPEC, **PROBE_SPEC, **WAIT_SPEC},
        required_one_of=[("name", "base_url")],
        supports_check_mode=True,
    )
    # Ansible itself hides these in the arguments that it shows.
    module.no_log_values.update(hidden_words(module.params))
    wait = None
    try:
        if module.check_mode:
            module.exit_json(**skipped(module.params, module.run_command))
        wait = GenerationWait(module.params, module.run_command)
        result = wait.run()
    except Failure as failure:
        _warn(module, wait)
        defaults = {**empty_result(), "ok": False}
        del defaults["failure_class"]
        fail_module(module, failure, **defaults)
    if "slice_state" in result:
        # Masked already; and Ansible would hide a short key among the digits of its times, too.
        module.no_log_values.clear()
        module.exit_json(**result, invocation={})
    _warn(module, wait)
    module.exit_json(**result)


def _warn(module: AnsibleModule, wait: GenerationWait | None) -> None:
    for text in wait.memory.warnings if wait else []:
        module.warn(wait.mask.text(text))


if __name__ == "__main__":
    main()
