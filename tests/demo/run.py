# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demos: the main job on a real server, or (--quick) on the stand-in, with three lies being caught.

Boots a test host, runs the collection's playbooks on it, shows the record, and removes the host, also after Ctrl-C.
Where no test host can be booted, the server runs as a unit of the user's own systemd on this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
DEMO = REPOSITORY / "tests" / "demo"
REAL = REPOSITORY / "tests" / "real"
OUTPUT = REPOSITORY / "tests" / "output" / "demo"
SERVER = "sglang-0.5.15.post1"

sys.path[:0] = [str(REAL), str(REPOSITORY / ".build" / "collections")]

import install


class DemoError(Exception):
    """The demo cannot go on; the message says why."""


def say(text: str) -> None:
    print(f"\n--- {text}", flush=True)


def ansible_playbook(*words: str, quiet: bool = False, **variables: object) -> int:
    """Run ansible-playbook and show the command; returns its exit status."""
    shown = [
        str(pathlib.Path(word).relative_to(REPOSITORY)) if word.startswith(str(REPOSITORY)) else word for word in words
    ]
    if not quiet:
        print(f"\n$ ansible-playbook {' '.join(shown)}", flush=True)
    environ = {
        **os.environ,
        "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml",
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
        "ANSIBLE_DEPRECATION_WARNINGS": "false",
        "ANSIBLE_RETRY_FILES_ENABLED": "false",
        "ANSIBLE_PIPELINING": "true",
        # ansible-core leaves its output to the buffer, which a pipe fills only after the wait.
        "PYTHONUNBUFFERED": "1",
    }
    command = [sys.executable, "-m", "ansible", "playbook", *words, "-e", json.dumps(variables)]
    output = subprocess.DEVNULL if quiet else None
    process = subprocess.Popen(command, cwd=REPOSITORY, env=environ, stdin=subprocess.DEVNULL, stdout=output)
    try:
        return process.wait()
    except KeyboardInterrupt:
        # A Ctrl-C reaches it too; a signal to this process alone does not.
        process.send_signal(signal.SIGINT)
        process.wait()
        raise


class TestHost:
    """A test host of our own, for the time of the demo."""

    def __init__(self) -> None:
        self.name = f"demo{os.getpid()}"
        self.inventory = pathlib.Path(f"/run/llmops-hosts/{self.name}/inventory.yml")
        self.variables: dict[str, object] = {}

    def make(self) -> None:
        binds = [{"source": str(REPOSITORY), "target": "/srv/llmops", "read_only": True}]
        servers = install.cache_directory()
        if servers.exists():
            binds.append({"source": str(servers), "target": "/srv/llmops-servers", "read_only": True})
        made = ansible_playbook(
            str(REPOSITORY / "tests/hosts/create.yml"),
            hosts_set=self.name,
            hosts_names=["demo"],
            hosts_groups=["sglang"],
            hosts_binds=binds,
            hosts_owner_pid=os.getpid(),
        )
        if made != 0:
            raise DemoError("the test host could not be made")
        self.variables = {"repository": "/srv/llmops"}

    def remove(self) -> None:
        ansible_playbook(str(REPOSITORY / "tests/hosts/destroy.yml"), quiet=True, hosts_set=self.name)


class UserUnits:
    """Units of the user's own service manager on this machine, for where no test host can be booted."""

    def __init__(self, server: str) -> None:
        self.place = OUTPUT / "user"
        self.inventory = self.place / "inventory.yml"
        self.server = server
        self.variables: dict[str, object] = {}

    def make(self) -> None:
        running = subprocess.run(
            ["systemctl", "--user", "show-environment"], capture_output=True, text=True, check=False
        )
        if running.returncode != 0:
            raise DemoError(
                f"there is no service manager of the user here either ({running.stderr.strip()}): log in with a session, "
                "or enable lingering"
            )
        self.place.mkdir(parents=True, exist_ok=True)
        host = {"ansible_connection": "local", "ansible_python_interpreter": "/usr/bin/python3"}
        self.inventory.write_text(json.dumps({"sglang": {"hosts": {"this-machine": host}}}))
        self.variables = {
            "repository": str(REPOSITORY),
            "place": str(self.place),
            "servers": str(install.cache_directory()),
            "server_scope": "user",
            "server_name": self.server,
            "server_enabled": False,
            "demo_port": free_port(),
            "benchmark_host_dir": str(self.place / "benchmarks"),
        }

    def remove(self) -> None:
        words = ["-i", str(self.inventory), str(REPOSITORY / "playbooks/site.yml")]
        ansible_playbook(*words, quiet=True, server_state="absent", **self.variables)
        kill = ["systemctl", "--user", "kill", "--signal=KILL", "left-over"]
        subprocess.run(kill, capture_output=True, check=False)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def choose_place(server: str) -> TestHost | UserUnits:
    can_boot = [sys.executable, str(REPOSITORY / "tests/hosts/can_boot.py")]
    answer = subprocess.run(can_boot, capture_output=True, text=True, check=False)
    if answer.returncode == 0:
        return TestHost()
    reason = answer.stdout.strip() or answer.stderr.strip()
    say(
        f"No test host can be booted ({reason}). The server runs as a unit of your own systemd on this machine instead."
    )
    return UserUnits(server)


