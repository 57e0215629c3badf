# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Puts a wait together from a module's options, runs one slice of it, and makes the module's result."""

from __future__ import annotations

import re
import time
import typing as t
from dataclasses import replace

from ansible_collections.llmops.sglang.plugins.module_utils._control_group import members
from ansible_collections.llmops.sglang.plugins.module_utils._endpoint import argument, from_argv, node_of_argv
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._generation_judge import ProbeOptions
from ansible_collections.llmops.sglang.plugins.module_utils._generation_probe import Prober
from ansible_collections.llmops.sglang.plugins.module_utils._http_client import HttpClient, secrets_in
from ansible_collections.llmops.sglang.plugins.module_utils._launch_command import read_launch
from ansible_collections.llmops.sglang.plugins.module_utils._readiness import Readiness
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import read_argv
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask
from ansible_collections.llmops.sglang.plugins.module_utils._start_times import (
    StartTimes,
    configuration_key,
    default_path,
)
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, UnitState, plain_invocation_id
from ansible_collections.llmops.sglang.plugins.module_utils._unit_name import unit_name
from ansible_collections.llmops.sglang.plugins.module_utils._wait_host import Host
from ansible_collections.llmops.sglang.plugins.module_utils._wait_memory import WaitMemory, empty_result, result_of
from ansible_collections.llmops.sglang.plugins.module_utils._wait_node import refuse_other_rank
from ansible_collections.llmops.sglang.plugins.module_utils._wait_options import Verdict, WaitOptions

Params = t.Mapping[str, t.Any]
# A script may start its server at any time, and the next slice reads where that listens.
GUESS_SECONDS = 3.0


class GenerationWait:
    """One slice of a wait by a module's *params*.

    Raises Failure where the options themselves, or what they name, cannot be used.
    """

    def __init__(self, params: Params, run_command: t.Callable[..., t.Any]) -> None:
        self.params = params
        self.name = unit_name(params["name"]) if params.get("name") else None
        self.memory = WaitMemory.load(params.get("slice_state"), time.monotonic())
        self.mask = Mask([params.get("api_key")])
        _refuse_without_unit(params)
        manager = Manager(run_command, params["scope"]) if self.name else None
        self.argv = self._argv(manager, self.name) if manager and self.name else []
        self.node, nodes = node_of_argv(self.argv)
        known = self.argv and not names_no_server(self.argv)
        refuse_other_rank(self.name or "", params["until"], self.node if known else None, nodes)
        self.base_url = params.get("base_url") or (from_argv(self.argv) if manager else "")
        self.guessed = not params.get("base_url") and names_no_server(self.argv)
        self.client = HttpClient.from_params(params, self.base_url)
        self.mask = self.client.mask
        previous = plain_invocation_id(params.get("previous_invocation_id"))
        self.prober = Prober(self.client, _probe_options(params))
        for option in ("path", "health_path"):
            self.client.url(params.get(option) or "")
        self.prober.words_per_token = self.memory.words_per_token
        address = (self.client.host, self.client.port)
        self.host = Host(manager, self.name, address, self.mask, previous, self.client.through_proxy)
        self.options = replace(_wait_options(params, previous, self.host.has_unit), guessed=self.guessed)
        self.times = StartTimes(default_path())
        self.key = configuration_key(self.name or "", self.argv)

    @staticmethod
    def _argv(manager: Manager, name: str) -> list[str]:
        """The command line of the process that runs, else of the unit; empty where there is neither.

        Where a script runs the server, that of its process; where none names a server, the main process's own.
        """
        state = manager.show(name)
        running = (read_argv(state.main_pid) if state.main_pid else None) or []
        if not names_no_server(running):
            return running
        start = manager.exec_start(name) if state.exists else []
        pids = members(state.control_group) if state.main_pid and names_no_server(start) else []
        for argv in (start, *(read_argv(pid) or [] for pid in pids)):
            if not names_no_server(argv):
                return argv
        return running or start

    def run(self) -> dict[str, t.Any]:
        """The result of the slice.

        While the wait goes on it holds only C(slice_state) and C(progress); at its end it is the module's result.
        Raises Failure with the whole result where the wait failed.
        """
        memory = self.memory
        if self.argv and memory.expected_elapsed is None:
            memory.expected_elapsed = self.times.expected(self.key)
        readiness = Readiness(self.options, memory, self.host, self.prober, time.monotonic, time.sleep)
        seconds = self.params["slice_seconds"]
        verdict = readiness.run(min(seconds, GUESS_SECONDS) if self.guessed else seconds, self.params["slice_limit"])
        now = time.monotonic()
        memory.words_per_token = self.prober.words_per_token
        self._tell_slow(now)
        if verdict is None:
            return {"changed": False, "slice_state": self.mask.value(memory.dump()), "progress": self.progress(now)}
        result = {**result_of(memory, now, self.mask), "base_url": self.mask.text(self.base_url)}
        result["node_rank"] = self.node if self.argv else None
        result["progress"] = self.progress(now)
        if verdict.failure_class:
            raise self._failure(verdict, result)
        self._remember()
        return {**result, "ok": True}

    def _failure(self, verdict: Verdict, result: dict[str, t.Any]) -> Failure:
        result.update(ok=False, log_tail=self._log_tail())
        result["last_error"] = result["last_error"] or self.mask.text(verdict.msg)[:500]
        result.pop("failure_class")
        if self.guessed and verdict.failure_class in ("connection_refused", "foreign_listener", "ambiguous_listener"):
            verdict.msg += f" No command line of the unit names a server, so {self.base_url} is only SGLang's default: set base_url."
        return Failure(verdict.failure_class, self.mask.text(verdict.msg)[:1500], **result)

    def _log_tail(self) -> list[str]:
        """Of the current invocation, or of the one before where this has not written yet."""
        memory = self.memory
        return self.host.log_tail(memory.invocation_id) or self.host.log_tail(memory.earlier_invocation_id)

    def progress(self, now: float) -> dict[str, t.Any]:
        """What the operator is shown: seconds waited, stage, last telling line, and the usual time."""
        memory = self.memory
        return {
            "elapsed": round(now - memory.started, 1),
            "phase": self.mask.text(memory.phase),
            "stage": self.mask.text(memory.stage),
            "detail": memory.detail[:160],
            "expected": memory.expected_elapsed,
            "late_in": memory.late_in(now),
        }

    def _tell_slow(self, now: float) -> None:
        if (self.memory.late_in(now) or 0) < 0:
            usual = self.memory.expected_elapsed
            self.memory.warn(f"This start takes more than twice the usual {usual:g} s of its configuration.")

    def _remember(self) -> None:
        ready = self.memory.stages["ready"]
        # A server that was up before the wait began tells nothing about how long a start takes.
        if self.argv and self.memory.from_start and ready and self.params.get("keep_start_time", True):
            self.times.add(self.key, ready)


