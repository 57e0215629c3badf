# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One archive of what is known of a server: no secret in it, bounded, and there however little can be read."""

from __future__ import annotations

import http.server
import json
import os
import pathlib
import stat
import subprocess
import sys
import tarfile
import threading

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _diagnosis_archive
from ansible_collections.llmops.sglang.plugins.module_utils._diagnosis import Diagnoser, bounded
from ansible_collections.llmops.sglang.plugins.module_utils._diagnosis_journal import LONGEST_SHOWN, JournalEnds
from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import Journal
from ansible_collections.llmops.sglang.plugins.module_utils._redaction import Redaction
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager
from ansible_collections.llmops.sglang.plugins.modules import server_diagnosis
from ansible_collections.llmops.sglang.tests.unit.journal_host import NOW, UNIT, Host

CONNECTION = {"base_url": None, "api_key": None, "api_key_file": None, "timeout": 2.0}
# Where secrets lie; each has a word of its own, so that a failure names the place.
PLACES = [
    "argv_sglang", "argv_foreign", "environ_named", "environ_unnamed", "unit_environment", "unit_set_credential",
    "environment_file", "credential", "secrets_config", "answer_key", "answer_admin", "journal_pattern", "option",
]  # fmt: skip
SECRET = {place: f"cAn-{place}/{number:04x}+x" for number, place in enumerate(PLACES)}


class RealHost(Host):
    """Its unit has a real process; all other commands are not there."""

    def run_command(self, argv, **more):
        if argv[0] == "timeout":
            return 124, "", "ended"
        if argv[0] == "busctl":
            if argv[-1] == "LoadCredential":
                return 0, f'a(ss) 1 "api" "{self.credential}"', ""
            if argv[-1] == "Environment":
                return 0, f'as 1 "UNIT_ENVIRONMENT={SECRET["unit_environment"]}"', ""
            if argv[-1] != "ExecStart":
                return 1, "", ""
        return super().run_command(argv, **more)


class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        known = {"api_key": SECRET["answer_key"], "admin_api_key": SECRET["answer_admin"], "version": "0.5.15"}
        body = json.dumps(
            known if self.path == "/server_info" else {"detail": f"Bearer {SECRET['answer_key']}"}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *dummy):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.server_address[1]}"
        made.shutdown()


