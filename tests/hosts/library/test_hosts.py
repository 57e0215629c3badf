# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make or remove a set of test hosts on this machine; a thin face of hosts.py."""

from __future__ import annotations

import json
import sys

from ansible.module_utils.basic import AnsibleModule


def main():
    bind = {
        "source": {"type": "path", "required": True},
        "target": {"type": "path", "required": True},
        "read_only": {"type": "bool", "default": False},
    }
    module = AnsibleModule(
        argument_spec={
            "program": {"type": "path", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "name": {"type": "str", "required": True},
            "hosts": {"type": "list", "elements": "str", "default": []},
            "binds": {"type": "list", "elements": "dict", "options": bind, "default": []},
            "groups": {"type": "list", "elements": "str", "default": []},
            "owner_pid": {"type": "int"},
            "caller_pid": {"type": "int"},
            "inventory": {"type": "path"},
            "keep_compiled": {"type": "bool", "default": False},
            "uid": {"type": "int", "default": 0},
            "gid": {"type": "int", "default": 0},
        },
        required_if=[("state", "present", ["hosts", "inventory"])],
    )
    settings = {name: value for name, value in module.params.items() if name not in ("program", "state")}
    command = "create" if module.params["state"] == "present" else "destroy"
    words = [sys.executable, "-B", module.params["program"], command]
    status, out, err = module.run_command(words, data=json.dumps(settings))
    if status:
        module.fail_json(msg="The program %r failed: %s" % (module.params["program"], err.strip()))
    answer = json.loads(out)
    if answer.pop("failed", False):
        module.fail_json(**answer)
    module.exit_json(**answer)


if __name__ == "__main__":
    main()
