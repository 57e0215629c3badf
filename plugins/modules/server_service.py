#!/usr/bin/python
# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: server_service
short_description: Bring the process of an SGLang server in line with its unit
description:
  - Starts, stops or restarts the systemd service of an SGLang server. Whether a restart is needed is decided by comparing
    the process that runs with the unit as its files say now, never by whether this play changed a file; so a play that died
    after it wrote the unit is repaired by the next one.
  - Compared are the command line, the environment with its files, the user, the credentials, and what the server read at its start
    beside them, which is the installed SGLang, the configurations of the model and the drafter, a configuration file, a chat
    template and the shell script that starts it. A file of these that was only touched is told from one that changed by what
    this module kept at the last start, below C(/var/cache/llmops-sglang) or the user's C(~/.cache/llmops-sglang); without it the
    file's times decide. A variable that the unit no longer sets is known by the same record. A wrapper that the server replaces
    (C(numactl), C(env), a shell's C(exec)) is known by the command that the unit had at the start.
  - It returns when the state change is done, no process of the old invocation is left and none holds its port any more. A port
    that another process holds is told before anything is stopped. It says nothing about readiness;
    that is the work of M(llmops.sglang.wait_for_generation).
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
      - Where systemd has not read a changed file again, it counts as a difference, since only a reload tells what it means.
  diff_mode:
    support: full
    details:
      - Shows the reason of a change, and with it what differs between the process and its unit.
  idempotent:
    support: partial
    details:
      - With O(state=restarted) the service is restarted each time.
options:
  name:
    required: true
  state:
    description:
      - V(converged) starts a stopped service and restarts a running one only where its process differs from the unit.
      - V(restarted) always restarts, V(started) and V(stopped) only start and stop.
      - A unit that is active without a main process, as with C(Type=oneshot) and C(RemainAfterExit=), cannot be compared and is left
        as it is by V(converged).
    type: str
    choices: [converged, restarted, started, stopped]
    default: converged
  reset_failed:
    description:
      - Whether to clear the failed state and the start limit's counter of the unit before it is started.
    type: bool
    default: true
  stop_timeout:
    description:
      - How long, in seconds, a stop may take in all, running requests included.
    type: int
    default: 600
  start_timeout:
    description:
      - How long, in seconds, the start job may take, without the loading of the model.
    type: int
    default: 90
  enabled:
    description:
      - Whether the unit starts at boot; left as it is where this is not set.
    type: bool
  unit_to_change:
    description:
      - Whether an earlier task would change the unit and in check mode only said so, as
        RV(llmops.sglang.server_unit#module:restart_required) tells. A process that runs then counts as one that differs.
      - Outside of check mode it has no effect, since the unit itself tells.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Bring the server in line with its unit
  llmops.sglang.server_service:
    name: sglang
    state: converged
    enabled: true
  register: service

- name: Wait until this very invocation generates
  llmops.sglang.wait_for_generation:
    name: sglang
    previous_invocation_id: "{{ service.previous_invocation_id if service.restarted else omit }}"
"""

RETURN = r"""
reason:
  description: Why the service was started, stopped or restarted, or why it was not.
  type: str
  returned: success, and where a stop or a start failed
  sample: "restarted: settings of the unit changed"
diff:
  description: The unit and the reason in one line, as C(prepared).
  type: dict
  returned: with C(--diff), where something changed
restarted:
  description: Whether a new process was started, so that another invocation runs now; false in check mode.
  type: bool
  returned: success, and where a stop or a start failed
previous_invocation_id:
  description:
    - Invocation before this task; empty where the unit had none.
    - It equals RV(invocation_id) where nothing was restarted.
  type: str
  returned: success, and where a stop or a start failed
invocation_id:
  description: Invocation after this task (in check mode, of now); null where the unit has none.
  type: str
  returned: success, and where a stop or a start failed
main_pid:
  description: Main process after this task; null where none runs.
  type: int
  returned: success, and where a stop or a start failed
stopped_cleanly:
  description:
    - Whether the old process ended by itself with a success status; null where nothing was stopped.
  type: bool
  returned: success, and where a stop or a start failed
stopped_by:
  description:
    - How the old process ended, by its exit status or the name of the signal; null where none was stopped.
  type: str
  returned: success, and where a stop or a start failed
  sample: exit status 0
elapsed:
  description: Duration of the state change in seconds.
  type: float
  returned: success, and where a stop or a start failed
claimed_by:
  description: The play that has the unit; its process, user and controller.
  returned: where another play changes the unit now
  type: dict
failure_class:
  description: Word for the kind of failure.
  type: str
  returned: failure
log_tail:
  description: The last log lines of the invocation, at most ten of 400 characters.
  type: list
  elements: str
  returned: failure
"""

import time

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.llmops.sglang.plugins.module_utils._argspec import PLAY_SPEC, required_unit
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure, fail_module
from ansible_collections.llmops.sglang.plugins.module_utils._play_claim import Claimed, claimed_unit
from ansible_collections.llmops.sglang.plugins.module_utils._service_state import ServiceChange, Timeouts
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager
from ansible_collections.llmops.sglang.plugins.module_utils._unit_name import unit_name


def main() -> None:
    spec = {
        **required_unit(),
        **PLAY_SPEC,
        "state": {"type": "str", "choices": ["converged", "restarted", "started", "stopped"], "default": "converged"},
        "reset_failed": {"type": "bool", "default": True},
        "stop_timeout": {"type": "int", "default": 600},
        "start_timeout": {"type": "int", "default": 90},
        "enabled": {"type": "bool"},
        "unit_to_change": {"type": "bool", "default": False},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    params = module.params
    claimed = Claimed()
    try:
        with claimed_unit(params, module.check_mode) as claimed:
            change = ServiceChange(
                manager=Manager(module.run_command, params["scope"]),
                name=unit_name(params["name"]),
                timeouts=Timeouts(stop=params["stop_timeout"], start=params["start_timeout"]),
                reset_failed=params["reset_failed"],
                check_mode=module.check_mode,
                unit_to_change=params["unit_to_change"],
                clock=time.monotonic,
                sleep=time.sleep,
            )
            change.enable(params["enabled"])
            change.bring_to(params["state"])
    except Failure as failure:
        fail_module(module, failure, **claimed.result)
    for warning in [*claimed.warnings, *change.warnings]:
        module.warn(warning)
    result = change.result()
    if module._diff and result["changed"]:
        result["diff"] = {"prepared": f"{unit_name(params['name'])}: {result['reason']}\n"}
    module.exit_json(**result, **claimed.result)


if __name__ == "__main__":
    main()