@pytest.fixture
def running(tmp_path):
    """A process of foreign style with secrets in its words and variables."""
    code = "print('up', flush=True); import sys; sys.stdin.read()"
    words = ["--api-key", SECRET["argv_sglang"], f"--hf-auth={SECRET['argv_foreign']}", "--port", "1"]
    environ = {"MY_TOKEN": SECRET["environ_named"], "MODE": SECRET["environ_unnamed"], "SGLANG_SHOWN": "as-it-is"}
    with subprocess.Popen(
        [sys.executable, "-c", code, *words], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"up\n"
        yield process.pid
        process.stdin.close()


@pytest.fixture
def secretive(tmp_path, running):
    unit = tmp_path / UNIT
    unit.write_text(
        f'[Service]\nEnvironment="UNIT_ENVIRONMENT={SECRET["unit_environment"]}"\n'
        f"SetCredential=x:{SECRET['unit_set_credential']}\n"
        f"ExecStart=/v/python -m foreign --hf-auth={SECRET['argv_foreign']} --port 1\n"
    )
    secrets = tmp_path / f"{UNIT}.secrets"
    secrets.mkdir()
    secrets.joinpath("config.yaml").write_text(f'api-key: "{SECRET["secrets_config"]}"\nport: 30000\n')
    environment = tmp_path / "environment"
    environment.write_text(f"FROM_FILE={SECRET['environment_file']}\n")
    credential = tmp_path / "credential"
    credential.write_text(f"{SECRET['credential']}\n")
    host = RealHost(
        MainPID=str(running),
        FragmentPath=str(unit),
        EnvironmentFiles=f"{environment} (ignore_errors=no)",
        LoadCredential="[unprintable]",
        Environment=f"UNIT_ENVIRONMENT={SECRET['unit_environment']}",
    )
    host.credential = str(credential)
    host.start()
    host.say(f"server_args=ServerArgs(api_key='{SECRET['journal_pattern']}', port=1)", "plain words")
    # What stands nowhere but in a log is known by what surrounds it alone.
    host.say(*(f"echo {value} echo" for place, value in SECRET.items() if place != "journal_pattern"))
    return host


def diagnosed(host, **params):
    return Diagnoser(Manager(host.run_command), UNIT, {**CONNECTION, **params}).run()


def test_no_secret_gets_into_it_wherever_it_lies(secretive, server):
    made = diagnosed(secretive, base_url=server, api_key=SECRET["option"])
    text = made.summary + json.dumps(made.parts)
    assert [place for place, value in SECRET.items() if value in text] == []
    # And yet it tells much.
    assert "plain words" in made.parts["journal.txt"] and "SGLANG_SHOWN=as-it-is" in made.parts["processes.txt"]
    assert "--port 1" in made.parts["unit.txt"] and "config.yaml" in made.parts["unit.txt"]
    assert json.loads(made.parts["server.json"])["server"]["version"] == "0.5.15"
    assert "is active (running)" in made.summary and "the server answers" in made.summary


def test_an_unknown_unit_a_stopped_one_and_one_that_failed_are_diagnosed():
    gone = RealHost(LoadState="not-found", ActiveState="inactive", SubState="dead", InvocationID="", MainPID="0")
    made = diagnosed(gone)
    assert (
        "There is no unit 'llm.service'" in made.summary and made.parts["journal.txt"] == "the unit has no invocation\n"
    )
    assert (
        made.stem.startswith("llm.service-2") and json.loads(made.parts["server.json"])["unit"]["state"] == "not-found"
    )
    failed = RealHost(ActiveState="failed", SubState="failed", MainPID="0", Result="exit-code")
    failed.start()
    failed.say("launch_server.py: error: unrecognized arguments: --no-such-flag")
    made = diagnosed(failed)
    assert "bad_arguments" in made.summary and made.stem == f"llm.service-{NOW}"
    assert "never started" not in made.summary and "the unit has no process" in made.parts["processes.txt"]
    masked = RealHost(LoadState="masked", ActiveState="inactive", SubState="dead", MainPID="0")
    assert "is inactive (dead), and masked, so that it cannot be started again" in diagnosed(masked).summary


def test_last_words_that_journald_read_too_late_are_there_and_tell_the_cause():
    host = RealHost(ActiveState="failed", SubState="failed", MainPID="0", Result="exit-code")
    host.start()
    said = "launch_server.py: error: unrecognized arguments: --no-such-flag"
    host.row(said, _SYSTEMD_UNIT=UNIT, _TRANSPORT="stdout")
    made = diagnosed(host)
    assert "bad_arguments" in made.summary and made.parts["journal.txt"].endswith(f"{said}\n")


def test_what_cannot_be_read_says_so_in_its_own_part(monkeypatch):
    host = RealHost(MainPID="0", ActiveState="inactive")
    host.rc, host.error = 1, "No journal files were opened due to insufficient permissions."
    monkeypatch.setattr(
        "ansible_collections.llmops.sglang.plugins.module_utils._diagnosis.report", lambda *dummy: 1 / 0
    )
    made = diagnosed(host)
    assert "insufficient permissions" in made.parts["journal.txt"]
    assert "ZeroDivisionError" in made.parts["server.json"]
    assert {"system.txt", "gpus.txt", "kernel.txt", "memory.txt", "summary.txt"} < set(made.parts)


def test_a_key_file_that_is_not_there_is_told_and_no_failure():
    made = diagnosed(RealHost(MainPID="0", ActiveState="inactive"), api_key_file="/nowhere/key")
    assert "/nowhere/key" in made.parts["summary.txt"]


class Stream:
    """A journal of many rows, of which no more may be made than are asked for."""

    def __init__(self, rows, text="row"):
        self.rows, self.text, self.given = rows, text, 0

    def __call__(self, argv, dummy_environ, take):
        lines = [int(word.partition("=")[2]) for word in argv if word.startswith("--lines=")]
        for number in range(max(self.rows - lines[0], 0) if lines else 0, self.rows):
            self.given += 1
            row = f"__CURSOR=c{number}\n__REALTIME_TIMESTAMP=1800000000000000\n_PID=7\nMESSAGE={self.text} {number}\n"
            if take(row.split("\n")):
                break
        return 0, ""


def ends(stream, redaction=None, **counts):
    journal = Journal(Manager(lambda *dummy, **more: (0, "", "")), stream=stream)
    return JournalEnds(journal, redaction or Redaction()).read([], **counts)


def test_of_a_million_rows_only_the_ends_are_read():
    stream = Stream(1_000_000)
    text = ends(stream).text()
    assert stream.given <= 3001
    lines = text.splitlines()
    assert lines[0].endswith("[7] row 0") and lines[-1].endswith("row 999999") and len(lines) == 3001
    assert lines[1000] == "... rows between these were left out ..."


@pytest.mark.parametrize(("rows", "shown"), [(0, ["no rows"]), (3, None), (1500, None)])
def test_few_rows_are_there_once_and_whole(rows, shown):
    lines = ends(Stream(rows)).text().splitlines()
    assert lines == shown or [line.rpartition(" ")[2] for line in lines] == [str(n) for n in range(rows)]


def test_a_long_line_is_cut_and_no_half_of_a_secret_is_left():
    secret = "s3cret" * 2000
    for lead in (0, 100, LONGEST_SHOWN - 10, 8192 - 3000, 8192 - 10):
        text = "x" * lead + secret + "y" * 1_000_000
        (line,) = ends(Stream(1, text), Redaction([secret]), first=0, last=1).lines
        assert len(line.text) <= LONGEST_SHOWN + 1 and "s3cret" not in line.text


def test_a_row_of_ten_megabytes_is_named_and_left_out():
    lines = ends(Stream(2, "y" * 10_000_000), first=0, last=2).lines
    assert [line.text for line in lines] == ["(the text of this row is too long or was withheld)"] * 2


def test_a_part_is_bounded():
    text = bounded("a" * 500 + "b" * 500, 100)
    assert len(text) < 160 and text.startswith("a" * 50) and text.endswith("b" * 50)
    assert bounded("\udcff", 10) == "?"


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setattr(_diagnosis_archive, "default_path", lambda: str(tmp_path / "state/start-times.json"))
    return tmp_path / "state/diagnoses"


def test_the_module_writes_one_archive_for_its_owner_alone(run_module, kept, tmp_path):
    checked = run_module(server_diagnosis, {"name": "llm"}, check=True)
    assert checked["changed"] and not kept.exists()
    result = run_module(server_diagnosis, {"name": "llm"})
    path = pathlib.Path(result["path"])
    assert path.parent == kept and path.name.startswith("llm.service-")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(kept.stat().st_mode) == 0o700
    with tarfile.open(path) as archive:
        sizes = {os.path.basename(one.name): one.size for one in archive.getmembers()}
        assert {one.name.split("/")[0] for one in archive.getmembers()} == {path.name[: -len(".tar.gz")]}
    assert sizes == {one["name"]: one["size"] for one in result["contents"]}
    chosen = tmp_path / "chosen.tar.gz"
    assert run_module(server_diagnosis, {"name": "llm", "dest": str(chosen)})["path"] == str(chosen)
    assert chosen.exists() and list(kept.iterdir()) == [path]


@pytest.mark.parametrize("dest", ["relative.tar.gz", "/proc/nowhere/x.tar.gz"])
def test_a_place_that_cannot_be_written_is_a_failure_of_its_own(run_module, dest):
    result = run_module(server_diagnosis, {"name": "llm", "dest": dest})
    assert result["failed"] and result["failure_class"] == "write_failed" and dest in result["msg"]


def test_the_newest_five_of_a_unit_stay(tmp_path):
    for number in range(8):
        for unit in ("llm.service", "other.service"):
            path = tmp_path / f"{unit}-{number}.tar.gz"
            _diagnosis_archive.write(str(path), b"x", lambda temporary, path: None)
            os.utime(path, (number, number))
    tmp_path.joinpath(".llm.service-1.tar.gz.abcd1234").write_text("left")
    os.utime(tmp_path / ".llm.service-1.tar.gz.abcd1234", (1, 1))
    _diagnosis_archive.drop_oldest(str(tmp_path), "llm.service")
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left[:5] == [f"llm.service-{number}.tar.gz" for number in range(3, 8)] and len(left) == 13
