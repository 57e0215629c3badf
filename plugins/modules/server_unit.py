#!/usr/bin/python

# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: server_unit
short_description: Write the systemd unit of one SGLang server
description:
  - Turns named arguments into the command line of the installed SGLang release, checks it against that release's flags and
    start-up rules, and writes the unit, or a drop-in, before a restart costs minutes.
  - It does not start or stop anything; M(llmops.sglang.server_service) brings the process in line with the unit.
author:
  - llmops.sglang contributors (@llmops)
extends_documentation_fragment:
  - llmops.sglang._attributes
  - llmops.sglang._unit
  - llmops.sglang._play
attributes:
  check_mode:
    support: full
    details:
      - All checks run and nothing is written. A drop-in over a unit that is not there is a warning, since an earlier task may make it.
  diff_mode:
    support: full
    details:
      - Shows the file before and after, and in words which arguments change, which other settings do, and whether the process that
        runs has to be restarted for it.
      - Values of secrets are never part of the diff.
  idempotent:
    support: full
options:
  name:
    required: true
  state:
    description:
      - With V(absent) the files that this module wrote for the unit are removed, and nothing else.
    type: str
    choices: [present, absent]
    default: present
  style:
    description:
      - With V(unit) the whole unit is written.
      - With V(drop_in) a drop-in overrides C(ExecStart=) of a unit that somebody else owns. It holds only what the options say;
        the defaults for stopping, limits and restarts are then the owner's. A stop that cuts running requests is a warning.
    type: str
    choices: [unit, drop_in]
    default: unit
  python:
    description:
      - Absolute path of the interpreter of the server's environment. Required for O(state=present).
      - A program that runs containers is refused, since nothing within an image can be checked from the host.
    type: str
  sglang_version:
    description:
      - The installed release of SGLang. V(auto) reads it from the metadata of the environment of O(python), without importing
        it; C(PYTHONPATH) in O(environment) is respected.
    type: str
    default: auto
  args:
    description:
      - Arguments of the server by the server's own names with underscores, as V(tp_size) or V(model_path).
      - V(true) is a bare flag and V(false) leaves it out; for a flag that has a C(--no-) form V(false) gives that form. A list
        becomes several words, a mapping JSON, and null leaves the argument out.
      - A name that the installed release spells otherwise is translated. One that it does not have is an error.
    type: dict
  speculative:
    description:
      - Speculative decoding, spelled in the flags which the installed release has.
      - Names are V(algorithm), V(draft_model_path), V(draft_window_size), V(block_size), V(draft_attention_backend), V(num_steps),
        V(eagle_topk), V(num_draft_tokens), V(tree_budget), and every other argument that begins with C(speculative_), without
        that beginning.
      - V(draft_window_size) is a number of tokens, or V(trained) for the window in the C(config.json) of the drafter.
    type: dict
  introspect:
    description:
      - Whether to ask the installed server for its flags, by the help text of the entry point that the unit runs.
      - V(auto) asks where this collection does not know the release.
    type: str
    choices: [auto, always, never]
    default: auto
  flag_names:
    description:
      - Flags that only a fork has, by the name of the option or argument that they serve. A flag given here is taken as known.
    type: dict
  extra_args:
    description:
      - Further words for the command line. They are checked and not translated.
    type: list
    elements: str
  api_key:
    description:
      - The key that clients must send. It reaches the server in a file of mode 0600 that systemd hands over as a credential, and
        stands neither in the unit nor on the command line. The server itself still shows it in its log and in C(/server_info).
      - The server takes one configuration file. A file in V(config) of O(args) is copied into that of the key, and the copy
        follows it from run to run.
    type: str
  admin_api_key:
    description:
      - The key for administrative requests; see O(api_key).
    type: str
  environment:
    description:
      - Environment variables of the server. Where one names a proxy, loopback is excepted from it.
      - Every user of the host can read them. One that looks like a secret is a warning and is not shown in the diff.
    type: dict
  environment_secrets:
    description:
      - Secret environment variables, kept in a file of mode 0600 beside the unit.
    type: dict
  service:
    description:
      - Further settings for the C([Service]) section, or other values for the defaults. A list repeats the key, null leaves a
        default out.
    type: dict
  unit:
    description:
      - The same for the C([Unit]) section.
    type: dict
  install:
    description:
      - The same for the C([Install]) section.
    type: dict
  user:
    description:
      - User that the server runs as.
    type: str
  group:
    description:
      - Group that the server runs as.
    type: str
  working_directory:
    description:
      - Directory that the server runs in.
    type: str
  verify:
    description:
      - Whether C(systemd-analyze verify) must accept the unit before it is written.
    type: bool
    default: true
  preflight:
    description:
      - What to do where this host would keep the server from starting, or let it fail after its weights are loaded. With V(fail)
        nothing is written, V(warn) says it, V(skip) does not look.
      - Looked for are what the user of the unit cannot read of the interpreter, the model, the drafter and the TLS files; models that
        an offline server does not find in its hub cache; fewer GPUs than the sizes in O(args) ask for, where the driver
        tells them; and room for the files of the unit.
      - A process outside of the unit that holds the port is a warning, since it may be gone before the start.
      - With O(dest_dir), and where O(service) gives the unit a root directory of its own, only the room is looked for.
    type: str
    choices: [fail, warn, skip]
    default: fail
  needed_packages:
    description:
      - Python packages without which a later task of the play could not prove the server, in the interpreter that runs this module.
        One that is missing is found as O(preflight) says, before anything is stopped for it.
    type: list
    elements: str
    default: []
  backup:
    description:
      - Whether to keep a copy of the unit file that is replaced or removed.
    type: bool
    default: false
  dest_dir:
    description:
      - Write below this directory instead of the unit search path, for example into an image. systemd is not needed then and
        not told; a missing interpreter is a warning where O(sglang_version) is given.
    type: path