def skipped(params: Params, run_command: t.Callable[..., t.Any]) -> dict[str, t.Any]:
    """The result in check mode: the unit is looked at, no request is sent, and nothing is judged."""
    result = {**empty_result(), "skipped_reason": "check mode: no request is sent, so nothing is known of readiness"}
    if not params.get("name"):
        return {**result, "base_url": params.get("base_url")}
    try:
        manager = Manager(run_command, params["scope"])
        state: UnitState = manager.show(unit_name(params["name"]))
    except Failure:
        return result
    result.update(invocation_id=state.invocation_id or None, main_pid=state.main_pid or None)
    return result


def hidden_words(params: Params) -> list[str]:
    """What Ansible has to hide where it shows the arguments: the secrets of headers, and a password that base_url holds."""
    passwords = re.findall(r"//[^/?#:]*:([^/?#]*)@", params.get("base_url") or "")
    return [word for word in [*secrets_in(None, params.get("headers")), *passwords] if len(word) > 3]


def names_no_server(argv: t.Sequence[str]) -> bool:
    """Whether *argv* tells nothing of where a server listens, as that of a script, or of a process not executed yet."""
    return not read_launch(argv).found and argument(argv, "--port") is None


def _refuse_without_unit(params: Params) -> None:
    if params["until"] == "node" and not params.get("name"):
        raise Failure("bad_request", "The option 'until: node' looks at a unit: set name.")
    for option in ("require_owner", "previous_invocation_id", "invocation_id"):
        if params.get(option) and not params.get("name"):
            raise Failure(
                "bad_request", f"The option '{option}' can only be kept for a unit: set name, or leave it off."
            )


def _probe_options(params: Params) -> ProbeOptions:
    names = (
        "api",
        "model",
        "expected_model",
        "prompt",
        "max_tokens",
        "stream",
        "ready_when",
        "expect_regex",
        "degenerate_output",
        "require_content",
        "require_speculation",
    )
    return ProbeOptions(
        path=params.get("path") or "",
        extra_body=params.get("extra_body") or {},
        **{name: params[name] for name in names},
    )


def _wait_options(params: Params, previous: str, has_unit: bool) -> WaitOptions:
    owner = params.get("require_owner")
    return WaitOptions(
        timeout=params["timeout"],
        request_timeout=params["request_timeout"],
        poll_interval=params["poll_interval"],
        successes=max(params["successes"], 1),
        previous_invocation_id=previous,
        invocation_id=plain_invocation_id(params.get("invocation_id")),
        require_owner=has_unit if owner is None else owner,
        max_restarts=params["max_restarts"],
        fail_fast=params["fail_fast"],
        health_path="" if params.get("health_path") == "" else params.get("health_path") or "/health",
        warmup_contexts=[tokens for tokens in params["warmup_contexts"] if tokens > 0],
        warmup_concurrency=params["warmup_concurrency"],
        until=params["until"],
    )
