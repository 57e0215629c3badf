# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run all checks of the collection and end with plain counts.

Each check is a command; a pytest run counts each of its tests, any other check counts once. What keeps only one core busy
runs beside others.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import typing as t
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field

CLONE = pathlib.Path(__file__).resolve().parent.parent
BUILD = CLONE / ".build"
# ansible-test wants the collection as real folders of these names, and nothing that git does not know.
COLLECTION = pathlib.Path("ansible_collections", "llmops", "sglang")
COPY = BUILD / "copy" / COLLECTION
# Two runs of ansible-test at the same time would write into the same folder of results.
COPY_FOR_PYLINT = BUILD / "copy-pylint" / COLLECTION
# Most tests wait for something: more of them at a time than there are cores.
SIDE_BY_SIDE = ("-n", "4", "--dist", "worksteal")
# What reads files on the controller has no target.
FUZZED_ON_TARGET = ("tests/unit/fuzz", "--ignore-glob=*on_controller*")
TARGET_PYTHONS = ("3.9", "3.10", "3.11", "3.12", "3.13")


@dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    lines: list[str] = field(default_factory=list)

    def add(self, title: str, passed: int, failed: int, seconds: float) -> None:
        self.passed += passed
        self.failed += failed
        self.lines.append(
            f"{'ok  ' if not failed else 'FAIL'} {title}: {passed} passed, {failed} failed, {seconds:.0f} s"
        )


def run(
    title: str, counts: Counts, argv: list[str], cwd: pathlib.Path = CLONE, environ: dict[str, str] | None = None
) -> bool:
    """Run one command that counts as one test."""
    print(f"\n=== {title}", flush=True)
    begun = time.monotonic()
    rc = subprocess.run(argv, cwd=cwd, env={**os.environ, **(environ or {})}, check=False).returncode
    counts.add(title, int(rc == 0), int(rc != 0), time.monotonic() - begun)
    return rc == 0


class Beside:
    """A command that counts as one test and runs beside others; what it says is shown when it has ended."""

    def __init__(self, title: str, argv: list[str], cwd: pathlib.Path, environ: dict[str, str]) -> None:
        self.title, self.begun = title, time.monotonic()
        self.output = BUILD / f"{re.sub('[^a-z]+', '-', title)}.log"
        with self.output.open("wb") as sink:
            self.process = subprocess.Popen(
                argv,
                cwd=cwd,
                env={**os.environ, **environ},
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
            )

    def count(self, counts: Counts) -> None:
        """Wait for its end."""
        rc = self.process.wait()
        print(f"\n=== {self.title}\n{self.output.read_text(errors='replace')}", flush=True)
        counts.add(self.title, int(rc == 0), int(rc != 0), time.monotonic() - self.begun)

    def __enter__(self) -> Beside:
        return self

    def __exit__(self, *dummy: object) -> None:
        # An interrupt ends it in the same way as what runs in front.
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait()


def run_pytest(
    title: str, counts: Counts, paths: list[str], python: str = sys.executable, extra: t.Sequence[str] = ()
) -> None:
    """Run pytest on *paths*; a run that collects nothing counts as failed."""
    print(f"\n=== {title}", flush=True)
    report = BUILD / f"junit-{re.sub('[^a-z0-9.]+', '-', title.lower())}.xml"
    report.unlink(missing_ok=True)
    begun = time.monotonic()
    # The tests' hosts go away with the process that they belong to, however it ends.
    rc = subprocess.run(
        [python, "-m", "pytest", "-q", f"--junit-xml={report}", *extra, *paths], cwd=CLONE, check=False
    ).returncode
    passed = failed = 0
    if report.exists():
        for suite in ET.parse(report).getroot().iter("testsuite"):
            number = {key: int(suite.get(key, "0")) for key in ("tests", "failures", "errors", "skipped")}
            # There are no tests that may be left out: a skipped one counts as failed.
            failed += number["failures"] + number["errors"] + number["skipped"]
            passed += number["tests"] - number["failures"] - number["errors"] - number["skipped"]
    if rc != 0 and not failed:
        failed = 1
    counts.add(title, passed, failed, time.monotonic() - begun)


def working_pythons() -> dict[str, str]:
    """Interpreters by version that start; a pyenv shim of a version that is not enabled does not."""
    found = {}
    for version in TARGET_PYTHONS:
        roots = sorted(
            pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"), "versions").glob(f"{version}.*")
        )
        for candidate in [
            *(str(root / "bin" / f"python{version}") for root in roots),
            shutil.which(f"python{version}") or "",
        ]:
            if candidate and subprocess.run([candidate, "-c", ""], capture_output=True, check=False).returncode == 0:
                found[version] = candidate
                break
    return found


