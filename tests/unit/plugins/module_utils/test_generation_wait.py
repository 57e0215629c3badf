# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole wait by URL, with the module's own options, against a server in this process."""

from __future__ import annotations

import http.server
import itertools
import json
import threading
import time

import pytest
from fault_rows import fault, told

from ansible_collections.llmops.sglang.plugins.module_utils import _generation_wait
from ansible_collections.llmops.sglang.plugins.module_utils._argspec import CONNECTION_SPEC, UNIT_SPEC
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._generation_wait import GenerationWait
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState
from ansible_collections.llmops.sglang.plugins.module_utils._wait_options import Verdict
from ansible_collections.llmops.sglang.plugins.modules.wait_for_generation import PROBE_SPEC, WAIT_SPEC

SPEC = {**UNIT_SPEC, **CONNECTION_SPEC, **PROBE_SPEC, **WAIT_SPEC}
NO_SUCH_MODEL = {"error": {"message": "The model 'a' does not exist.", "code": "model_not_found"}}


@pytest.fixture
def server():
    """Lists the model "b"; *said* is the status and body of its generations."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_args):
            pass

        def say(self, status, body):
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self):
            self.say(*((200, {"data": [{"id": "b"}]}) if self.path == "/v1/models" else (200, {})))

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.say(*self.server.said)

    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{made.server_address[1]}"
    threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def a_wait(**params):
    return GenerationWait({**{name: option.get("default") for name, option in SPEC.items()}, **params}, None)


def failed(**params):
    wait = a_wait(**params)
    with pytest.raises(Failure) as caught:
        wait.run()
    return caught.value


@pytest.mark.parametrize("step", [-3600, 3600])
def test_the_wall_clock_may_jump(server, monkeypatch, step):
    real, jumps = time.time, itertools.count(1)
    monkeypatch.setattr(time, "time", lambda: real() + step * next(jumps))
    server.said = (503, {})
    began = time.monotonic()
    failure = failed(base_url=server.url, timeout=1.5)
    # A slow machine has no answer by then.
    assert failure.failure_class in ("server_error", "generation_timeout") and time.monotonic() - began >= 1.5
    assert failure.result["elapsed"] >= 1.5 and failure.result["attempts"] >= 1
    told(failure.failure_class, failure.msg)
    fault("host", f"The clock is set {'forward' if step > 0 else 'back'} by an hour, again and again, in mid-wait")


def test_a_model_that_the_engine_refuses_ends_the_wait_with_both_names(server):
    server.said = (404, NO_SUCH_MODEL)
    failure = failed(base_url=server.url, model="a", timeout=600)
    assert failure.failure_class == "wrong_model" and failure.result["attempts"] <= 2
    assert "'a'" in failure.msg and "['b']" in failure.msg


def test_a_late_start_is_told_while_it_waits_and_in_the_result(server):
    server.said = (503, {})
    wait = a_wait(base_url=server.url, timeout=600, slice_seconds=0.3)
    wait.memory.from_start, wait.memory.expected_elapsed = True, 0.1
    said = wait.run()
    assert said["progress"]["late_in"] < 0 and said["progress"]["expected"] == 0.1
    again = a_wait(base_url=server.url, timeout=0.1, slice_state=said["slice_state"])
    with pytest.raises(Failure):
        again.run()
    assert again.memory.warnings == ["This start takes more than twice the usual 0.1 s of its configuration."]


@pytest.mark.parametrize("option", [{"require_owner": True}, {"previous_invocation_id": "a" * 32}])
def test_what_only_a_unit_can_show_is_refused_without_one(option):
    with pytest.raises(Failure) as caught:
        a_wait(base_url="http://127.0.0.1:1", **option)
    assert caught.value.failure_class == "bad_request" and next(iter(option)) in caught.value.msg
    assert a_wait(base_url="http://127.0.0.1:1", require_owner=False, previous_invocation_id="")


def test_a_warm_up_of_no_length_is_none():
    assert a_wait(base_url="http://127.0.0.1:1", warmup_contexts=[0, 100, -1]).options.warmup_contexts == [100]


SERVER = ["/usr/bin/python3", "-m", "sglang.launch_server", "--port", "31000"]


class Units:
    """A manager with one unit, whose main process is 100."""

    def __init__(self, start):
        self.start = start

    def show(self, name):
        return UnitState(name, {"LoadState": "loaded", "ActiveState": "active", "MainPID": "100", "ControlGroup": "/x"})

    def exec_start(self, dummy):
        return self.start


@pytest.mark.parametrize(
    ("main", "start", "children", "found"),
    [
        (SERVER, ["/opt/start.sh"], [], SERVER),
        (["vllm", "--port", "1"], SERVER, [], ["vllm", "--port", "1"]),
        # A process that systemd has not executed yet, one that renamed itself, and one that is gone.
        (["/usr/lib/systemd/systemd-executor", "--deserialize", "74"], SERVER, [], SERVER),
        (["sglang::server"], SERVER, [], SERVER),
        (None, SERVER, [], SERVER),
        (["/bin/bash", "/opt/start.sh"], ["/opt/start.sh"], [["sleep", "1"], SERVER], SERVER),
        (["/bin/bash", "/opt/start.sh"], ["/opt/start.sh"], [], ["/bin/bash", "/opt/start.sh"]),
    ],
)
def test_the_command_line_is_the_one_that_names_a_server(monkeypatch, main, start, children, found):
    argvs = {100: main, **dict(enumerate(children, 101))}
    monkeypatch.setattr(_generation_wait, "read_argv", argvs.get)
    monkeypatch.setattr(_generation_wait, "members", lambda group: sorted(argvs))
    assert GenerationWait._argv(Units(start), "sglang.service") == found


@pytest.mark.parametrize(("argv", "guessed"), [(["/opt/start.sh"], True), (SERVER, False)])
@pytest.mark.parametrize("failure_class", ["foreign_listener", "connection_refused"])
def test_a_guessed_url_is_said_where_it_may_be_the_fault(argv, guessed, failure_class):
    wait = a_wait(base_url="http://127.0.0.1:30000")
    wait.argv, wait.guessed = argv, _generation_wait.names_no_server(argv)
    failure = wait._failure(Verdict(failure_class, "So it is."), {"last_error": None, "failure_class": None})
    assert ("set base_url" in failure.msg) is guessed


def test_a_slice_over_a_guessed_url_is_short(monkeypatch):
    monkeypatch.setattr(_generation_wait, "GUESS_SECONDS", 0.1)
    wait = a_wait(base_url="http://127.0.0.1:1", timeout=600)
    wait.guessed = True
    assert "slice_state" in wait.run()
