# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Run a stranger's program where it can reach nothing."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure

RunCommand = t.Callable[..., "tuple[int, str, str]"]

# The distribution's interpreter: one from a home directory is hidden in there.
_INTERPRETERS = ("/usr/bin/python3", "/usr/libexec/platform-python")
_OUTPUT_BYTES = 1024 * 1024
_START_SECONDS = 20
# Passes on what it reads, at once (what head holds back would be lost with it), and ends at the limit, which ends a program
# that prints for ever.
_LIMITER = f"""
import os
left = {_OUTPUT_BYTES}
while left:
    data = os.read(0, min(left, 65536))
    if not data:
        break
    left -= len(data)
    while data:
        data = data[os.write(1, data):]
"""
_PIPELINE = 'python=$1 limiter=$2; shift 2; "$@" | "$python" -I -S -c "$limiter"'

_PROPERTIES = (
    "DynamicUser=yes",
    "PrivateNetwork=yes",
    "IPAddressDeny=any",
    "RestrictAddressFamilies=AF_UNIX",
    "ProtectSystem=strict",
    "ProtectHome=yes",
    "PrivateTmp=yes",
    "PrivateDevices=yes",
    "PrivateIPC=yes",
    "PrivateUsers=yes",
    "ProtectKernelTunables=yes",
    "ProtectKernelModules=yes",
    "ProtectKernelLogs=yes",
    "ProtectControlGroups=yes",
    "ProtectClock=yes",
    "ProtectHostname=yes",
    "ProtectProc=invisible",
    "ProcSubset=pid",
    "NoNewPrivileges=yes",
    "RestrictNamespaces=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
    "LockPersonality=yes",
    "MemoryDenyWriteExecute=yes",
    "KeyringMode=private",
    "CapabilityBoundingSet=",
    "SystemCallArchitectures=native",
    "SystemCallFilter=@system-service",
    "SystemCallFilter=~@privileged @resources @mount @debug",
    "SystemCallFilter=setrlimit prlimit64",
    "SystemCallErrorNumber=EPERM",
    "UMask=0077",
    "KillSignal=SIGKILL",
    "TimeoutStopSec=5",
    "LimitCORE=0",
    "LimitNPROC=32",
    "LimitNOFILE=128",
    "TasksMax=32",
    "MemorySwapMax=0",
    "CPUQuota=100%",
    "OOMPolicy=kill",
)


class Sandbox:
    """Runs a Python program with text on its standard input.

    :arg kind: ``systemd`` for a transient unit with a user of its own, no network, a read-only system and limits of memory,
        processes and time; ``none`` for no protection but limits.
    :arg memory: bytes that the program may use.
    """

    def __init__(self, run_command: RunCommand, kind: str, memory: int) -> None:
        self._run_command = run_command
        self.kind = kind
        self.memory = memory
        self._python = next((path for path in _INTERPRETERS if os.path.exists(path)), None)

    def run(self, program: str, text: str, seconds: float) -> tuple[str, str]:
        """What *program* printed within *seconds*, at most 1 MiB, and what the sandbox itself had to say."""
        if self._python is None:
            raise Failure(
                "sandbox_unavailable",
                f"None of {', '.join(_INTERPRETERS)} is there to run the programs: install python3.",
            )
        command = [self._python, "-I", "-S", "-c", program]
        inner = [*self._systemd_run(seconds), *command] if self.kind == "systemd" else ["env", "-i", *command]
        limit = seconds + (_START_SECONDS if self.kind == "systemd" else 0)
        words = ["timeout", "-k", "2", f"{limit:g}", "sh", "-c", _PIPELINE, "sh", self._python, _LIMITER, *inner]
        dummy, out, err = self._run_command(words, data=text, binary_data=True, errors="surrogateescape")
        return out, err

    def _systemd_run(self, seconds: float) -> list[str]:
        words = ["systemd-run", "--quiet", "--wait", "--collect", "--pipe", "--service-type=exec"]
        limits = (
            f"RuntimeMaxSec={seconds:g}",
            f"MemoryMax={self.memory}",
            f"LimitAS={self.memory}",
            f"LimitCPU={int(seconds) + 1}",
        )
        for setting in (*_PROPERTIES, *limits):
            words += ["-p", setting]
        return [*words, "--"]


def unavailable(said: str) -> Failure:
    """The failure for a sandbox in which not even a trivial program ran."""
    cause = " ".join(said.split())[:300] or "no message"
    return Failure(
        "sandbox_unavailable",
        f"The sandbox of systemd-run does not work here ({cause}): run the task as root with systemd, or accept the risk of "
        "running generated code with 'sandbox: none'.",
    )


def bytes_of(size: str) -> int:
    """Bytes of a size such as ``256M``.

    :raises Failure: ``bad_request`` if it is none, or too small for an interpreter.
    """
    match = re.fullmatch(r"(\d+)\s*([KMG]?)(?:i?B)?", size.strip(), re.IGNORECASE)
    number = int(match.group(1)) * 1024 ** " KMG".index(match.group(2).upper() or " ") if match else 0
    if number < 64 * 1024 * 1024:
        raise Failure("bad_request", f"The memory_max '{size}' is no size of at least 64M; write one such as 256M.")
    return number
