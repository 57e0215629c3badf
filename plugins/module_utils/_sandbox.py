# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Run a stranger's program where it can reach nothing."""

from __future__ import annotations

import os
import re
import secrets
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import version_of

RunCommand = t.Callable[..., "tuple[int, str, str]"]

# The distribution's interpreter: one from a home directory is hidden in there.
_INTERPRETERS = ("/usr/bin/python3", "/usr/libexec/platform-python")
# What the runner passes on at most, with every byte of it escaped.
_OUTPUT_BYTES = 8 * 1024 * 1024
# The runner ends a program at its time limit, which begins when the program does. These are for one that disarms the runner,
# and for a service manager that does not answer.
_WATCHER_SECONDS = 10
_START_SECONDS = 20
# Threads and processes that a program may have.
PROCESSES = 32
# What timeout(1) ends with where it had to end the command.
_CUT_OFF = (124, 137)
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
    "PrivateNetwork=yes",
    "RestrictAddressFamilies=AF_UNIX",
    "ProtectSystem=strict",
    "ProtectHome=yes",
    "PrivateTmp=yes",
    "PrivateDevices=yes",
    "PrivateIPC=yes",
    "PrivateUsers=yes",
    "ProtectProc=invisible",
    # Not even a private place to write in: its size would have no limit.
    "InaccessiblePaths=-/dev/shm -/tmp -/var/tmp",
    "NoNewPrivileges=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
    "LockPersonality=yes",
    "MemoryDenyWriteExecute=yes",
    "KeyringMode=private",
    "SystemCallArchitectures=native",
    "SystemCallFilter=@system-service",
    # @aio holds io_uring, which opens sockets past any filter; the last ones hold memory that no resource limit counts.
    "SystemCallFilter=~@network-io @privileged @resources @mount @debug @aio kill tkill tgkill rt_sigqueueinfo "
    "rt_tgsigqueueinfo pidfd_send_signal userfaultfd memfd_create mq_open shmget msgget semget",
    "SystemCallErrorNumber=EPERM",
    "UMask=0077",
    "KillSignal=SIGKILL",
    "TimeoutStopSec=5",
    "LimitCORE=0",
    "LimitNOFILE=128",
    "LimitFSIZE=1M",
    "LimitMEMLOCK=0",
    f"TasksMax={PROCESSES}",
    "MemorySwapMax=0",
    "CPUQuota=100%",
    "OOMPolicy=kill",
)


# What only the system's manager can do; a user's manager gets a process namespace instead of a user of its own.
_SYSTEM_PROPERTIES = (
    "DynamicUser=yes",
    # Counts all processes of a user: one who has more of them elsewhere could not even start the unit.
    f"LimitNPROC={PROCESSES}",
    "IPAddressDeny=any",
    "CapabilityBoundingSet=",
    "RestrictNamespaces=yes",
    "ProtectKernelTunables=yes",
    "ProtectKernelModules=yes",
    "ProtectKernelLogs=yes",
    "ProtectControlGroups=yes",
    "ProtectClock=yes",
    "ProtectHostname=yes",
)
# Only since 250 with the kernel's settings protected as well (NEWS of systemd 250), which counts for more.
_PROCESSES_ALONE = "ProcSubset=pid"
# Nothing else keeps a program from signals to its user's other processes: fcntl can send one without a kill.
_OWN_PROCESSES = ("unshare", "--user", "--pid", "--fork", "--kill-child")


