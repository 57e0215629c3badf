# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The record of what ran, to which every figure is bound."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils import _endpoint
from ansible_collections.llmops.sglang.plugins.module_utils._launch_command import read_launch
from ansible_collections.llmops.sglang.plugins.module_utils._listener import local_addresses
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import (
    process_inputs,
    read_argv,
    read_environ,
)
from ansible_collections.llmops.sglang.plugins.module_utils._served_models import served_names
from ansible_collections.llmops.sglang.plugins.module_utils._server_inputs import digests
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, UnitState

# Set for tests and demonstrations: the server then makes its acceptance or its routing up. SGLANG_SIMULATE_ACC_LEN is one
# of several; those that only say how do nothing alone.
_SIMULATES = re.compile(r"(?:SGLANG_|SGL_)?(?:\w+_)?SIMULATE_\w+(?<!_METHOD)(?<!_MODE)(?<!_GREEDY)")
_OFF = re.compile(r"\s*(?:|-.*|0*\.?0*|false|no|off|n|f|none)\s*", re.IGNORECASE)
# (status, decoded JSON or None) of a path; None where nothing answered.
HttpGet = t.Callable[[str], "t.Optional[tuple[int, t.Any]]"]

# A change of any of these means that the figures before and after speak of two different things.
_IDENTITY = (
    ("invocation_id", "invocation"),
    ("n_restarts", "restart counter"),
    ("main_pid", "main process"),
    ("argv_sha256", "command line"),
    ("sglang_version", "server version"),
    ("served_model", "served model"),
    ("model_path", "model path"),
    ("model_revision", "model revision"),
    ("draft_model_path", "drafter path"),
    ("draft_model_revision", "drafter revision"),
)


def collect(
    manager: t.Optional[Manager] = None,
    name: t.Optional[str] = None,
    http_get: t.Optional[HttpGet] = None,
    root: str = "/",
    state: t.Optional[UnitState] = None,
) -> dict[str, t.Any]:
    """What runs now, as far as it can be read; what cannot is ``None``.

    :arg name: the unit; without one the invocation stays unknown.
    :arg http_get: asks the server itself; without it its version and model stay unknown.
    :arg state: the unit's state where the caller has just read it.
    :returns: plain JSON data without any key or secret.
    """
    record: dict[str, t.Any] = dict.fromkeys(key for key, dummy in _IDENTITY)
    record.update(unit=name, scope=manager.scope if manager else None, simulated_acceptance=None, inputs_sha256=None)
    argv: list[str] = []
    if manager and name:
        state = state or manager.show(name)
        record.update(
            invocation_id=state.invocation_id or None, n_restarts=state.n_restarts, main_pid=state.main_pid or None
        )
        argv = read_argv(state.main_pid, os.path.join(root, "proc")) or [] if state.main_pid else []
        environ = read_environ(state.main_pid, os.path.join(root, "proc")) if state.main_pid else None
        record["simulated_acceptance"] = None if environ is None else simulates(environ)
        if argv and state.main_pid:
            inputs = process_inputs(state, argv, environ or {}, proc=os.path.join(root, "proc"))
            record["inputs_sha256"] = digests(inputs)
    if argv:
        record.update(_from_argv(argv))
    if http_get:
        record.update({k: v for k, v in _from_server(http_get).items() if isinstance(v, str)})
    record["gpu"] = _gpus(root)
    record["host"] = os.uname().nodename
    record["kernel"] = os.uname().release
    return record


def of_a_server_at(host: str, record: dict[str, t.Any]) -> dict[str, t.Any]:
    """*record* of a server at *host* without what is only known of this machine, where that is another one."""
    if not record["unit"] and not local_addresses(host):
        record.update(host=host, kernel=None, gpu=dict.fromkeys(("model", "count", "driver")))
    return record


def simulates(environ: t.Mapping[str, str]) -> bool:
    """Whether a process with these variables makes up what it reports of its speculation or its experts."""
    return any(_SIMULATES.fullmatch(name) and not _OFF.fullmatch(text) for name, text in environ.items())


def changes(before: t.Mapping[str, t.Any], after: t.Mapping[str, t.Any]) -> list[str]:
    """What tells that *after* is about another process or server than *before*, one sentence part each."""
    return [
        f"the {label} changed from {before.get(key)!r} to {after.get(key)!r}"
        for key, label in _IDENTITY
        if before.get(key) != after.get(key)
    ]


def _from_argv(argv: t.Sequence[str]) -> dict[str, t.Any]:
    launch = read_launch(argv)
    words = launch.words if launch.found else argv
    return {
        "argv_sha256": hashlib.sha256(
            json.dumps(_endpoint.hide_keys(argv, "")).encode("utf-8", "surrogateescape")
        ).hexdigest(),
        "model_path": _endpoint.argument(words, "--model-path", "--model"),
        "model_revision": _endpoint.argument(words, "--revision"),
        "draft_model_path": _endpoint.argument(words, "--speculative-draft-model-path", "--speculative-draft-model"),
        "draft_model_revision": _endpoint.argument(words, "--speculative-draft-model-revision"),
    }


def _from_server(http_get: HttpGet) -> dict[str, t.Any]:
    found: dict[str, t.Any] = {}
    info = _json(http_get("/server_info"))
    if isinstance(info, dict):
        found["sglang_version"] = info.get("version")
        found["model_path"] = info.get("model_path")
        found["model_revision"] = info.get("revision")
        found["draft_model_path"] = info.get("speculative_draft_model_path")
        found["draft_model_revision"] = info.get("speculative_draft_model_revision")
    found["served_model"] = next(iter(served_names(_json(http_get("/v1/models")))), None)
    return found


def _json(answer: t.Optional[tuple[int, t.Any]]) -> t.Any:
    return answer[1] if answer and answer[0] == 200 else None


def _gpus(root: str) -> dict[str, t.Any]:
    """Model names and driver as NVIDIA's kernel module tells them below /proc; nothing where there is none."""
    models = []
    for path in sorted(glob.glob(os.path.join(root, "proc/driver/nvidia/gpus/*/information"))):
        match = re.search(r"^Model:\s*(.+)$", _text(path), re.MULTILINE)
        models.append(match.group(1).strip() if match else "unknown")
    driver = re.search(
        r"Kernel Module\s+(?:for \S+\s+)?([0-9.]+)", _text(os.path.join(root, "proc/driver/nvidia/version"))
    )
    return {
        "model": ", ".join(sorted(set(models))) or None,
        "count": len(models) or None,
        "driver": driver.group(1) if driver else None,
    }


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.read()
    except OSError:
        return ""
