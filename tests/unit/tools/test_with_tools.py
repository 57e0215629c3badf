# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is installed before the first test or demo, and what is in its way: with stand-ins for apt, dpkg, sudo and Python."""

from __future__ import annotations

import fcntl
import os
import pathlib
import pty
import shutil
import stat
import subprocess

import pytest

SETUP = pathlib.Path(__file__).parents[2] / "setup"

# Each says in the log how it was called, and does what the world's files say.
STAND_INS = {
    "dpkg-query": 'case "$*" in *shellcheck*) [ -e "$WORLD/installed" ] && printf installed ;; *) printf installed ;; esac',
    "dpkg": ":",
    "apt-get": 'if [ "$1" = update ]; then exit "$(cat "$WORLD/update" 2>/dev/null || echo 0)"; fi; touch "$WORLD/installed"',
    "id": 'if [ "$*" = -u ]; then cat "$WORLD/uid"; else exec /usr/bin/id "$@"; fi',
    "chown": ":",
    "getent": 'echo "person:x:1000:1000::$(cat "$WORLD/account"):/bin/sh"',
    "stat": 'if [ -e "$WORLD/owner" ]; then cat "$WORLD/owner"; else exec /usr/bin/stat "$@"; fi',
    "sudo": """
quiet=
case $1 in -n) quiet=1; shift ;; esac
rule=$(cat "$WORLD/sudo" 2>/dev/null || echo refused)
[ "$rule" != password ] || { [ -z "$quiet" ] && read -r -p "${2:-password: }" answer && [ "$answer" = secret ] && rule=free && echo free >"$WORLD/sudo"; }
[ "$rule" = free ] || { echo "sudo: a password is required" >&2; exit 1; }
case $1 in -v) exit 0 ;; --) shift ;; esac
exec "$@"
""",
    "python3.13": """
case "$*" in
    *sys.executable*) echo "$0" ;;
    *hashlib*) echo 3.13-0123456789ab ;;
    *"-m venv"*)
        mkdir -p "$3/bin"; cp "$0" "$3/bin/python"
        # A lock that is held while this runs tells a second installer.
        touch "$3/half" ;;
    *"-m pip"*) exit "$(cat "$WORLD/pip" 2>/dev/null || echo 0)" ;;
    *ansible_test_pip_version*) echo 99.9 ;;
esac
""",
}


