#!/usr/bin/python
# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: server_history
short_description: Keep the configurations of an SGLang server that worked, and bring one back
description:
  - A configuration is all files of one unit that an administrator or this collection wrote, byte for byte with modes and
    owners. These are the unit, its drop-ins, the files of its secrets, and the links that enable it.
  - They are kept on the host, below C(/var/lib/llmops-sglang/history) or the user's C(~/.local/state/llmops-sglang/history),
    in files that only their owner can read. The newest ten stay, and those that have a label.
  - It never starts or stops anything; M(llmops.sglang.server_service) brings the process in line with the files.
  - Files below C(/usr/lib), the template of an instance and drop-ins for many units belong to others and are not kept.
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
      - With O(state=restored) and V(last_good) or V(previous) in O(to), it is a warning where nothing of the kind is kept, and
        RV(restored) is null.
  diff_mode:
    support: full
    details:
      - With O(state=restored) the files are shown before and after, and which arguments change. Of secrets it is only told that they
        change.
  idempotent:
    support: full
options:
  name:
    required: true
  state:
    description:
      - V(listed) only tells what is kept.
      - V(recorded) keeps what is on the host now. What is kept already is not kept twice.
      - V(restored) brings the files back that O(to) names, removes those that were not there, and has systemd read them. A run
        that is killed meanwhile can be repeated.
      - V(absent) drops the configuration with O(label); without one all that the collection keeps of the unit beside its files,
        which are the configurations, copies made by O(llmops.sglang.server_unit#module:backup), archives of diagnoses, and times of
        starts.
    type: str
    choices: [listed, recorded, restored, absent]
    default: listed
  proven:
    description:
      - With O(state=recorded), whether this configuration passed all checks.
      - One that did not is kept only with a O(label), or as what was found on the host where nothing else is kept yet.
    type: bool
    default: false
  label:
    description:
      - A name for the configuration, under which it stays until it is dropped. A name that is taken passes to this one.
      - With O(state=recorded) and O(state=absent).
    type: str
  to:
    description:
      - With O(state=restored), the configuration to bring back, by its id or label.
      - V(last_good) is the newest that passed all checks; before there is one, what was found on the host.
      - V(previous) is the newest of these that is not on the host now. Where a run before this one was on its way to one and did
        not come to prove it, it is that one.
    type: str
    default: last_good
seealso:
  - module: llmops.sglang.server_unit
  - module: llmops.sglang.server_service
"""

EXAMPLES = r"""
- name: Keep what works
  llmops.sglang.server_history:
    name: sglang
    state: recorded
    proven: true

- name: Keep it under a name before something is tried
  llmops.sglang.server_history:
    name: sglang
    state: recorded
    label: before-the-upgrade

- name: Go back
  llmops.sglang.server_history:
    name: sglang
    state: restored
    to: before-the-upgrade
  register: back

- name: Bring the process in line with it
  llmops.sglang.server_service:
    name: sglang

- name: Wait until it generates
  llmops.sglang.wait_for_generation:
    name: sglang
    api_key_file: "{{ back.api_key_file or omit }}"
"""

RETURN = r"""
configurations:
  description: What is kept, newest first.
  returned: success
  type: list
  elements: dict
  contains:
    id:
      description: The time at which it was first kept.
      type: str
      sample: 20261130T071500Z
    label:
      description: Its name; null for none.
      type: str
    proven:
      description: Whether it passed all checks.
      type: bool
    recorded_at:
      description: When it was last kept.
      type: str
      sample: "2026-11-30T07:15:00Z"
    argv:
      description: Its command line, without keys.
      type: list
      elements: str
    on_host:
      description: Whether it is what is on the host now, in every file, mode and owner.
      type: bool
last_good:
  description: The id of what V(last_good) is; null where there is none.
  returned: success
  type: str
recorded:
  description: The id under which the configuration is kept; null where it is not, and in check mode.
  returned: success
  type: str
restored:
  description: The id of what was brought back, or in check mode would be; null with other states.
  returned: success
  type: str
api_key_file:
  description: The file on the host with the key that the restored server asks for; null where this collection wrote none.
  returned: success
  type: str
  sample: /etc/systemd/system/sglang.service.secrets/config.yaml
base_url:
  description: Where the restored server listens; null with other states.
  returned: success
  type: str
  sample: http://127.0.0.1:30001
diff:
  description: The files before and after, without secrets.
  returned: with O(state=restored)
  type: list
claimed_by:
  description: The play that has the unit; its process, user and controller.
  returned: where another play changes the unit now
  type: dict
failure_class:
  description: The kind of failure.
  returned: failure
  type: str
  sample: condition_not_met
log_tail:
  description: Always empty.
  returned: failure
  type: list
  elements: str
"""

import re

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.llmops.sglang.plugins.module_utils._argspec import PLAY_SPEC, required_unit
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure, fail_module
from ansible_collections.llmops.sglang.plugins.module_utils._play_claim import Claimed, claimed_unit
from ansible_collections.llmops.sglang.plugins.module_utils._server_history import (
    LAST_GOOD,
    PREVIOUS,
    ServerHistory,
    places_of,
)
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager
from ansible_collections.llmops.sglang.plugins.module_utils._unit_name import unit_name


def main() -> None:
    spec = {
        **required_unit(),
        **PLAY_SPEC,
        "state": {"type": "str", "choices": ["listed", "recorded", "restored", "absent"], "default": "listed"},
        "proven": {"type": "bool", "default": False},
        "label": {"type": "str"},
        "to": {"type": "str", "default": LAST_GOOD},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    params = module.params
    history = None
    claimed = Claimed()

    def set_context(temporary: str, path: str) -> None:
        module.set_context_if_different(temporary, module.selinux_default_context(path), False)

    try:
        label = checked_label(params["label"] or "")
        with claimed_unit(params, module.check_mode or params["state"] == "listed") as claimed:
            manager = Manager(module.run_command, params["scope"])
            history = ServerHistory(
                manager, unit_name(params["name"]), places_of(params["scope"]), set_context, module.check_mode
            )
            if params["state"] == "recorded":
                result = history.recorded(params["proven"], label)
            elif params["state"] == "restored":
                result = history.restored(params["to"])
            else:
                result = history.absent(label) if params["state"] == "absent" else history.listed()
    except Failure as failure:
        warn(module, history, claimed.warnings)
        fail_module(module, failure, **claimed.result)
    warn(module, history, claimed.warnings)
    module.exit_json(**result, **claimed.result)


def checked_label(label: str) -> str:
    """Refuse what could not be told from an id or a word of the option ``to``."""
    if label in (LAST_GOOD, PREVIOUS) or re.match(r"[0-9]{8}T[0-9]{6}Z", label):
        raise Failure("condition_not_met", f"The label '{label}' has a meaning of its own: choose another.")
    if len(label) > 200 or not label.isprintable():
        raise Failure("condition_not_met", "The label is longer than 200 characters or not printable: choose another.")
    return label


def warn(module: AnsibleModule, history: ServerHistory | None, warnings: tuple[str, ...]) -> None:
    for warning in [*warnings, *(history.warnings if history else ())]:
        module.warn(warning)


if __name__ == "__main__":
    main()