def copy_tree() -> None:
    for copy in (COPY, COPY_FOR_PYLINT):
        shutil.rmtree(copy.parents[2], ignore_errors=True)
    names = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=CLONE, check=True, capture_output=True, text=True
    ).stdout.split("\0")
    for name in filter(None, names):
        source = CLONE / name
        if source.is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, COPY / name, follow_symlinks=False)
    # A work tree of its own: within the clone's, which ignores this folder, ansible-test would find nothing to test.
    for words in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=COPY, check=True, capture_output=True)
    shutil.copytree(COPY, COPY_FOR_PYLINT, symlinks=True)


def static_checks(counts: Counts) -> None:
    run("ruff format", counts, ["ruff", "format", "--check", "-q", "."])
    run("ruff check", counts, ["ruff", "check", "-q", "."])
    run("yamllint", counts, ["yamllint", "-s", "."])
    run("ansible-lint", counts, ["ansible-lint", "--offline", "--profile", "production", "-q"])
    run("changelog", counts, ["antsibull-changelog", "lint"])
    docs = [
        "antsibull-docs",
        "lint-collection-docs",
        "--plugin-docs",
        "--skip-rstcheck",
        "--validate-collection-refs",
        "all",
    ]
    run("documentation", counts, [*docs, "--check-extra-docs-refs", "."], cwd=COPY)


def sanity(title: str, copy: pathlib.Path, *words: str) -> tuple[str, list[str], pathlib.Path, dict[str, str]]:
    """What runs ansible-test's sanity tests in a copy: title, command, directory and environment."""
    # Without the shims: ansible-test stops at the first interpreter that does not start.
    folders = [
        str(pathlib.Path(sys.executable).parent),
        *(str(pathlib.Path(p).parent) for p in reversed(working_pythons().values())),
    ]
    path = os.pathsep.join([*folders, "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"])
    environ = {
        "PATH": path,
        "ANSIBLE_COLLECTIONS_PATH": str(copy.parents[2]),
        "ANSIBLE_CONFIG": str(BUILD / "none.cfg"),
    }
    return title, ["ansible-test", "sanity", "--local", "--color", "no", *words], copy, environ


def ansible_test(counts: Counts) -> None:
    title, argv, copy, environ = sanity("ansible-test sanity", COPY, "--skip-test", "pylint")
    run(title, counts, argv, cwd=copy, environ=environ)


def unit_tests(counts: Counts) -> None:
    run_pytest("unit tests", counts, ["tests/unit"], extra=SIDE_BY_SIDE)
    # The oldest target is where code breaks; "make test-long" runs them all.
    for version, python in list(working_pythons().items())[:1]:
        run_pytest_on_target(version, python, counts)


