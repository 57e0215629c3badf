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
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from install_plan import InstallError, make_plan
from install_progress import Progress
from real_servers import ENVIRONMENTS, EVERY, Environment, cache_directory, interpreter, is_complete, wanted_stamp


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
    parser.add_argument("--only", nargs="+", choices=list(EVERY), default=list(ENVIRONMENTS), metavar="NAME")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="say what is there; exit status 1 when something is missing")
    what.add_argument("--plan", action="store_true", help="say what would be fetched and what is in the way")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, raise_interrupt)
    if arguments.check:
        for name in arguments.only:
            state = "complete" if is_complete(EVERY[name]) else "missing or incomplete"
            print(f"{name}: {state} ({cache_directory() / name})")
        return int(not all(is_complete(EVERY[name]) for name in arguments.only))
    plan = make_plan(arguments.only)
    print("\n".join(plan.lines()), flush=True)
    if plan.problems or arguments.plan or not plan.missing:
        return int(bool(plan.problems))
    assert plan.python is not None
    try:
        for name in plan.missing:
            install(EVERY[name], plan.python)
    except InstallError as error:
        print(f"install.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("install.py: interrupted; the next run begins the environment anew from pip's cache.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