notes:
  - On a systemd older than 247, which has no credentials, the file of the keys belongs to O(user) and is read directly.
seealso:
  - module: llmops.sglang.server_service
  - module: llmops.sglang.server_info
"""

EXAMPLES = r"""
- name: A server with a DFLASH drafter and the window that it was trained with
  llmops.sglang.server_unit:
    name: sglang-k26
    python: /opt/sglang/bin/python
    args:
      model_path: /models/Kimi-K2.6
      tp_size: 8
      host: 0.0.0.0
      port: 30001
      max_running_requests: 32
    speculative:
      algorithm: DFLASH
      draft_model_path: /models/Kimi-K2.6-DFlash
      draft_window_size: trained
    environment_secrets:
      HF_TOKEN: "{{ vault_hf_token }}"
    api_key: "{{ vault_api_key }}"

- name: A fork with a flag of its own
  llmops.sglang.server_unit:
    name: sglang-k26-ddtree
    python: /opt/sglang-ddtree/bin/python
    args:
      model_path: /models/Kimi-K2.6
    speculative:
      algorithm: DDTREE
      draft_model_path: /models/Kimi-K2.6-DFlash
      tree_budget: 8
    flag_names:
      tree_budget: --speculative-ddtree-budget

- name: Override the command of a unit that a package owns
  llmops.sglang.server_unit:
    name: vendor-llm
    style: drop_in
    python: /opt/sglang/bin/python
    args:
      model_path: /models/Kimi-K2.6
"""

RETURN = r"""
path:
  description: The file of the unit or drop-in.
  returned: success
  type: str
  sample: /etc/systemd/system/sglang-k26.service
argv:
  description:
    - The command line, word by word. With O(api_key) its last word is the path of the credential, in which systemd expands
      C(${CREDENTIALS_DIRECTORY}).
  returned: success
  type: list
  elements: str
exec_start:
  description: The value of C(ExecStart=) in the syntax of unit files, on one line.
  returned: success
  type: str
sglang_version:
  description: The release that the command line was made for.
  returned: success
  type: str
  sample: 0.5.15.post1
speculative:
  description:
    - What the command line says of speculation, under the names of O(speculative), whatever the release calls its flags
      and wherever it was set. V(trained) is resolved to its number.
  returned: success
  type: dict
  sample: {algorithm: DFLASH, draft_model_path: /models/drafter, draft_window_size: 2048, block_size: 8}
journal_proof:
  description:
    - What M(llmops.sglang.journal_assert) must be asked of an invocation of this unit for its speculation to be proved.
    - A window whose number is not known must at least be on.
  returned: success
  type: dict
  sample: {preset: [dflash], preset_fields: {compact_cache: true, draft_window_size: 2048}}
  contains:
    preset:
      description: V(dflash) where the server logs a draft runner, which DFLASH and its forks do; else empty.
      type: list
      elements: str
    preset_fields:
      description: The fields of its line, where a draft window is set.
      type: dict
