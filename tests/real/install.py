# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs the real servers of the real lane and of the demo into a cache outside the clone.

    install.py [--only NAME ...]    install what is missing
    install.py --check              say what is there; exit status 1 when something is missing
    install.py --plan               say what would be fetched, and what is in the way; exit status 1 when something is

Needs nothing but Python's standard library, because it runs before any environment exists. An environment counts
as complete when its stamp, written last, carries the hash of its requirements; an interrupted one is made anew, from
the files that pip has in its own cache.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements"
PYTHON_VERSION = "3.11"
PROGRESS_SECONDS = 5
# A CUDA build of torch weighs 800 MB and more, a CPU build 200 MB.
LARGEST_CPU_TORCH_MB = 400


@dataclass(frozen=True)
class Step:
    """One run of pip (or of the maker of a model): what it is called, and its words."""

    title: str
    words: tuple[str, ...]
    requirements: tuple[str, ...] = ()

    def packages(self) -> int:
        return sum(len(requirement_lines(name)) for name in self.requirements)


@dataclass(frozen=True)
class Environment:
    """One environment: its pip steps, an import that proves it, its measured size in MB with a CPU build of torch."""

    name: str
    steps: tuple[Step, ...]
    proof: str
    fetch_mb: int
    disk_mb: int
    torch: bool = True


def pip_step(title: str, name: str, *words: str) -> Step:
    return Step(title, ("-m", "pip", "install", "--no-color", *words, "-r", str(REQUIREMENTS / f"{name}.txt")), (name,))


ENVIRONMENTS = {
    env.name: env
    for env in (
        Environment(
            "sglang-0.5.15.post1",
            (pip_step("torch", "torch"), pip_step("sglang", "sglang-0.5.15.post1", "--no-deps")),
            "import torch, triton, transformers; from importlib.metadata import version; version('sglang')",
            500,
            2300,
        ),
        Environment(
            "sglang-0.5.23",
            (
                pip_step("torch", "torch"),
                pip_step("dependencies", "sglang-0.5.23"),
                pip_step("sglang", "sglang-0.5.23-alone", "--no-deps"),
            ),
            "import torch, triton, transformers; from importlib.metadata import version; version('sglang')",
            525,
            2300,
        ),
        Environment(
            "llama-cpp",
            (
                pip_step("llama.cpp", "llama-cpp"),
                Step("model", (str(HERE / "make_gguf.py"), "{env}/model.gguf")),
            ),
            "import xllamacpp",
            60,
            200,
            torch=False,
        ),
    )
}


class InstallError(Exception):
    """Something is missing, or a step ended badly; the message says what to do."""


# --- where things lie


def cache_directory() -> Path:
    """The cache: $LLMOPS_SGLANG_CACHE, else llmops-sglang in the user's cache directory; the servers in real/ below."""
    base = os.environ.get("LLMOPS_SGLANG_CACHE")
    if base:
        return Path(base).expanduser().absolute() / "real"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "llmops-sglang" / "real"


def interpreter(name: str) -> Path:
    """The Python interpreter of an environment (whether it is there or not)."""
    return cache_directory() / name / "bin" / "python"


def requirement_lines(name: str) -> list[str]:
    text = (REQUIREMENTS / f"{name}.txt").read_text()
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def wanted_stamp(env: Environment) -> str:
    """The hash of all that decides what is in an environment."""
    parts = [PYTHON_VERSION, env.proof]
    for step in env.steps:
        parts.append(step.title)
        for name in step.requirements:
            parts.extend(requirement_lines(name))
    if not env.torch:
        parts.append((HERE / "make_gguf.py").read_text())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def is_complete(env: Environment) -> bool:
    directory = cache_directory() / env.name
    try:
        return (directory / "complete").read_text().strip() == wanted_stamp(env) and interpreter(env.name).exists()
    except OSError:
        return False


# --- what is needed before anything starts


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
    missing = [name for name in names if not is_complete(ENVIRONMENTS[name])]
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
    with_torch = [name for name in missing if ENVIRONMENTS[name].torch]
    if python and with_torch:
        try:
            torch = find_torch(python)
        except InstallError as error:
            problems.append(str(error))
    cuda = bool(torch and torch.cuda)
    # pip's cache gives the second environment the files of the first.
    fetch_mb = max((ENVIRONMENTS[name].fetch_mb for name in missing), default=0) + (CUDA_FETCH_MB if cuda else 0)
    fetch_mb += sum(ENVIRONMENTS[name].fetch_mb for name in missing) // 4 if len(missing) > 1 else 0
    disk_mb = sum(ENVIRONMENTS[name].disk_mb for name in missing) + (CUDA_DISK_MB * len(with_torch) if cuda else 0)
    if free_mb < disk_mb + fetch_mb:
        problems.append(
            f"space: {(disk_mb + fetch_mb) / 1000:.1f} GB are needed below {cache_directory()} while it installs, "
            f"{free_mb / 1000:.1f} GB are free (set LLMOPS_SGLANG_CACHE to a directory with more)"
        )
    return Plan(tuple(missing), python, torch, fetch_mb, disk_mb, free_mb, tuple(problems))