def run_pytest_on_target(version: str, python: str, counts: Counts, more: t.Sequence[str] = ()) -> None:
    """The module code's own tests under a Python that a target may have; the environment is kept between runs."""
    lock = CLONE / "tests" / "setup" / "target.lock"
    key = f"target-{version}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"
    venv = pathlib.Path(os.environ["LLMOPS_SGLANG_CACHE"]) / key
    if not (venv / ".complete").exists():
        shutil.rmtree(venv, ignore_errors=True)
        subprocess.run([python, "-m", "venv", str(venv)], check=True)
        install = [str(venv / "bin/python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        subprocess.run([*install, "-r", str(lock)], check=True)
        (venv / ".complete").touch()
    tests = ["tests/unit/plugins/module_utils", "tests/unit/plugins/modules", *more]
    title = f"unit tests of module code, Python {version}"
    run_pytest(title, counts, tests, python=str(venv / "bin/python"), extra=SIDE_BY_SIDE)


def fuzz(counts: Counts) -> None:
    """Other examples each time, and far more of them than the share that is among the unit tests."""
    os.environ["FUZZ"] = "long"
    run_pytest("fuzzing", counts, ["tests/unit/fuzz"], extra=SIDE_BY_SIDE)
    del os.environ["FUZZ"]


def package_checks(counts: Counts) -> None:
    """Build, install, and use the playbooks by their full names, with nothing of the clone in reach."""
    target = BUILD / "installed"
    shutil.rmtree(target, ignore_errors=True)
    if not run(
        "galaxy build",
        counts,
        ["ansible-galaxy", "collection", "build", "--force", "--output-path", str(BUILD)],
        cwd=COPY,
    ):
        return
    tarball = max(BUILD.glob("llmops-sglang-*.tar.gz"), key=lambda p: p.stat().st_mtime)
    install = ["ansible-galaxy", "collection", "install", str(tarball), "-p", str(target), "--force", "--offline"]
    run("galaxy install", counts, install)
    environ = {"ANSIBLE_COLLECTIONS_PATH": str(target), "ANSIBLE_CONFIG": str(BUILD / "none.cfg")}
    for playbook in sorted((CLONE / "playbooks").glob("*.yml")):
        name = f"llmops.sglang.{playbook.stem}"
        argv = ["ansible-playbook", "--syntax-check", "-i", "localhost,", name]
        run(f"{name} after install", counts, argv, cwd=BUILD, environ=environ)


def integration(counts: Counts) -> None:
    reason = subprocess.run(
        [sys.executable, "tests/hosts/can_boot.py"], cwd=CLONE, capture_output=True, text=True, check=False
    )
    if reason.returncode != 0:
        print(f"Test hosts cannot be booted: {reason.stdout.strip() or reason.stderr.strip()}")
        counts.add("test hosts", 0, 1, 0)
        return
    owner = {"HOSTS_OWNER_PID": str(os.getpid())}
    missing = [sys.executable, "tests/integration/other_versions.py"]
    for pair in subprocess.run(missing, cwd=CLONE, capture_output=True, text=True, check=True).stdout.splitlines():
        counts.lines.append(f"version matrix: NOT RUN: {pair}")
    with Beside("molecule", ["molecule", "test", "-s", "default"], CLONE, owner) as molecule:
        run_pytest("integration tests", counts, ["tests/integration"], extra=SIDE_BY_SIDE)
        molecule.count(counts)


def real_lane(counts: Counts, wanted: bool) -> str:
    """Run the tests on the real servers; returns why they did not run, or an empty string."""
    check = [sys.executable, "tests/real/install.py", "--check"]
    there = subprocess.run(check, cwd=CLONE, capture_output=True, text=True, check=False)
    if there.returncode != 0:
        if not wanted:
            return f"{' '.join(there.stdout.split()) or 'its cache is not there'}; FULL=1 installs it"
        if not run("install the real servers", counts, [sys.executable, "tests/real/install.py"]):
            return "the real servers could not be installed"
    run_pytest("real lane", counts, ["tests/real"], extra=["-v", "--durations=0"])
    return ""


def all_but_real(counts: Counts, only: list[str]) -> None:
    steps: dict[str, t.Callable[[Counts], None]] = {
        "static": static_checks,
        "package": package_checks,
        "sanity": ansible_test,
        "unit": unit_tests,
        "integration": integration,
    }
    wanted = [name for name in steps if not only or name in only]
    with contextlib.ExitStack() as stack:
        # As long as all that comes before the unit tests, and on one core as they are.
        pylint = sanity("ansible-test sanity, pylint", COPY_FOR_PYLINT, "--test", "pylint")
        beside = [stack.enter_context(Beside(*pylint))] if "sanity" in wanted else []
        for name in wanted:
            steps[name](counts)
            if name == "sanity":
                beside[0].count(counts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", choices=["static", "sanity", "unit", "package", "integration", "real"], action="append"
    )
    parser.add_argument("--long", action="store_true", help="run what is too long for every day instead")
    options = parser.parse_args()
    # A closed terminal or a cancelled job must end the tests in the same orderly way as Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # In the background of a script it is ignored, and so it would be by all that the tests start and interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    BUILD.mkdir(exist_ok=True)
    counts, only = Counts(), options.only or []
    full = os.environ.get("FULL") == "1"
    begun = time.monotonic()
    if options.long:
        for version, python in working_pythons().items():
            run_pytest_on_target(version, python, counts, FUZZED_ON_TARGET)
        fuzz(counts)
        run_pytest("long tests", counts, ["tests/long", "tests/perf", "tests/tools"])
    else:
        copy_tree()
        all_but_real(counts, only)
    reason = "" if options.long or (only and "real" not in only) else real_lane(counts, full)
    print(f"\n=== all checks, {time.monotonic() - begun:.0f} s")
    print("\n".join(counts.lines))
    if reason:
        print(f"real lane: NOT RUN ({reason})")
        if only:
            counts.failed += 1
    print(f"{counts.passed} passed, {counts.failed} failed")
    return 1 if counts.failed or not counts.passed else 0


if __name__ == "__main__":
    sys.exit(main())
