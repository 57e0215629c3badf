# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an installation of the real servers would fetch and need, and what is in its way."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from real_servers import EVERY, PYTHON_VERSION, cache_directory, is_complete, requirement_lines

# A CUDA build of torch weighs 800 MB and more, a CPU build 200 MB.
LARGEST_CPU_TORCH_MB = 400


class InstallError(Exception):
    """Something is missing, or a step ended badly; the message says what to do."""


def find_python() -> Path | None:
    """A Python 3.11 that can make environments: from PATH, pyenv's directory, or the running one."""
    found = [shutil.which(f"python{PYTHON_VERSION}", path=path) for path in ("/usr/local/bin:/usr/bin", None)]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    candidates = [Path(path) for path in found if path]
    candidates += sorted(pyenv.glob(f"versions/{PYTHON_VERSION}.*/bin/python{PYTHON_VERSION}"), reverse=True)
    candidates.append(Path(sys.executable))
    check = f"import ensurepip, venv, sys; assert sys.version_info[:2] == {tuple(map(int, PYTHON_VERSION.split('.')))}"
    for candidate in candidates:
        with contextlib.suppress(OSError):
            if subprocess.run([candidate, "-c", check], capture_output=True, check=False).returncode == 0:
                return candidate
    return None


def existing_parent(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path


@dataclass(frozen=True)
class TorchBuild:
    """What pip finds for torch: the file's name, whether it is a CUDA build, and its size where pip told it."""

    file: str
    cuda: bool
    megabytes: float | None


def find_torch(python: Path) -> TorchBuild:
    """Ask pip which torch it would take. A large file is recognised by its first line, and its download cut short."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        words = ["--dry-run", "--no-deps", "--ignore-installed", "--no-color", "--progress-bar", "off"]
        words += ["--report", str(report), *requirement_lines("torch")]
        environ = {**os.environ, "TMPDIR": scratch, "PIP_NO_INPUT": "1", "PIP_QUIET": "0"}
        process = subprocess.Popen(
            # The system's own Python may come without pip, as Debian's does.
            [sys.executable, "-m", "pip", "--python", str(python), "install", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environ,
            start_new_session=True,
        )
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line.strip())
            match = re.search(r"Downloading \S*?(torch-\S+\.whl) \(([\d.]+) (kB|MB|GB)\)", line)
            if match:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                size = float(match[2]) * {"kB": 0.001, "MB": 1, "GB": 1000}[match[3]]
                return TorchBuild(match[1], "+cpu" not in match[1] and size > LARGEST_CPU_TORCH_MB, size)
        if process.wait() != 0 or not report.exists():
            raise InstallError(f"pip finds no {requirement_lines('torch')[0]}: {' | '.join(lines[-3:])}")
        found = json.loads(report.read_text())["install"][0]
        needs = found["metadata"].get("requires_dist") or []
        file = found["download_info"]["url"].rsplit("/", 1)[-1].replace("%2B", "+")
        return TorchBuild(file, any(need.startswith(("nvidia-", "cuda-")) for need in needs), None)


@dataclass(frozen=True)
class Plan:
    """What an installation would do: the missing environments, sizes in MB, and everything that is in the way."""

    missing: tuple[str, ...]
    python: Path | None
    torch: TorchBuild | None
    fetch_mb: int
    disk_mb: int
    free_mb: int
    problems: tuple[str, ...]

    def lines(self) -> list[str]:
        if not self.missing:
            return [f"Everything is installed in {cache_directory()}."]
        lines = [f"To install: {', '.join(self.missing)}, into {cache_directory()}."]
        if self.torch:
            kind = "a CUDA build (pip takes a CPU build where its configuration shows it one)"
            lines.append(f"pip finds torch as {self.torch.file}, {kind if self.torch.cuda else 'a CPU build'}.")
        size = f"about {self.fetch_mb / 1000:.1f} GB to fetch and {self.disk_mb / 1000:.1f} GB on disk"
        lines.append(f"That is {size}; {self.free_mb / 1000:.1f} GB are free. Python: {self.python or 'none found'}.")
        return lines + [f"MISSING: {problem}" for problem in self.problems]


# What a CUDA build of torch adds to each environment on x86_64, estimated from the sizes of its wheels.
CUDA_FETCH_MB, CUDA_DISK_MB = 2700, 5000


def make_plan(names: list[str]) -> Plan:
    """Look at the cache, the disk, Python and pip; fetches nothing that lasts."""
    # One that lies over another needs that first.
    wanted = dict.fromkeys(one for name in names for one in (EVERY[name].over, name) if one)
    missing = [name for name in wanted if not is_complete(EVERY[name])]
    free_mb = shutil.disk_usage(existing_parent(cache_directory())).free // 1_000_000
    if not missing:
        return Plan((), None, None, 0, 0, free_mb, ())
    problems = []
    python = find_python()
    if python is None:
        problems.append(
            f"Python {PYTHON_VERSION} with venv and ensurepip (Debian 12: package python3.11-venv; elsewhere pyenv)"
        )
    torch = None
    with_torch = [name for name in missing if EVERY[name].torch]
    if python and with_torch:
        try:
            torch = find_torch(python)
        except InstallError as error:
            problems.append(str(error))
    cuda = bool(torch and torch.cuda)
    # pip's cache gives the second environment the files of the first; those over another share none.
    whole = [EVERY[name].fetch_mb for name in missing if not EVERY[name].over]
    fetch_mb = max(whole, default=0) + (CUDA_FETCH_MB if cuda else 0) + (sum(whole) // 4 if len(whole) > 1 else 0)
    fetch_mb += sum(EVERY[name].fetch_mb for name in missing if EVERY[name].over)
    disk_mb = sum(EVERY[name].disk_mb for name in missing) + (CUDA_DISK_MB * len(with_torch) if cuda else 0)
    if free_mb < disk_mb + fetch_mb:
        problems.append(
            f"space: {(disk_mb + fetch_mb) / 1000:.1f} GB are needed below {cache_directory()} while it installs, "
            f"{free_mb / 1000:.1f} GB are free (set LLMOPS_SGLANG_CACHE to a directory with more)"
        )
    return Plan(tuple(missing), python, torch, fetch_mb, disk_mb, free_mb, tuple(problems))