def install_server() -> bool:
    """Install the real server where it is missing; False, with the reason said, where that cannot be."""
    plan = install.make_plan([SERVER])
    if not plan.missing:
        return True
    say("The real server is not installed yet.")
    if plan.problems:
        print("\n".join(plan.lines()))
        return False
    return subprocess.run([sys.executable, str(REAL / "install.py"), "--only", SERVER], check=False).returncode == 0


def newest_record(records: pathlib.Path, begun: float) -> pathlib.Path | None:
    """The benchmark's record that was written since *begun*."""
    found = [file for file in records.glob("*/*.json") if file.stat().st_mtime >= begun]
    return max(found, key=lambda file: file.stat().st_mtime, default=None)


def codings(record: pathlib.Path, begun: float) -> list[pathlib.Path]:
    """The coding evaluations beside *record* that were written since *begun*."""
    return [file for file in record.parent.glob("coding/*.json") if file.stat().st_mtime >= begun]


def machine_was_busy(records: pathlib.Path, begun: float) -> bool:
    """Whether the only thing wrong with the figures is that this machine could not keep up with measuring them."""
    record = newest_record(records, begun)
    if record is None or any(json.loads(file.read_text())["tasks_not_run"] for file in codings(record, begun)):
        return False
    cells = json.loads(record.read_text())["cells"]
    return {reason for cell in cells for reason in cell["reasons"]} == {"client_saturated"}


def show_record(records: pathlib.Path, begun: float) -> None:
    """The Markdown table of the record that this run wrote, and where it lies."""
    from ansible_collections.llmops.sglang.plugins.module_utils._benchmark_record import markdown

    record = newest_record(records, begun)
    if record is None:
        raise DemoError(f"no record was written below {records}")
    say("What was measured, from the record")
    print(markdown(json.loads(record.read_text())))
    for file in codings(record, begun):
        coded = json.loads(file.read_text())
        print(f"Coding: {coded['tasks_passed']} of {coded['tasks_total']} passed, {coded['tasks_not_run']} not run.")
    print(f"Record: {record}")


def demonstrate(
    place: TestHost | UserUnits, inventory: pathlib.Path, quick: bool, playbooks: str, given: dict[str, str]
) -> None:
    records = OUTPUT / ("quick" if quick else "real")
    begun = time.time()
    say("A host to run it on")
    place.make()
    words = ["-i", str(place.inventory), "-i", str(inventory)]
    variables = {**place.variables, "benchmark_results_dir": str(records), **given}
    if not quick:
        # No program of this model can pass, however long: the demo need not wait for all of it.
        names = ["is_palindrome", "fib", "merge_sorted", "word_count", "gcd"]
        variables["benchmark_coding"] = {"max_tokens": 16, "task_names": names}
    if quick and ansible_playbook(*words, str(DEMO / "stand_in.yml"), **variables) != 0:
        raise DemoError("the stand-in server could not be put on the host")
    say("The main job: unit, restart, real generation, proof of the window, benchmark")
    status = ansible_playbook(*words, playbooks.format("site"), **variables)
    if status != 0 and machine_was_busy(records, begun):
        say("This machine was too busy for some of the figures. They count as invalid: all is measured once more")
        begun = time.time()
        status = ansible_playbook(*words, playbooks.format("benchmark"), **variables)
        if status != 0 and machine_was_busy(records, begun):
            say(
                "This machine stayed too busy to measure. All else is proved; the record names the figures that are invalid"
            )
            status = 0
    if status != 0:
        raise DemoError("the main job failed")
    show_record(records, begun)
    if not quick:
        print("This model was made to answer 'aaaa': every draft is accepted, and no program can pass.")
    if quick:
        say("Three lies, and how they are caught")
        if ansible_playbook(*words, str(DEMO / "lies.yml"), **variables) != 0:
            raise DemoError("a lie was not caught")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="on the stand-in server, in under a minute")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a variable of the inventory")
    parser.add_argument("--installed", metavar="PATH", help="use the collection that is installed there, not the clone")
    options = parser.parse_args()
    quick = options.quick
    playbooks = f"{REPOSITORY}/playbooks/{{}}.yml"
    if options.installed:
        playbooks = "llmops.sglang.{}"
        os.environ["ANSIBLE_COLLECTIONS_PATH"] = options.installed
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.default_int_handler)
    begun = time.monotonic()
    place = None
    try:
        if not quick and not install_server():
            say("So here is the quick demo, on the stand-in server.")
            quick = True
        begun = time.monotonic()
        place = choose_place("sglang-demo-k26-ddtree" if quick else "sglang-demo-dflash")
        given = dict(pair.split("=", 1) for pair in options.set)
        inventory = REPOSITORY / "inventory" / "demo" if quick else REAL / "dflash.yml"
        demonstrate(place, inventory, quick, playbooks, given)
        return 0
    except DemoError as error:
        print(f"\nThe demo ended: {error}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return 130
    finally:
        if place is not None:
            # A second Ctrl-C must not leave the host behind.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            place.remove()
            say(f"Everything is stopped and removed; {time.monotonic() - begun:.0f} s.")


if __name__ == "__main__":
    sys.exit(main())
