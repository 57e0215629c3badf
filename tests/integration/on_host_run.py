# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run one of the programs of on_host on a test host; the module's code works there in the program's own process."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from host_set import HostSet

from ansible_collections.llmops.sglang.plugins.module_utils._argspec import CONNECTION_SPEC, UNIT_SPEC
from ansible_collections.llmops.sglang.plugins.modules.wait_for_generation import PROBE_SPEC, WAIT_SPEC

DEFAULTS = {
    name: option.get("default") for name, option in {**UNIT_SPEC, **CONNECTION_SPEC, **PROBE_SPEC, **WAIT_SPEC}.items()
}


def run_on_host(hosts: HostSet, program: str, settings: Mapping[str, Any], timeout: float) -> dict[str, Any]:
    """What PROGRAM on host1 says; the module's defaults are added to its SETTINGS."""
    script = f"{hosts.repository}/tests/integration/on_host/{program}"
    text = json.dumps({"defaults": DEFAULTS, **settings})
    done = hosts.ssh("host1", f"python3 -B {script} {shlex.quote(text)}", timeout=timeout)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)
