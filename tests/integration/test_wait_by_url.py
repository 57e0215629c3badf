# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""wait_for_generation by URL alone, run by ansible on this machine against a server that says what a test tells it to."""

from __future__ import annotations

import collections
import functools
import http.server
import json
import pathlib
import re
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

import pytest
import yaml
from fault_rows import fault
from host_set import run_ansible

MODULE = "llmops.sglang.wait_for_generation"
KEY = "sk-by-url-secret-key"
GOOD = {
    "model": "echoed",
    "choices": [{"message": {"content": "Red is the colour of roses."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 20, "completion_tokens": 8},
}


class Stub:
    """An HTTP server; *generate(handler, number)* answers the generation requests, counted from 1."""

    def __init__(self, generate=None, models="m", family=socket.AF_INET, context=None, health=200):
        stub = self
        self.generate = generate or (lambda handler, number: handler.say(200, GOOD))
        self.models, self.health = models, health
        self.count = collections.Counter()
        self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_args):
                pass

            def say(self, status, body, content_type="application/json"):
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                stub.count[self.path] += 1
                if self.path == "/v1/models":
                    self.say(200, {"data": [{"id": stub.models}]})
                else:
                    self.say(stub.health if self.path == "/health" else 404, {})

            def do_POST(self):
                stub.count["POST"] += 1
                stub.asked.append((self.path, dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
                stub.generate(self, stub.count["POST"])

        class Server(http.server.ThreadingHTTPServer):
            address_family = family
            daemon_threads = True

            def handle_error(self, *_args):
                pass

        self.server = Server(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0), Handler)
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def requests(self):
        return sum(self.count.values())


@pytest.fixture
def stub():
    made = []

    def make(*args, **kwargs):
        made.append(Stub(*args, **kwargs))
        return made[-1]

    yield make
    for one in made:
        one.server.shutdown()
        one.server.server_close()


@pytest.fixture
def wait(tmp_path):
    """Run the module on this machine; its result, with what ansible printed as C(stdout)."""

    def call(args, words=(), environ=None, python=sys.executable):
        file = tmp_path / "result"
        file.unlink(missing_ok=True)
        command = ["localhost", "-c", "local", "-m", MODULE, "-a", json.dumps({"progress_interval": 0, **args}), *words]
        environ = {"LLMOPS_RESULT_FILE": str(file), **(environ or {})}
        done = run_ansible("adhoc", command, {"ansible_python_interpreter": python}, environ)
        assert file.exists(), done.stdout + done.stderr
        text = file.read_text().splitlines()[-1]
        return {**json.loads(text)["result"], "printed": done.stdout + done.stderr, "size": len(text)}

    return call


def test_health_lies(stub, wait):
    server = stub(lambda handler, number: time.sleep(60))
    result = wait({"base_url": server.url, "timeout": 12, "request_timeout": 3})
    assert result["failure_class"] == "generation_timeout" and 12 <= result["elapsed"] < 60, result["elapsed"]
    assert result["attempts"] >= 2 and "fine" in result["msg"] and "generation was not" in result["msg"]
    fault("serving", "The health route lies: it answers, and a generation never ends")


def test_late_generation(stub, wait):
    first = functools.cache(time.monotonic)
    server = stub(lambda handler, number: handler.say(*((200, GOOD) if time.monotonic() - first() >= 4 else (503, {}))))
    result = wait({"base_url": server.url, "timeout": 120})
    assert result["ok"] is True and result["attempts"] > 2 and time.monotonic() - first() >= 4
    assert result["outcomes"]["not_ready"] == result["attempts"] - 2


@pytest.mark.parametrize("drop", [b"", b" "])
def test_headers_then_silence_or_a_drip(stub, wait, drop):
    def drip(handler, number):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _dummy in range(20):
            handler.wfile.write(drop)
            handler.wfile.flush()
            time.sleep(1)

    result = wait({"base_url": stub(drip).url, "timeout": 9, "request_timeout": 2})
    assert result["failure_class"] == "generation_timeout" and result["outcomes"]["timeout"] >= 1
    assert "after the headers" in result["last_error"] and result["attempts"] >= 2 and result["elapsed"] < 60
    fault("network", f"The answer begins, and then there is {'a slow drip' if drop else 'silence'}")


def test_the_key_is_nowhere(stub, wait, tmp_path):
    def refuse(handler, number):
        handler.say(401, {"error": f"{handler.headers['Authorization']} is not known"})

    server = stub(refuse)
    (tmp_path / "key").write_text(KEY + "\n")
    for option in ({"api_key": KEY}, {"api_key_file": str(tmp_path / "key")}):
        result = wait({"base_url": server.url, **option}, ["-vvv", "--diff"])
        assert result["failure_class"] == "unauthorized" and result["attempts"] <= 2
        assert KEY not in result["printed"] + json.dumps(result) and "is not known" in result["msg"]
        fault("serving", "The server refuses the key and repeats it in its answer")
    assert server.asked[-1][1]["Authorization"] == f"Bearer {KEY}"


def test_a_key_that_the_model_repeats_is_masked(stub, wait):
    said = json.loads(json.dumps(GOOD))
    said["choices"][0]["message"]["content"] = f"You are {KEY}, are you not?"
    result = wait({"base_url": stub(lambda handler, number: handler.say(200, said)).url, "api_key": KEY}, ["-vvv"])
    assert result["ok"] is True and "are you not" in result["text"]
    assert KEY not in result["printed"] + json.dumps(result)


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", "::malformed::"])
def test_proxies_of_the_environment(stub, wait, proxy):
    names = ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy")
    environ = {**dict.fromkeys(names, proxy), "no_proxy": "", "NO_PROXY": ""}
    server = stub()
    assert wait({"base_url": server.url}, environ=environ)["ok"] is True
    result = wait({"base_url": server.url, "use_proxy": True, "timeout": 3}, environ=environ)
    assert result["ok"] is False and "through the proxy" in result["msg"]
    fault("network", f"The environment names a proxy that is {'none' if '127' in proxy else 'no address'}")


def test_a_flaky_start(stub, wait):
    def flaky(handler, number):
        if number == 1:
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            handler.connection.close()
        elif number == 3:
            handler.say(502, b"<html>Bad Gateway</html>", "text/html")
        elif number == 4:
            handler.say(200, b'{"choices": [{"mess')
        elif number > 4:
            handler.say(200, GOOD)

    result = wait({"base_url": stub(flaky).url, "successes": 1, "timeout": 120})
    assert result["ok"] is True and result["attempts"] == 5 and "truncated" in result["last_error"]
    assert {k: n for k, n in result["outcomes"].items() if n} == {
        "reset": 2,
        "http_error": 1,
        "bad_answer": 1,
        "generated": 1,
    }
    fault(
        "network",
        "Connections are reset, an answer is a gateway's page, another is cut off",
        "The wait goes on until it generates, and counts each.",
    )


def test_a_server_that_comes_late_is_met_at_once(stub, wait):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    result = wait({"base_url": f"http://127.0.0.1:{port}", "timeout": 3})
    assert result["failure_class"] == "connection_refused" and result["attempts"] == 0 and result["outcomes"]["refused"]
    assert str(port) in result["msg"]
    fault("network", "Nothing ever listens")


def test_check_mode(stub, wait, tmp_path):
    server = stub()
    result = wait({"base_url": server.url}, ["--check"])
    assert server.requests == 0 and result["ok"] is None and result["skipped_reason"] and result["changed"] is False
    documented = yaml.safe_load(
        re.search(
            r'RETURN = r"""(.*?)"""', pathlib.Path("plugins/modules/wait_for_generation.py").read_text(), re.DOTALL
        )[1]
    )
    assert set(documented) <= set(result), set(documented) - set(result)
    tasks = [
        {MODULE: {"base_url": server.url}, "register": "r"},
        {"ansible.builtin.fail": {"msg": "ran"}, "when": "r.ok | bool"},
    ]
    (tmp_path / "play.yml").write_text(yaml.safe_dump([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
    words = [str(tmp_path / "play.yml"), "--check", "-i", "localhost,", "-c", "local"]
    done = run_ansible("playbook", words, {"ansible_python_interpreter": sys.executable})
    assert done.returncode == 0 and "skipped=1" in done.stdout, done.stdout + done.stderr


def test_a_large_body_makes_no_large_result(stub, wait):
    said = json.loads(json.dumps(GOOD))
    said["choices"][0]["message"]["content"] = "".join(f"word{i} " for i in range(150_000))
    said["usage"]["more"] = {f"key{i}": "x" * 1000 for i in range(1000)}
    result = wait({"base_url": stub(lambda handler, number: handler.say(200, said)).url})
    assert result["ok"] is True and result["size"] < 20_000 and result["text"].startswith("word0 ")
    result = wait({"base_url": stub(lambda handler, number: handler.say(400, b"x" * 1_000_000)).url})
    assert result["failure_class"] == "bad_request" and result["size"] < 20_000
    fault("serving", "A refusal of a megabyte")


def test_every_documented_key_is_there_when_it_fails_and_when_it_succeeds(stub, wait):
    text = pathlib.Path("plugins/modules/wait_for_generation.py").read_text()
    documented = set(yaml.safe_load(re.search(r'RETURN = r"""(.*?)"""', text, re.DOTALL)[1]))
    assert documented <= set(wait({"base_url": stub().url}))
    assert documented <= set(wait({"base_url": "http://127.0.0.1:1", "timeout": 1}))
    assert documented <= set(wait({"base_url": "nonsense", "timeout": 1}))
    assert documented <= set(wait({"name": "no-such-unit-at-all"}))


def test_own_certificates_and_a_plain_url_to_a_tls_port(stub, wait, tmp_path):
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += [
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-keyout",
        str(tmp_path / "key"),
        "-out",
        str(tmp_path / "cert"),
    ]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    server = stub(context=context)
    url = f"https://127.0.0.1:{server.port}"
    assert wait({"base_url": url, "ca_path": str(tmp_path / "cert")})["ok"] is True
    assert wait({"base_url": url, "validate_certs": False})["ok"] is True
    assert wait({"base_url": url})["failure_class"] == "tls_mismatch"
    fault("network", "The certificate is signed by nobody who is known")
    assert wait({"base_url": server.url, "timeout": 120})["failure_class"] == "tls_mismatch"
    fault("network", "An http URL of a port that speaks TLS")
    assert wait({"base_url": stub().url.replace("http:", "https:")})["failure_class"] == "tls_mismatch"
    fault("network", "An https URL of a port that does not")


def test_ipv6(stub, wait):
    server = stub(family=socket.AF_INET6)
    result = wait({"base_url": f"http://[::1]:{server.port}"})
    assert result["ok"] is True and result["listener"]["pid"]


def test_two_servers_with_different_models_on_one_port_are_told(stub, wait):
    class Twin(http.server.ThreadingHTTPServer):
        allow_reuse_port = True
        daemon_threads = True

    def serve(port, model):
        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_args):
                pass

            def do_GET(self):
                data = json.dumps({"data": [{"id": model}]}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        twin = Twin(("127.0.0.1", port), Handler)
        threading.Thread(target=twin.serve_forever, daemon=True).start()
        return twin

    one = serve(0, "a")
    other = serve(one.server_address[1], "b")
    try:
        result = wait({"base_url": f"http://127.0.0.1:{one.server_address[1]}", "timeout": 120})
        assert result["failure_class"] == "ambiguous_listener" and "'a'" in result["msg"] and "'b'" in result["msg"]
        fault("several", "Two servers of two models share a port")
    finally:
        for twin in (one, other):
            twin.shutdown()
            twin.server_close()


def test_a_missing_package_is_named_with_its_interpreter(wait, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "bare")], check=True)
    python = str(tmp_path / "bare" / "bin" / "python")
    result = wait({"base_url": "http://127.0.0.1:1"}, python=python)
    assert result["failure_class"] == "missing_dependency" and "'requests'" in result["msg"] and python in result["msg"]
    fault("host", "The host's Python lacks requests")


@pytest.mark.parametrize("strategy", ["linear", "free"])
def test_lines_of_many_hosts_name_their_host(stub, tmp_path, strategy):
    servers = {host: stub() for host in ("a", "b")}
    for server in servers.values():
        # Seven seconds from the first request, however long the run's own start took.
        first = functools.cache(lambda _server: time.monotonic())
        server.generate = lambda handler, number, server=server, first=first: handler.say(
            *((200, GOOD) if time.monotonic() - first(server) >= 7 else (503, {}))
        )
    task = {MODULE: {"base_url": "{{ urls[inventory_hostname] }}", "progress_interval": 2, "timeout": 120}}
    play = {"hosts": "all", "gather_facts": False, "strategy": strategy, "tasks": [task]}
    play["vars"] = {"urls": {host: server.url for host, server in servers.items()}}
    (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
    words = [str(tmp_path / "play.yml"), "-i", "a,b,", "-c", "local"]
    done = run_ansible("playbook", words, {"ansible_python_interpreter": sys.executable})
    assert done.returncode == 0, done.stdout + done.stderr
    for host, server in servers.items():
        lines = re.findall(rf"^\[ *(\d+) s\] {host} {re.escape(server.url)}: (.*)$", done.stdout, re.MULTILINE)
        assert len(lines) >= 3 and lines[-1][1] == "ready", done.stdout


def test_the_timeout_of_the_task_ends_it_cleanly(stub, tmp_path):
    server = stub(lambda handler, number: time.sleep(600))
    args = {"base_url": server.url, "timeout": 600, "request_timeout": 600, "progress_interval": 2}
    words = [str(tmp_path / "play.yml"), "-i", "localhost,", "-c", "local"]
    # Where the machine takes longer than that until it shows a line, once more with a longer one.
    for limit in (6, 60):
        play = {"hosts": "localhost", "gather_facts": False, "tasks": [{MODULE: args, "timeout": limit}]}
        (tmp_path / "play.yml").write_text(yaml.safe_dump([play]))
        done = run_ansible("playbook", words, {"ansible_python_interpreter": sys.executable})
        assert done.returncode == 2 and "Traceback" not in done.stdout + done.stderr
        if "waiting" in done.stdout or "listening" in done.stdout:
            break
    else:
        pytest.fail(f"it shows no line: {done.stdout}")
    fault("change", "The timeout of the task ends a wait")


def test_it_is_refused_in_the_background(stub, wait):
    result = wait({"base_url": stub().url}, ["-B", "10", "-P", "1"])
    assert result["failed"] and "async" in result["msg"]
    fault("controller", "A wait is put into the background")