# --- installing


class Progress:
    """Prints what is going on, at least every few seconds while a step runs: one plain line each."""

    def __init__(self, env: Environment, directory: Path) -> None:
        self.env, self.directory, self.start = env, directory, time.monotonic()
        self.doing = ""
        self.fetched = 0
        self.expected = sum(step.packages() for step in env.steps)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def say(self, text: str) -> None:
        print(f"[{time.monotonic() - self.start:4.0f} s] {self.env.name}: {text}", flush=True)

    def line(self) -> str:
        installed = len(list(self.directory.glob("lib/python*/site-packages/*.dist-info")))
        return (
            f"{self.doing}; {self.fetched} packages fetched, {installed} of about {max(self.expected + 2, installed)} installed, "
            f"{megabytes(self.directory)} MB on disk"
        )

    def _run(self) -> None:
        while not self._stop.wait(PROGRESS_SECONDS):
            self.say(self.line())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()


def megabytes(directory: Path) -> int:
    """What a tree takes on disk; files that vanish meanwhile count nothing."""
    total, pending = 0, [str(directory)]
    while pending:
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    with contextlib.suppress(OSError):
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
    return total // 1_000_000


@contextlib.contextmanager
def lock(env: Environment):
    """Hold the environment's lock. pip inherits it, so that one left over by a killed installer is waited for too."""
    path = cache_directory() / f"{env.name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"{env.name}: another installation is running; waiting for it.", flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle.fileno()


FETCHED = re.compile(r"\s*(Downloading \S+\.(whl|tar\.gz) |Using cached \S+\.whl |Processing \S+\.whl)")


def run_step(words: list[str], progress: Progress, log: Path, directory: Path, lock_fd: int) -> None:
    """Run one step, its output into the log, and count what pip says it fetched. Raises InstallError."""
    scratch = directory / "tmp"
    scratch.mkdir(exist_ok=True)
    # Progress bars off and quiet undone: what pip prints is read here. TMPDIR: /tmp may be small, and its files count.
    environ = {**os.environ, "PIP_PROGRESS_BAR": "off", "PIP_QUIET": "0", "PIP_NO_INPUT": "1", "TMPDIR": str(scratch)}
    environ.pop("PYTHONPATH", None)
    with log.open("a") as sink:
        process = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            env=environ,
            pass_fds=(lock_fd,),
        )
        assert process.stdout is not None
        last = ""
        try:
            for line in process.stdout:
                sink.write(line)
                last = line.strip() or last
                progress.fetched += bool(FETCHED.match(line))
            status = process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise
    shutil.rmtree(scratch, ignore_errors=True)
    if status != 0:
        raise InstallError(f"step '{progress.doing}' ended with status {status}: {last} (all of it: {log})")


def install(env: Environment, python: Path) -> None:
    """Make one environment, unless somebody else just did. Raises InstallError."""
    directory = cache_directory() / env.name
    with lock(env) as lock_fd:
        if is_complete(env):
            print(f"{env.name}: complete in {directory}", flush=True)
            return
        # Begun anew, not taken up: pip takes a half-written package for an installed one.
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        log = directory / "install.log"
        own = str(interpreter(env.name))
        steps = [("venv", [str(python), "-m", "venv", str(directory)])]
        steps += [(step.title, [own, *(word.format(env=directory) for word in step.words)]) for step in env.steps]
        steps.append(("proof", [own, "-c", env.proof]))
        with Progress(env, directory) as progress:
            for number, (title, words) in enumerate(steps, start=1):
                progress.doing = f"step {number} of {len(steps)} ({title})"
                progress.say(progress.doing)
                run_step(words, progress, log, directory, lock_fd)
            progress.say(progress.line())
            (directory / "complete.new").write_text(wanted_stamp(env) + "\n")
            (directory / "complete.new").replace(directory / "complete")
            progress.say(f"complete in {directory}")


def raise_interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(ENVIRONMENTS), default=list(ENVIRONMENTS), metavar="NAME")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="say what is there; exit status 1 when something is missing")
    what.add_argument("--plan", action="store_true", help="say what would be fetched and what is in the way")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, raise_interrupt)
    if arguments.check:
        for name in arguments.only:
            state = "complete" if is_complete(ENVIRONMENTS[name]) else "missing or incomplete"
            print(f"{name}: {state} ({cache_directory() / name})")
        return int(not all(is_complete(ENVIRONMENTS[name]) for name in arguments.only))
    plan = make_plan(arguments.only)
    print("\n".join(plan.lines()), flush=True)
    if plan.problems or arguments.plan or not plan.missing:
        return int(bool(plan.problems))
    assert plan.python is not None
    try:
        for name in plan.missing:
            install(ENVIRONMENTS[name], plan.python)
    except InstallError as error:
        print(f"install.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("install.py: interrupted; the next run begins the environment anew from pip's cache.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
