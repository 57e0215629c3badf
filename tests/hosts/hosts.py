# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make or remove a set of test hosts: the program behind the module test_hosts.

    hosts.py create < SETTINGS.json     hosts.py destroy < {"name": NAME}

Answers with one JSON object on standard output. "keep" and "inside" are the set's own processes.
"""

from __future__ import annotations

import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from hostset import inside, keeper, making
from hostset.settings import HostsError, from_json

PROGRAM = os.path.abspath(__file__)


def main(words: list) -> int:
    os.umask(0o022)  # the caller, who may not be root, looks below the set's directory
    if words[0] in ("keep", "inside"):
        with open(words[1], encoding="utf-8") as file:
            settings = from_json(file.read())
        if words[0] == "keep":
            return keeper.main(settings, words[2], PROGRAM)
        return inside.main(settings, words[2])
    try:
        request = json.loads(sys.stdin.read())
        caller = request.pop("caller_pid", None)
        if words[0] == "create":
            answer = making.create(from_json(json.dumps(request)), PROGRAM, caller)
        else:
            answer = making.destroy(request["name"])
    except HostsError as error:
        answer = {"failed": True, "msg": str(error)}
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
