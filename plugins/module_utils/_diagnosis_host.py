# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What a host says of itself and of the processes of one unit: GPUs, memory, disk, kernel, limits."""

from __future__ import annotations

import glob
import os
import re
import shutil

from ansible_collections.llmops.sglang.plugins.module_utils._control_group import members
from ansible_collections.llmops.sglang.plugins.module_utils._redaction import Redaction
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import read_argv, read_environ
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, UnitState

_SECONDS = "10"
_MOST_PROCESSES = 200
_KERNEL_ROWS = "3000"
# Of the kernel's rows, those on memory and on GPUs.
_TELLING = re.compile(
    r"out of memory|oom[-_ ]kill|killed process|NVRM|Xid|nvidia|amdgpu|nvlink|mce:|hardware error", re.IGNORECASE
)
_STATUS = re.compile(r"(?:Name|State|Threads|Vm(?:RSS|HWM|Swap|Lck)|FDSize):.*")
_GPU_TOOLS: tuple[tuple[str, ...], ...] = (
    ("nvidia-smi",),
    ("nvidia-smi", "--query-compute-apps=gpu_uuid,pid,name,used_memory", "--format=csv"),
    ("rocm-smi",),
)


class HostFacts:
    """Asks the host of *manager*; every text that it gives is free of secrets."""

    def __init__(self, manager: Manager, redaction: Redaction, cgroup_root: str = "/sys/fs/cgroup") -> None:
        self._manager, self._redaction, self._cgroup_root = manager, redaction, cgroup_root

    def command(self, *words: str) -> str:
        """What a command prints, under the command itself; it is ended where it hangs."""
        if not shutil.which(words[0]):
            return f"$ {words[0]}: not there\n"
        status, out, err = self._manager.run_command(
            ["timeout", "--kill-after=2", _SECONDS, *words], environ_update=self._manager.command_environ
        )
        said = f"(status {status}) {err.strip()}\n" if status or err.strip() else ""
        return self._redaction.text(f"$ {' '.join(words)}\n{out}{said}")

    def gpus(self) -> str:
        """By the kernel module, and by the tools of the vendors."""
        texts = [self.file(path) for path in sorted(glob.glob("/proc/driver/nvidia/gpus/*/information"))]
        return "\n".join([*texts, *(self.command(*words) for words in _GPU_TOOLS)])

    def memory(self, state: UnitState) -> str:
        """Of the host, and of the unit's control group."""
        group = self._cgroup_root + state.control_group if state.control_group else ""
        names = ("memory.current", "memory.peak", "memory.max", "memory.swap.current", "memory.events", "pids.current")
        own = [self.file(os.path.join(group, name)) for name in names] if group else ["the unit has no control group\n"]
        return "\n".join([self.file("/proc/meminfo"), self.file("/proc/pressure/memory"), *own])

    def system(self) -> str:
        """Release, load and file systems."""
        name = os.uname()
        kernel = f"{name.nodename} {name.sysname} {name.release} {name.machine}\n"
        files = [self.file(path) for path in ("/etc/os-release", "/proc/loadavg", "/proc/uptime")]
        commands = (("systemctl", "--version"), ("df", "-hP"), ("df", "-iP"))
        return "\n".join([kernel, *files, *(self.command(*words) for words in commands)])

    def kernel(self) -> str:
        """What the kernel said of memory and GPUs since it was started."""
        rows = self.command("journalctl", "-k", "-b", "--no-pager", "-o", "short-iso", "-n", _KERNEL_ROWS)
        told = [line[:1000] for line in rows.splitlines() if _TELLING.search(line)]
        return "\n".join(told[-300:] or ["no row on memory or GPUs, or the kernel's rows cannot be read"]) + "\n"

    def listener(self, port: int) -> str:
        """The sockets that listen on *port*, and how many connections it has."""
        listening = self.command("ss", "-H", "-l", "-t", "-n", "-p", f"sport = :{port}")
        connected = self.command("ss", "-H", "-t", "-n", "state", "connected", f"sport = :{port}")
        return f"{listening}\n{max(len(connected.splitlines()) - 1, 0)} connections\n"

    def processes(self, state: UnitState) -> str:
        """The processes of the unit: command line, variables, limits and memory of the main one, a line for each other."""
        pid = state.main_pid
        if not pid:
            return "the unit has no process\n"
        argv, environ = read_argv(pid), read_environ(pid)
        parts = [f"main process {pid}", "", *(self._redaction.words(argv) if argv else ["cannot be read"])]
        parts += ["", "environment", *(self._redaction.environment(environ) if environ else ["cannot be read"])]
        status = [line for line in self.file(f"/proc/{pid}/status").splitlines() if _STATUS.match(line)]
        parts += ["", *status, "", self.file(f"/proc/{pid}/limits")]
        pids = members(state.control_group, self._cgroup_root)
        parts += [f"{len(pids)} processes", *(self._process(one) for one in pids[:_MOST_PROCESSES])]
        return "\n".join(parts) + "\n"

    def _process(self, pid: int) -> str:
        status = dict(line.partition(":")[::2] for line in self.file(f"/proc/{pid}/status").splitlines())
        words = " ".join(self._redaction.words(read_argv(pid) or []))
        memory, state = status.get("VmRSS", "?").strip(), status.get("State", "?").strip()
        return f"{pid} {state} {memory} {words[:300]}"

    def file(self, path: str) -> str:
        """The text of a file under its path."""
        try:
            with open(path, encoding="utf-8", errors="replace") as handle:
                return self._redaction.text(f"# {path}\n{handle.read(256 * 1024)}")
        except OSError as exc:
            return f"# {path}: {exc.strerror}\n"
