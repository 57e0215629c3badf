#!/usr/bin/python
# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: journal_assert
short_description: Assert what a service logged in one invocation
description:
  - Compares the journal of B(one invocation) of a systemd service with expectations. A line that an earlier process wrote
    never counts, and the result says which invocation it speaks of. No time of day, locale or time zone plays a part.
  - What is absent is only called absent where the rows are complete from the start of the invocation. A rotated journal,
    suppressed messages, a missing permission, a unit name with a typing error are answers of their own, and none of them
    passes.
  - Of a line's C(key=value) fields, values are compared as what they are - C(draft_window_size=None) equals V(null).
  - Only the standard library is needed on the target, and C(journalctl) and C(systemctl) of systemd 239 or newer.
author:
  - llmops.sglang contributors (@llmops)
extends_documentation_fragment:
  - llmops.sglang._attributes
  - llmops.sglang._attributes.read_only
  - llmops.sglang._unit
options:
  name:
    description:
      - Name of the systemd service unit; V(.service) may be left off. A template's instance is named in full (V(a@b)).
    required: true
    aliases: [unit]
  invocation:
    description:
      - V(current) is the invocation that the service manager holds now, V(previous) the one before it as the journal has it.
      - Of one whose process has gone, as in exported journals, nobody can tell any more where the unit sent its output. What is
        absent is then judged by the rows that are there, and RV(msg) says so.
      - Else an invocation id of 32 hexadecimal digits; dashes and case do not matter. It may also be that of a transient
        unit that is gone.
      - V(any) means every row of the unit, and is only for O(directory) and O(files).
    type: str
    default: current
  directory:
    description:
      - Read the journal files in this directory instead of the host's journal. O(invocation) must then be an id or V(any).
      - It must have all files of that host, as journald numbers its rows over all of them; where numbers are left out since the
        start of the invocation, as without the file of the user who runs the service, nothing is taken for absent. Rows that
        were chosen by unit and written anew lack what journald says of suppressed ones, and nothing tells that they do.
    type: path
  files:
    description:
      - Read these journal files (a path, or a shell pattern) instead of the host's journal. O(invocation) must then be an id
        or V(any).
    type: list
    elements: str
  expect:
    description:
      - What should be in the log. All entries are looked for in one pass over the rows. Where this, O(must_not_match) and
        O(preset) are all empty, the task fails.
    type: list
    elements: dict
    suboptions:
      title:
        description:
          - A name for messages and results. Without it the pattern stands there.
        type: str
      pattern:
        description:
          - A regular expression of Python, looked for anywhere in a line. It may take three seconds of processor time
            in all, and 50 microseconds more for each line.
        type: str
      contains:
        description:
          - A plain text that the line contains, instead of O(expect[].pattern).
        type: str
      fields:
        description:
          - What the C(key=value) fields of the line should be, whatever their order. Keys inside of a value do not count;
            those of C(server_args=) do.
          - A field that stands there more than once must be right each time.
          - V(null) equals C(None). A text that reads like another type (V("2048")) equals that type's value.
          - A mapping of C(min), C(max), C(regex) and C(one_of) compares, each of them must hold.
        type: dict
      count:
        description:
          - Exactly this many lines fit. With V(0) none may.
        type: int
      min_count:
        description:
          - At least this many lines fit. Without it one has to.
        type: int
      max_count:
        description:
          - At most this many lines fit.
        type: int
      occurrence:
        description:
          - Which of several lines that fit is compared. With V(all) each must satisfy O(expect[].fields); where they do not
            agree, the failure is C(ambiguous_match).
        type: str
        choices: [all, first, last, any]
        default: all
      source:
        description:
          - Who wrote the line, the V(service) or the service V(manager) about it.
        type: str
        choices: [service, manager, any]
        default: service
  must_not_match:
    description:
      - What must not be in the log of the service, nor in what the manager says of it. An entry is a regular expression, or
        a mapping of C(title) and C(pattern).
    type: list
    elements: raw
  preset:
    description:
      - Ready-made expectations. Only lines up to the one that says that the server is ready count for what they forbid.
      - V(dflash) wants the line of the draft runner (whatever algorithm it names), compares O(preset_fields), and forbids
        every warning that says that another setting was put in place of yours.
      - V(node) is for a rank above 0 of a server over several hosts, which logs no draft runner. It compares O(preset_fields) in
        that node's own line of its arguments, wants each of its own ranks to have loaded what it has to, by C(tp_size), C(pp_size),
        C(nnodes) and C(speculative_algorithm) there, and forbids the same warnings. That the window is on in the draft runner is
        what rank 0 tells.
      - V(clean_start) forbids the errors, silent fallbacks and deprecation warnings of a start.
      - The guide R(presets of journal_assert, ansible_collections.llmops.sglang.docsite.journal_presets) lists each entry with
        a line that it finds.
    type: list
    elements: str
    choices: [dflash, node, clean_start]
  preset_fields:
    description:
      - What V(dflash) of O(preset) compares in the line of the draft runner, or V(node) in that of the arguments, as
        O(expect[].fields).
    type: dict
  timeout:
    description:
      - How long, in seconds, to wait for an expected line.
    type: int
    default: 0
  end_wait_when_failed:
    description:
      - Whether the wait ends when the invocation ends, or when no later line can mend a failure. The unit is never touched.
    type: bool
    default: true
