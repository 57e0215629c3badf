#!/usr/bin/python
# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: server_diagnosis
short_description: Pack what helps to understand an SGLang server into one archive without secrets
description:
  - Writes one archive with the unit and its drop-ins, all properties that systemd has of it, the first and last rows of its invocation
    and the last rows of those before, the facts of M(llmops.sglang.server_info), the processes, GPUs, memory, file systems,
    the listener on its port, and the kernel's rows on memory and GPUs.
  - Nothing has to run or to be readable. What could not be read says so in its own file.
  - Secrets are replaced by C(********). Known are those in the environment, on command lines, in the files of the unit's
    secrets and credentials, and those that the server itself gives out; others are found by the name of their flag, variable,
    header or field, or by their look. Files of secrets are never part of it.
  - A variable of which nothing says that it is harmless is treated as a secret, with its value wherever that stands. A secret that a
    program merely wrote into its log, and that stands nowhere else, cannot be known.
  - Each file in it is bounded, and so is the time for each question.
author:
  - llmops.sglang contributors (@llmops)
extends_documentation_fragment:
  - llmops.sglang._attributes
  - llmops.sglang._unit
  - llmops.sglang._connection
attributes:
  check_mode:
    support: full
    details:
      - Everything is looked at, and nothing is written.
  diff_mode:
    support: none
  idempotent:
    support: none
options:
  name:
    required: true
  dest:
    description:
      - Path of the archive on the host, absolute. It is readable for its owner alone, and replaces a file that is there.
      - By default it is named for the unit and its invocation, or the time where there is none, below C(/var/lib/llmops-sglang/diagnoses) or,
        for others than root, C(~/.local/state/llmops-sglang/diagnoses). There the newest five of a unit stay.
    type: path
  timeout:
    description: How long, in seconds, each question to the server may take.
    type: float
    default: 5
requirements:
  - requests, to ask the server itself; the rest is told without it
"""

EXAMPLES = r"""
- name: Pack what is known of a server that does not start
  llmops.sglang.server_diagnosis:
    name: sglang
  register: diagnosis

- name: Bring it here
  ansible.builtin.fetch:
    src: "{{ diagnosis.path }}"
    dest: "diagnoses/{{ inventory_hostname }}/"
    flat: true
"""

RETURN = r"""
path:
  description: The archive on the host; in check mode where it would be.
  type: str
  returned: success
  sample: /var/lib/llmops-sglang/diagnoses/sglang.service-0f3a5c1e2b4d4e6f8a9b0c1d2e3f4a5b.tar.gz
contents:
  description: The C(name) and C(size) in bytes of each file in it.
  type: list
  elements: dict
  returned: success
  sample: [{name: journal.txt, size: 48211}]
summary:
  description: The outcome in one sentence.
  type: str
  returned: success
  sample: >-
    The unit 'sglang.service' is failed (failed); invocation 0f3a5c1e2b4d4e6f8a9b0c1d2e3f4a5b; out_of_memory: the GPU has not enough
    memory.
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

from ansible_collections.llmops.sglang.plugins.module_utils import _diagnosis_archive
from ansible_collections.llmops.sglang.plugins.module_utils._argspec import CONNECTION_SPEC, required_unit
from ansible_collections.llmops.sglang.plugins.module_utils._diagnosis import Diagnoser, Diagnosis
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure, fail_module
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager
from ansible_collections.llmops.sglang.plugins.module_utils._unit_name import unit_name


def main() -> None:
    spec = {
        **required_unit(),
        **CONNECTION_SPEC,
        "dest": {"type": "path"},
        "timeout": {"type": "float", "default": 5},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)

    def set_context(temporary: str, path: str) -> None:
        module.set_context_if_different(temporary, module.selinux_default_context(path), False)

    try:
        name, dest = unit_name(module.params["name"]), module.params["dest"]
        if dest and not os.path.isabs(dest):
            raise Failure("write_failed", f"The path '{dest}' of 'dest' is not absolute: write it from the root.")
        made = Diagnoser(Manager(module.run_command, module.params["scope"]), name, module.params).run()
        directory = _diagnosis_archive.default_directory()
        path = dest or os.path.join(directory, f"{made.stem}.tar.gz")
        data, result = archived(made, path)
        if not module.check_mode:
            _diagnosis_archive.write(path, data, set_context)
            if not dest:
                _diagnosis_archive.drop_oldest(directory, name)
    except Failure as failure:
        fail_module(module, failure)
    module.exit_json(changed=True, **result)


def archived(made: Diagnosis, path: str) -> tuple[bytes, dict[str, t.Any]]:
    """The archive, and the module's result."""
    data, contents = _diagnosis_archive.pack(made.stem, made.parts)
    return data, {"path": path, "contents": contents, "summary": made.summary}


if __name__ == "__main__":
    main()