class World:
    """A clone in a folder with a space, and a machine made of stand-ins; LOG holds the calls in their order."""

    def __init__(self, place: pathlib.Path) -> None:
        self.place, self.home, self.clone = place / "world", place / "a home", place / "a clone"
        self.bin = self.place / "bin"
        for folder in (self.bin, self.home, self.clone / "tests"):
            folder.mkdir(parents=True)
        shutil.copytree(SETUP, self.clone / "tests" / "setup")
        (self.clone / "tests" / "setup" / "packages.txt").write_text("# Two of them.\npython3\nshellcheck\n")
        (self.place / "uid").write_text("1000")
        (self.place / "installed").touch()
        for name, body in STAND_INS.items():
            program = self.bin / name
            program.write_text(
                '#!/bin/bash\n[ "$*" = "-n true" ] || echo "$(basename "$0") $*" >>"$WORLD/log"\n' + body + "\n"
            )
            program.chmod(0o755)

    def set(self, **files: object) -> None:
        for name, text in files.items():
            (self.place / name).write_text(str(text))

    def remove(self, name: str) -> None:
        (self.place / name).unlink()

    @property
    def calls(self) -> list[str]:
        log = self.place / "log"
        return log.read_text().splitlines() if log.exists() else []

    def environ(self, **more: str) -> dict[str, str]:
        environ = {"PATH": f"{self.bin}:/usr/bin:/bin", "WORLD": str(self.place), "HOME": str(self.home), **more}
        return {name: value for name, value in environ.items() if value != "UNSET"}

    def words(self, *command: str) -> list[str]:
        return ["bash", "tests/setup/with_tools.sh", *(command or ("true",))]

    def run(self, *command: str, **environ: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            self.words(*command), cwd=self.clone, env=self.environ(**environ), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def test_the_first_run_installs_the_tools_and_the_second_only_looks(world):
    first = world.run("sh", "-c", "echo $LLMOPS_SGLANG_CACHE; command -v python")
    assert first.returncode == 0, first.stderr
    cache = world.home / ".cache" / "llmops-sglang"
    assert first.stdout.splitlines()[-2:] == [str(cache), str(cache / "tools-3.13-0123456789ab/bin/python")]
    assert any("-m pip install" in call for call in world.calls)
    world.remove("log")
    second = world.run()
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    assert not [call for call in world.calls if "pip install" in call or call.startswith(("sudo", "apt-get"))]


def test_the_site_of_the_documentation_has_an_environment_of_its_own(world):
    made = world.run("sh", "-c", "command -v python", LLMOPS_SGLANG_TOOLS="docs")
    cache = world.home / ".cache" / "llmops-sglang"
    assert made.stdout.splitlines()[-1] == str(cache / "docs-3.13-0123456789ab/bin/python"), made.stderr
    assert any(call.endswith("docs.lock") for call in world.calls)
    assert not list(cache.glob("tools-*")) and not (world.home / ".ansible" / "test").exists()


def test_tools_whose_installation_broke_off_are_installed_anew(world):
    world.set(pip=1)
    broken = world.run()
    assert broken.returncode != 0
    assert "run the same again" in broken.stderr
    world.remove("pip")
    mended = world.run()
    assert mended.returncode == 0, mended.stderr
    assert "Installing the Python tools" in mended.stdout


def test_tools_whose_python_is_gone_are_installed_anew(world):
    assert world.run().returncode == 0
    (python,) = world.home.glob(".cache/llmops-sglang/tools-*/bin/python")
    python.unlink()
    python.symlink_to("/nowhere/python3.13")
    mended = world.run()
    assert mended.returncode == 0, mended.stderr
    assert "Installing the Python tools" in mended.stdout


def test_a_second_installer_says_that_it_waits(world):
    cache = world.home / ".cache" / "llmops-sglang"
    cache.mkdir(parents=True)
    with (cache / "tools.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        words = ["timeout", "60", *world.words()]
        process = subprocess.Popen(words, cwd=world.clone, env=world.environ(), stdout=subprocess.PIPE, text=True)
        assert "waiting for" in process.stdout.readline()
        fcntl.flock(lock, fcntl.LOCK_UN)
        assert process.wait(timeout=60) == 0


def test_missing_packages_are_installed_with_sudo_and_that_is_said(world):
    world.remove("installed")
    world.set(sudo="free")
    done = world.run()
    assert done.returncode == 0, done.stderr
    assert "with sudo" in done.stdout
    assert "shellcheck" in done.stdout
    apt = [call for call in world.calls if call.startswith(("apt-get", "dpkg "))]
    # What an earlier run left half-configured is finished first; another apt at work is waited for.
    assert apt[0] == "dpkg --configure -a"
    assert apt[1].startswith("apt-get update")
    assert "DPkg::Lock::Timeout" in apt[2]
    assert apt[2].endswith(" shellcheck")


def test_root_asks_for_no_sudo(world):
    world.remove("installed")
    world.set(uid=0)
    done = world.run()
    assert done.returncode == 0, done.stderr
    assert "with sudo" not in done.stdout
    assert not [call for call in world.calls if call.startswith("sudo")]


def test_package_lists_that_cannot_be_renewed_do_not_end_it(world):
    world.remove("installed")
    world.set(sudo="free", update=100)
    done = world.run()
    assert done.returncode == 0, done.stderr
    assert "Note: the package lists could not be renewed" in done.stderr


def test_a_password_is_asked_for_at_a_terminal_with_the_reason(world):
    world.remove("installed")
    world.set(sudo="password")
    leader, terminal = pty.openpty()
    process = subprocess.Popen(
        ["timeout", "--foreground", "60", *world.words()], cwd=world.clone, env=world.environ(), stdin=terminal, stdout=terminal, stderr=terminal,
        start_new_session=True,
    )  # fmt: skip
    os.close(terminal)
    os.write(leader, b"secret\n")
    said = b""
    try:
        while chunk := os.read(leader, 4096):
            said += chunk
    except OSError:
        pass  # the terminal closes with its last process
    os.close(leader)
    assert process.wait(timeout=60) == 0, said
    assert b"shellcheck" in said
    assert any(call.startswith("apt-get") and call.endswith("shellcheck") for call in world.calls)


@pytest.mark.parametrize("rule", ["password", "refused"])
def test_without_root_and_terminal_the_packages_are_named_and_it_goes_on(world, rule):
    world.remove("installed")
    world.set(sudo=rule)
    done = world.run()
    assert done.returncode == 0, done.stderr
    assert "cannot be installed: shellcheck" in done.stderr
    assert not [call for call in world.calls if call.startswith("apt-get")]


@pytest.mark.parametrize("home", ["/proc/nowhere", "/proc"])
def test_a_home_that_cannot_be_written_is_replaced_and_that_is_said(world, home):
    done = world.run("sh", "-c", "echo $HOME; echo $LLMOPS_SGLANG_CACHE", HOME=home)
    assert done.returncode == 0, done.stderr
    own = world.clone / ".build" / "home"
    assert done.stdout.splitlines()[-2:] == [str(own), str(own / ".cache" / "llmops-sglang")]
    assert f"Note: the home directory '{home}' cannot be written" in done.stderr


@pytest.mark.parametrize("home", ["UNSET", ""])
def test_without_home_in_the_environment_it_is_that_of_the_account(world, home):
    world.set(account=world.home)
    done = world.run("sh", "-c", "echo $HOME", HOME=home)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == str(world.home)


def test_the_language_and_paths_of_the_caller_do_not_count(world):
    """A LANG that is not installed here ends ansible; CDPATH and PYTHONPATH lead elsewhere; umask hides from test hosts."""
    (world.home / "tests" / "setup").mkdir(parents=True)
    words = ["sh", "-c", "umask; echo ${PYTHONPATH-none}; echo $LC_ALL; mkdir -p made"]
    os_umask = os.umask(0o077)
    try:
        done = world.run(
            *words, LANG="xx_YY.UTF-8", LC_ALL="C", CDPATH=str(world.home), PYTHONPATH="/nowhere", PIP_USER="1"
        )
    finally:
        os.umask(os_umask)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-3:] == ["0022", "none", "C.UTF-8"]
    assert stat.S_IMODE((world.clone / "made").stat().st_mode) == 0o755


def test_what_a_run_as_root_left_in_the_clone_is_taken_back(world):
    """Only root can give files away, so here the stand-ins say that the caller and the clone are of another user."""
    (world.clone / ".build" / "copy").mkdir(parents=True)
    foreign = world.clone / ".build" / "copy" / "of root"
    foreign.touch()
    world.set(uid=os.getuid() + 1, owner=os.getuid() + 1, sudo="free")
    done = world.run()
    assert done.returncode == 0, done.stderr
    assert "a run as root left" in done.stdout
    (call,) = [call for call in world.calls if call.startswith("chown")]
    assert call.startswith(f"chown -h {os.getuid() + 1} ")
    assert str(foreign) in call
    assert "tests/setup" not in call


def test_what_cannot_be_taken_back_is_told_with_the_remedy(world):
    (world.clone / ".build").mkdir()
    world.set(uid=os.getuid() + 1, owner=os.getuid() + 1)
    done = world.run()
    assert done.returncode == 1
    assert "sudo chown" in done.stderr


def test_python3_of_a_right_version_will_do_under_its_plain_name(world):
    (world.bin / "python3.13").rename(world.bin / "python3")
    program = world.bin / "python3"
    program.write_text(
        program.read_text().replace('case "$*" in', 'case "$*" in *"!= \'3.11\'"*|*"!= \'3.12\'"*) exit 1 ;;')
    )
    done = world.run()
    assert done.returncode == 0, done.stderr
    assert any(call.startswith("python3 -m venv") for call in world.calls)


def test_a_proxy_is_for_what_is_fetched_and_not_for_what_runs_on_this_machine(world):
    words = ["sh", "-c", "echo $http_proxy; echo $no_proxy; echo $NO_PROXY"]
    done = world.run(*words, http_proxy="http://127.0.0.1:9", no_proxy="example.com")
    shown = done.stdout.splitlines()[-3:]
    assert shown == ["http://127.0.0.1:9", *["example.com,localhost,127.0.0.1,::1"] * 2], done.stderr
    assert world.run(*words).stdout.splitlines()[-3:] == ["", *["localhost,127.0.0.1,::1"] * 2]