seealso:
  - module: llmops.sglang.wait_for_generation
"""

EXAMPLES = r"""
- name: The drafter attends to a window of 2048 tokens
  llmops.sglang.journal_assert:
    name: sglang-k26
    preset: dflash
    preset_fields:
      draft_window_size: 2048
      compact_cache: true

- name: The same by hand, and no traceback, at most ten minutes after the start
  llmops.sglang.journal_assert:
    name: sglang-k26
    timeout: 600
    expect:
      - title: draft runner
        pattern: 'Initialized \w+ draft runner\.'
        fields:
          draft_window_size: 2048
          block_size: {min: 4, max: 16}
          attention_backend: {one_of: [triton, fa3]}
      - title: two weight files per rank
        contains: Load weight end
        count: 16
    must_not_match:
      - title: a traceback
        pattern: '^Traceback'

- name: The invocation before this one ended well
  llmops.sglang.journal_assert:
    name: sglang-k26
    invocation: previous
    expect:
      - title: deactivated
        source: manager
        contains: Deactivated successfully
"""

RETURN = r"""
ok:
  description: Whether every expectation holds.
  returned: always
  type: bool
  sample: true
failure_class:
  description:
    - Why not, in one word; empty where RV(ok) is true.
    - C(pattern_not_found), C(field_mismatch), C(field_missing), C(ambiguous_match), C(count_mismatch) and C(forbidden_match)
      are findings; C(no_such_unit), C(never_started), C(no_such_invocation), C(no_entries), C(no_permission),
      C(log_truncated), C(rate_limited), C(message_withheld), C(log_level_hidden), C(output_elsewhere) say that nothing can be
      found out; C(pattern_too_slow) and C(rule_violated) are about the task itself.
  returned: always
  type: str
  sample: field_mismatch
msg:
  description:
    - One sentence for each of the first three failures. Where none is, it says so, and what that rests on that nobody can tell
      any more.
  returned: always
  type: str
results:
  description:
    - One entry for each expectation, those of presets and forbidden lines included.
    - Where that would be more than a result may hold (20 kB), texts are cut, then those that hold are left out, then the last.
  returned: always
  type: list
  elements: dict
  contains:
    title:
      description: Name of the expectation.
      type: str
    ok:
      description: Whether it holds.
      type: bool
    failure_class:
      description: Why not; empty where it holds.
      type: str
    count:
      description: How many lines fit.
      type: int
    line:
      description: The line that decided.
      type: str
    cursor:
      description: The journal's cursor of that line.
      type: str
    traceback:
      description:
        - Where that line belongs to a traceback, all of it (the last forty lines) with those that it is chained to. What other
          processes say in between is left out.
      type: list
      elements: str
    fields:
      description: The fields that were asked for, or all of the line's where none was.
      type: dict
    mismatches:
      description: Fields with another value.
      type: list
      elements: dict
      contains:
        key:
          description: Name of the field.
          type: str
        expected:
          description: What the task wants.
          type: raw
        actual:
          description: What the line has.
          type: raw
    missing:
      description: Fields that the line does not have.
      type: list
      elements: str
    seen_keys:
      description: The keys that the line has.
      type: list
      elements: str
