# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The real sglang-router, from its published wheel, as a process of this machine.

with Router(tmp_path, ["http://198.18.3.10:30000"]) as router:      # started and waited for
    router.url, router.workers(), router.worker(url), router.log
    router.put(tmp_path, url, "drained")                              # the result of router_worker, run on this machine
    router.stop(); router.start()                                     # the same address again, and no worker but the first ones
"""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

from host_set import run_ansible
from simulated_server import free_port

LOCK = pathlib.Path(__file__).resolve().parents[1] / "setup" / "router.lock"
RELEASE = re.search(r"^sglang-router==(\S+)$", LOCK.read_text(), re.M).group(1)
# The wheel's own launcher needs packages for a balancer in Python and for a name among the processes. 0.1 has no such parts.
LAUNCH = """
import argparse, importlib.util, runpy, sys
if importlib.util.find_spec("sglang_router.router_args"):
    from sglang_router.router import Router
    from sglang_router.router_args import RouterArgs
    parser = argparse.ArgumentParser()
    RouterArgs.add_cli_args(parser, use_router_prefix=False)
    Router.from_args(RouterArgs.from_cli_args(parser.parse_args(), use_router_prefix=False)).start()
else:
    runpy.run_module("sglang_router.launch_router", run_name="__main__")
"""
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def installed(release: str = RELEASE, python: str = sys.executable) -> pathlib.Path:
    """Where that release is, in the cache outside the clone: installed the first time (30 MB), by one process of many."""
    cache = pathlib.Path(os.environ.get("LLMOPS_SGLANG_CACHE") or pathlib.Path.home() / ".cache" / "llmops-sglang")
    cache.mkdir(parents=True, exist_ok=True)
    place = cache / f"router-{release}"
    with (cache / "router.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / ".complete").exists():
            shutil.rmtree(place, ignore_errors=True)
            words = ["-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-deps", "--target", str(place)]
            subprocess.run([python, *words, f"sglang-router=={release}"], check=True)
            (place / ".complete").touch()
    return place


class Router:
    """A router that listens on HOST, with the health of its workers looked at every second.

    workers: those of its command line; the router waits for them before it answers.
    words: further words of the command line. python: one that the release has a wheel for.
    """

    def __init__(
        self,
        directory,
        workers=(),
        *,
        words=(),
        api_key=None,
        release=RELEASE,
        python=sys.executable,
        host="127.0.0.1",
        health_seconds=1,
    ):
        self.first_workers = list(workers)
        self.port, self.api_key = free_port(), api_key
        # It puts host and port together as they are.
        host = f"[{host}]" if ":" in host else host
        self.url = f"http://{host}:{self.port}"
        self.output = pathlib.Path(directory) / f"router-{self.port}.log"
        self.place = installed(release, python)
        self.argv = [python, "-c", LAUNCH, "--host", host, "--port", str(self.port), *self._quick(release)]
        self.argv += ["--prometheus-port", str(free_port())]
        if release > "0.2":
            self.argv += ["--health-check-interval-secs", str(health_seconds)]
        self.argv += ["--api-key", api_key] if api_key else []
        self.argv += list(words)
        self.process = None

    @staticmethod
    def _quick(release):
        return ["--worker-startup-check-interval", "1", "--policy", "round_robin"]

    def __enter__(self):
        return self.start()

    def __exit__(self, *dummy):
        self.kill()

    def start(self, timeout=120.0):
        """Started, and its answers waited for."""
        first = ["--worker-urls", *self.first_workers] if self.first_workers else []
        environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        # It looks for the model's tokenizer on the network otherwise.
        environment.update(PYTHONPATH=str(self.place), HF_ENDPOINT="http://127.0.0.1:9", HF_HUB_OFFLINE="1")
        with self.output.open("ab") as handle:
            self.process = subprocess.Popen(
                [*self.argv, *first], stdout=handle, stderr=handle, env=environment, start_new_session=True
            )
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                # One that knows data-parallel ranks lists each of them.
                found = {worker["url"].split("@")[0] for worker in self.workers()}
                if found >= set(self.first_workers):
                    return self
            except (OSError, ValueError):
                pass
            time.sleep(0.05)
        raise AssertionError(f"the router did not answer (exit {self.process.poll()}):\n{self.log[-3000:]}")

    def stop(self, timeout=60.0):
        """Ended as a service manager does it; its status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout)

    def kill(self):
        if self.process is None:
            return
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    @property
    def log(self):
        """What it has logged, without colours."""
        text = self.output.read_bytes().decode(errors="replace")
        return re.sub(r"\x1b\[[0-9;]*m", "", text)

    def ask(self, method, path, body=None, timeout=30.0, key=True):
        """(status, decoded body or text) of one request with the router's key."""
        headers = {"Content-Type": "application/json"}
        if self.api_key and key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with DIRECT.open(request, timeout=timeout) as answer:
                status, text = answer.status, answer.read().decode()
        except urllib.error.HTTPError as exc:
            status, text = exc.code, exc.read().decode()
        try:
            return status, json.loads(text)
        except ValueError:
            return status, text

    def workers(self):
        """What it lists: mappings with url, and since 0.2 with id, is_healthy, load and more."""
        status, body = self.ask("GET", "/workers")
        if status == 404:
            status, body = self.ask("GET", "/list_workers")
            return [{"url": url} for url in body["urls"]]
        if status != 200:
            raise OSError(f"status {status}: {body}")
        return body["workers"]

    def worker(self, url):
        """The entry of that URL; None without one."""
        return next((worker for worker in self.workers() if worker["url"] == url), None)

    def chat(self, content="Hello", timeout=60.0, **fields):
        """(status, body) of a chat through it."""
        body = {"model": "org/model", "messages": [{"role": "user", "content": content}], "max_tokens": 8, **fields}
        return self.ask("POST", "/v1/chat/completions", body, timeout)

    def put(self, directory, url, state, words=(), **options):
        """The result of router_worker, run on this machine with the router's key, and what was printed at -vvv as ``printed``."""
        file = pathlib.Path(directory) / "router-worker-result"
        file.unlink(missing_ok=True)
        args = {"router_url": self.url, "worker_url": url, "state": state, "api_key": self.api_key or "", **options}
        command = [
            "localhost",
            "-c",
            "local",
            "-m",
            "llmops.sglang.router_worker",
            "-a",
            json.dumps(args),
            "-vvv",
            *words,
        ]
        extra = {"ansible_python_interpreter": sys.executable, "ansible_inject_invocation": True}
        done = run_ansible("adhoc", command, extra, {"LLMOPS_RESULT_FILE": str(file)})
        if not file.exists():
            raise AssertionError(done.stdout + done.stderr)
        return {**json.loads(file.read_text().splitlines()[-1])["result"], "printed": done.stdout + done.stderr}