class Sandbox:
    """Runs a Python program with text on its standard input.

    :arg kind: ``systemd`` for a transient unit without network, with a read-only system and limits of memory, processes and
        time; ``none`` for no protection but limits.
    :arg memory: bytes that the program may use.
    :arg user_environ: environment that reaches the user's own service manager, for a caller that is not root.
    """

    def __init__(
        self,
        run_command: RunCommand,
        kind: str,
        memory: int,
        user_environ: t.Optional[t.Mapping[str, str]] = None,
    ) -> None:
        self._run_command = run_command
        self.kind = kind
        self.memory = memory
        self.user_environ = user_environ
        self._unit = ""
        self._systemd: t.Optional[int] = None
        self._python = next((path for path in _INTERPRETERS if os.path.exists(path)), None)

    def run(self, program: str, text: str, seconds: float) -> tuple[str, str]:
        """What *program* printed, and what the sandbox itself had to say; *seconds* is the time that it needs at most."""
        if self._python is None:
            raise Failure(
                "sandbox_unavailable",
                f"None of {', '.join(_INTERPRETERS)} is there to run the programs: install python3.",
            )
        command = [self._python, "-I", "-S", "-c", program]
        inner = [*self._systemd_run(seconds), *command] if self.kind == "systemd" else ["env", "-i", *command]
        limit = seconds + _WATCHER_SECONDS + _START_SECONDS
        pipeline = ["sh", "-c", _PIPELINE, "sh", self._python, _LIMITER, *inner]
        status, out, err = self._run_command(
            ["timeout", "-k", "2", f"{limit:g}", *pipeline],
            data=text,
            binary_data=True,
            errors="surrogateescape",
            environ_update=dict(self.user_environ or {}),
        )
        if status in _CUT_OFF:
            err += f"\nit was ended after {limit:g} s"
        return out, err

    def why_not(self, said: str) -> str:
        """Why the last program did not run: the service manager's own lines in the journal, else what was *said*."""
        if self.kind == "systemd" and self._unit:
            user = self.user_environ is not None
            words = ["journalctl", *(("--user",) if user else ()), "--unit", self._unit, "--output=cat", "--lines=20"]
            dummy, out, dummy2 = self._run_command(words, environ_update=dict(self.user_environ or {}))
            causes = [line for line in out.splitlines() if "Failed " in line and "Failed with result" not in line]
            said = causes[0] if causes else said
        lines = [line for line in said.splitlines() if line.strip() and not line.startswith("Running as unit")]
        return " ".join(" ".join(lines).split())[:300] or "the program that was to run in it ended without a word"

    def _systemd_run(self, seconds: float) -> list[str]:
        user = self.user_environ is not None
        self._unit = f"llmops-sglang-sandbox-{secrets.token_hex(8)}.service"
        home = os.path.expanduser("~")
        settings = [
            *_PROPERTIES,
            *(() if user else _SYSTEM_PROPERTIES),
            *((_PROCESSES_ALONE,) if user or self._version() not in range(1, 250) else ()),
            *((f"InaccessiblePaths=-{home}",) if len(home) > 1 else ()),
            f"RuntimeMaxSec={seconds + _WATCHER_SECONDS:g}",
            f"MemoryMax={self.memory}",
            f"LimitAS={self.memory}",
            f"LimitCPU={int(seconds) + 1}",
        ]
        words = ["systemd-run", *(("--user",) if user else ()), "--wait", "--collect", "--pipe"]
        words += [
            f"--unit={self._unit}",
            "--service-type=exec",
            *(word for setting in settings for word in ("-p", setting)),
            "--",
        ]
        return [*words, *(_OWN_PROCESSES if user else ())]

    def _version(self) -> int:
        """That of systemd; 0 where it cannot be told."""
        if self._systemd is None:
            # By timeout(1), which also is there where systemctl is not: the module would end otherwise.
            words = ["timeout", "10", "systemctl", "--version"]
            self._systemd = version_of(self._run_command(words)[1])
        return self._systemd


def unavailable(cause: str) -> Failure:
    """The failure for a sandbox in which not even a trivial program ran."""
    return Failure(
        "sandbox_unavailable",
        f"The sandbox of systemd-run does not work here ({cause}): run the task as root on a host with systemd 249 or newer, or "
        "accept the risk of running generated code with 'sandbox: none'.",
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