results_left_out:
  description: How many entries RV(results) lacks for want of room.
  returned: always
  type: int
  sample: 0
invocation_id:
  description: The invocation that all of this is about; empty with O(invocation=any).
  returned: always
  type: str
  sample: 0cc7498da5dd4ae8a1e016d30cbe6671
entries_scanned:
  description: How many rows of the invocation were looked at, those of the manager included.
  returned: always
  type: int
first_entry_at:
  description: When the first of them was written (UTC); null where there is none.
  returned: always
  type: str
  sample: '2026-05-30T08:14:12.000000Z'
covers_start:
  description:
    - Whether the rows are there from the start of the invocation on, which the manager's row about that start shows. Where that
      row says that the service has started, the journal must reach back to when the start began.
    - journald keeps what the processes of an ordinary user write in a file of that user's own; it is also false where rows of
      the service from before its first one are gone with such a file.
  returned: always
  type: bool
suppressed:
  description: How many messages of the unit journald says that it suppressed.
  returned: always
  type: int
unattributed:
  description:
    - How many rows of the unit's processes carry no invocation, or were written by a process of an older one, to which journald
      gives the invocation that the unit has now. Such rows prove nothing, and must have no forbidden line either.
    - A process of which journald had read nothing at all before the unit started again cannot be told from one of that start, for
      nothing in its rows is its own; a server logs for longer than journald stands still.
  returned: always
  type: int
unattributed_lines:
  description: The first five of them.
  returned: always
  type: list
  elements: str
log_tail:
  description: The last lines of the invocation, at most ten, where something failed.
  returned: always
  type: list
  elements: str
"""

import dataclasses

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.llmops.sglang.plugins.module_utils._argspec import required_unit
from ansible_collections.llmops.sglang.plugins.module_utils._expectation import OCCURRENCES, SOURCES
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure, fail_module
from ansible_collections.llmops.sglang.plugins.module_utils._journal_assert import Assertion, Question
from ansible_collections.llmops.sglang.plugins.module_utils._journal_result import EMPTY


def main():
    spec = required_unit()
    spec["name"]["aliases"] = ["unit"]
    expectation = {
        "title": {"type": "str"},
        "pattern": {"type": "str"},
        "contains": {"type": "str"},
        "fields": {"type": "dict"},
        "count": {"type": "int"},
        "min_count": {"type": "int"},
        "max_count": {"type": "int"},
        "occurrence": {"type": "str", "choices": list(OCCURRENCES), "default": "all"},
        "source": {"type": "str", "choices": list(SOURCES), "default": "service"},
    }
    module = AnsibleModule(
        argument_spec={
            **spec,
            "invocation": {"type": "str", "default": "current"},
            "directory": {"type": "path"},
            "files": {"type": "list", "elements": "str"},
            "expect": {
                "type": "list",
                "elements": "dict",
                "options": expectation,
                "mutually_exclusive": [("pattern", "contains"), ("count", "min_count"), ("count", "max_count")],
                "required_one_of": [("pattern", "contains")],
            },
            "must_not_match": {"type": "list", "elements": "raw"},
            "preset": {"type": "list", "elements": "str", "choices": ["dflash", "node", "clean_start"]},
            "preset_fields": {"type": "dict"},
            "timeout": {"type": "int", "default": 0},
            "end_wait_when_failed": {"type": "bool", "default": True},
        },
        mutually_exclusive=[("directory", "files")],
        required_one_of=[("expect", "must_not_match", "preset")],
        supports_check_mode=True,
    )
    given = {option.name: module.params[option.name] for option in dataclasses.fields(Question)}
    question = Question(**{key: value for key, value in given.items() if value is not None})
    try:
        result = Assertion(question, module.run_command).run()
    except Failure as failure:
        fail_module(module, failure, **EMPTY)
    if result["unattributed"]:
        module.warn(
            f"{result['unattributed']} rows of '{question.name}' carry no invocation, or are of a process that an older one left "
            "behind, and prove nothing: a process that ends at once, or an old journald, writes such rows."
        )
    if result["results_left_out"]:
        module.warn(f"{result['results_left_out']} entries of 'results' are left out: there is no room for them.")
    if not result["ok"]:
        module.fail_json(changed=False, **result)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