inputs_sha256:
  description:
    - Hashes of what such a server reads at its start beside its command line, as far as it is there now, as C(inputs_sha256) in
      RV(llmops.sglang.server_info#module:evidence).
  returned: success
  type: dict
flag_changes:
  description:
    - How the arguments differ from those of the file before, by meaning; order and spelling do not count.
    - Of a file that somebody else wrote, variables are expanded and a wrapper such as a shell is looked through.
  returned: success
  type: dict
  contains:
    added:
      description: Arguments that are new, with their values.
      type: dict
    removed:
      description: Arguments that are gone, with their values.
      type: dict
    changed:
      description: Arguments with another value, each with V(before) and V(after).
      type: dict
restart_required:
  description:
    - Whether the running process differs from the unit. False where nothing runs, and with O(dest_dir).
  returned: success
  type: bool
backup_file:
  description: The copy of the file before.
  returned: if O(backup) is set and a file was replaced or removed
  type: str
diff:
  description: The file before and after, without secrets, and in C(prepared) what that means in words.
  returned: success
  type: raw
claimed_by:
  description: The play that has the unit; its process, user and controller.
  returned: where another play changes the unit now
  type: dict
failure_class:
  description:
    - The kind of failure. It comes before anything is written, unless C(changed) is true with it.
  returned: failure
  type: str
  sample: rule_violated
log_tail:
  description: Always empty.
  returned: failure
  type: list
  elements: str
"""

import contextlib

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.llmops.sglang.plugins.module_utils._argspec import PLAY_SPEC, required_unit
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure, fail_module
from ansible_collections.llmops.sglang.plugins.module_utils._play_claim import Claimed, claimed_unit
from ansible_collections.llmops.sglang.plugins.module_utils._server_unit import ServerUnit
from ansible_collections.llmops.sglang.plugins.module_utils._unit_place import Writer

ARGUMENT_SPEC = {
    **required_unit(),
    **PLAY_SPEC,
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "style": {"type": "str", "choices": ["unit", "drop_in"], "default": "unit"},
    "python": {"type": "str"},
    "sglang_version": {"type": "str", "default": "auto"},
    "args": {"type": "dict"},
    "speculative": {"type": "dict"},
    "introspect": {"type": "str", "choices": ["auto", "always", "never"], "default": "auto"},
    "flag_names": {"type": "dict"},
    "extra_args": {"type": "list", "elements": "str"},
    "api_key": {"type": "str", "no_log": True},
    "admin_api_key": {"type": "str", "no_log": True},
    "environment": {"type": "dict"},
    "environment_secrets": {"type": "dict", "no_log": True},
    "service": {"type": "dict"},
    "unit": {"type": "dict"},
    "install": {"type": "dict"},
    "user": {"type": "str"},
    "group": {"type": "str"},
    "working_directory": {"type": "str"},
    "verify": {"type": "bool", "default": True},
    "preflight": {"type": "str", "choices": ["fail", "warn", "skip"], "default": "fail"},
    "needed_packages": {"type": "list", "elements": "str", "default": []},
    "backup": {"type": "bool", "default": False},
    "dest_dir": {"type": "path"},
}


def main() -> None:
    module = AnsibleModule(
        argument_spec=ARGUMENT_SPEC, required_if=[("state", "present", ("python",))], supports_check_mode=True
    )
    warnings: list[str] = []
    claimed = Claimed()
    params = module.params
    try:
        # What is written elsewhere changes no unit of this host.
        elsewhere = bool(params["dest_dir"])
        with contextlib.nullcontext(Claimed()) if elsewhere else claimed_unit(params, module.check_mode) as claimed:
            warnings += claimed.warnings
            server = ServerUnit(params, module.run_command, Writer(module), module.check_mode, module.tmpdir, warnings)
            result = server.present() if params["state"] == "present" else server.absent()
    except Failure as failure:
        warn(module, warnings)
        fail_module(module, failure, **claimed.result)
    warn(module, warnings)
    module.exit_json(**result, **claimed.result)


def warn(module: AnsibleModule, warnings: list[str]) -> None:
    for warning in dict.fromkeys(warnings):
        module.warn(warning)


if __name__ == "__main__":
    main()
