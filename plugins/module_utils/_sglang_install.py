# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Ask an interpreter which SGLang it would import, without importing it; where it does not run, its files tell."""

from __future__ import annotations

import json
import os
import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._installed import installed_sglang

RunCommand = t.Callable[..., "tuple[int, str, str]"]

# importlib.metadata reads dist-info, egg-info and editable installs alike, and only the metadata's files.
# -I keeps out PYTHONPATH and with it a sitecustomize; its directories are searched first, as the server would.
_PROGRAM = """
import json, os, sys
sys.path[:0] = [p for p in sys.argv[1].split(":") if p]
from importlib import metadata
try:
    found = metadata.distribution("sglang")
    path = str(found.locate_file("sglang/launch_server.py"))
    stamp = "%s %d" % (path, os.stat(path).st_mtime_ns) if os.path.exists(path) else ""
    answer = [found.version, stamp]
except metadata.PackageNotFoundError:
    answer = [None, ""]
print("llmops-sglang " + json.dumps(answer))
"""


class Install(t.NamedTuple):
    """One installed SGLang; ``stamp`` changes with its files, and is empty where they cannot be told."""

    version: str
    stamp: str


def find_sglang(run_command: RunCommand, python: str, environment: t.Mapping[str, str]) -> Install:
    """The distribution ``sglang`` that *python* finds, by its metadata.

    :arg environment: the server's environment, for its ``PYTHONPATH``.
    :raises Failure: ``unit_invalid`` if the interpreter is missing, does not run, or has no SGLang.
    """
    if not os.path.exists(python):
        raise missing_interpreter(python)
    pythonpath = str(environment.get("PYTHONPATH", ""))
    rc, out, err = run_command([python, "-I", "-c", _PROGRAM, pythonpath], check_rc=False)
    match = re.search(r"^llmops-sglang (.*)$", out, flags=re.MULTILINE)
    if rc == 0 and match:
        version, stamp = json.loads(match.group(1))
    else:
        # It may be another machine's, in an image; its files tell the version all the same.
        beside = installed_sglang(python, pythonpath)
        version, stamp = beside.version if beside else None, ""
        if version is None:
            said = " ".join(err.split())[-300:] or f"exit status {rc}"
            raise Failure(
                "unit_invalid",
                f"The interpreter '{python}' does not run ({said}): check 'python', or set 'sglang_version'.",
            )
    if version is None:
        raise Failure(
            "unit_invalid",
            f"The interpreter '{python}' has no distribution 'sglang': install SGLang there, correct 'python', or set 'sglang_version'.",
        )
    return Install(version, stamp)


def missing_interpreter(python: str) -> Failure:
    """The failure for an interpreter that is not there."""
    return Failure(
        "unit_invalid",
        f"The interpreter '{python}' does not exist on this host: install the server there or correct 'python'.",
    )
