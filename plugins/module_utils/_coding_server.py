# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What a coding evaluation needs around its tasks: the server that is asked, the tasks that are chosen, the record."""

from __future__ import annotations

import json
import os
import sys
import time
import typing as t
import uuid

from ansible_collections.llmops.sglang.plugins.module_utils import _endpoint, _evidence
from ansible_collections.llmops.sglang.plugins.module_utils._built_in_tasks import BUILT_IN
from ansible_collections.llmops.sglang.plugins.module_utils._coding_eval import Answer, NotAnswered, TaskReport
from ansible_collections.llmops.sglang.plugins.module_utils._coding_tasks import CodingTask, parse_tasks, select
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure, missing_dependency
from ansible_collections.llmops.sglang.plugins.module_utils._http_client import HttpClient, HttpError
from ansible_collections.llmops.sglang.plugins.module_utils._ownership import owner_at
from ansible_collections.llmops.sglang.plugins.module_utils._record_file import (
    make_directory,
    record_name,
    write_atomically,
)
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import read_argv
from ansible_collections.llmops.sglang.plugins.module_utils._served_models import served_names
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager

SCHEMA_VERSION = 1


class CodingServer:
    """The server of a module's connection options, asked by chat.

    :raises Failure: if *requests* or the named unit is missing.
    """

    def __init__(self, params: t.Mapping[str, t.Any], manager: t.Optional[Manager], name: t.Optional[str]) -> None:
        self._params = params
        self._manager = manager
        self._name = name
        base_url = params["base_url"]
        if manager and name:
            state = manager.show(name)
            if not state.exists:
                raise manager.no_such_unit(state)
            running = read_argv(state.main_pid) if state.main_pid else None
            base_url = base_url or _endpoint.from_argv(running or manager.exec_start(name))
        self._client = HttpClient.from_params(params, base_url)
        self.mask = self._client.mask
        self._model: t.Optional[str] = params["model"]
        self.owned, self.hidden = "unknown", False

    def evidence(self) -> dict[str, t.Any]:
        """What runs now."""
        record = _evidence.collect(self._manager, self._name, self._get)
        return {**_evidence.of_a_server_at(self._client.host, record), "listener_owned": self.owned}

    def check_owner(self) -> None:
        """Refuse answers of a process that is not the unit's.

        :raises Failure: ``foreign_listener``; nothing is said where the address is another machine's or nobody listens.
        """
        if not (self._manager and self._name) or self._client.through_proxy:
            return
        owner = owner_at(self._client.host, self._client.port, self._manager.show(self._name))
        self.owned, self.hidden = (owner.owned, owner.owned == "unknown") if owner else ("unknown", False)
        if owner and owner.foreign:
            raise Failure(
                "foreign_listener",
                f"Port {self._client.port} is answered by {owner.who()} and not by the unit '{self._name}': end that process, or give "
                "the unit another port.",
            )

    def _get(self, path: str) -> t.Optional[tuple[int, t.Any]]:
        try:
            answer = self._client.send("GET", path, timeout=10)
            return answer.status, answer.json() if answer.ok else None
        except HttpError:
            return None

    def ask(self, prompt: str) -> Answer:
        """The model's answer to *prompt*.

        :raises NotAnswered: if there is none.
        """
        body = {
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": self._params["max_tokens"],
            "temperature": self._params["temperature"],
            **self._params["extra_body"],
        }
        try:
            body.setdefault("model", self._model_name())
            decoded = self._client.json("POST", "/v1/chat/completions", body, timeout=self._params["request_timeout"])
        except HttpError as exc:
            raise NotAnswered(f"{exc.kind}: {exc.msg}", in_vain=exc.kind == "timeout") from exc
        return answer_of(decoded)

    def _model_name(self) -> str:
        if self._model is None:
            names = served_names(self._client.json("GET", "/v1/models", timeout=10))
            self._model = names[0] if names else "default"
        return self._model


def answer_of(decoded: t.Any) -> Answer:
    """The first choice of a chat completion.

    :raises NotAnswered: if *decoded* is no chat completion.
    """
    choices = decoded.get("choices") if isinstance(decoded, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message")
    if not isinstance(message, dict):
        raise NotAnswered(f"bad_answer: the answer is no chat completion: {json.dumps(decoded)[:120]}")
    content = message.get("content")
    usage = decoded.get("usage")
    tokens = usage.get("completion_tokens") if isinstance(usage, dict) else None
    return Answer(
        content if isinstance(content, str) else "",
        choice.get("finish_reason"),
        tokens if isinstance(tokens, int) else None,
    )


def chosen_tasks(params: t.Mapping[str, t.Any]) -> list[CodingTask]:
    """The user's tasks, else the built-in ones; those of them that the option ``task_names`` names.

    :raises Failure: ``bad_request`` if they cannot be used.
    """
    for name in ("max_tokens", "samples", "request_timeout", "task_timeout"):
        # Not "<= 0": that holds for no comparison with NaN.
        if not params[name] > 0:
            raise Failure("bad_request", f"The option '{name}' must be above 0, not {params[name]}.")
    if params["tasks"] is not None:
        tasks: t.Sequence[CodingTask] = parse_tasks(params["tasks"], "the option 'tasks'")
    elif params["tasks_file"]:
        tasks = parse_tasks(_read(params["tasks_file"]), f"the file '{params['tasks_file']}'")
    else:
        tasks = BUILT_IN
    return select(tasks, params["task_names"])


def _read(path: str) -> t.Any:
    try:
        with open(path, encoding="utf-8") as handle:
            text = handle.read()
    except (OSError, UnicodeDecodeError) as exc:
        raise Failure("bad_request", f"The tasks in '{path}' cannot be read on this host: {exc}.") from exc
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        import yaml
    except ImportError:
        raise missing_dependency(
            "PyYAML", sys.executable, f"to read the tasks in '{path}', which is not JSON"
        ) from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as exc:
        raise Failure(
            "bad_request", f"The tasks in '{path}' are neither JSON nor YAML: {' '.join(str(exc).split())[:200]}."
        ) from exc


def write_record(
    params: t.Mapping[str, t.Any],
    reports: t.Sequence[TaskReport],
    result: t.Mapping[str, t.Any],
    after: t.Mapping[str, t.Any],
) -> str:
    """Write the evaluation with the whole code of every sample; the path."""
    now, run_id = time.time(), uuid.uuid4().hex
    path = os.path.join(params["results_dir"], record_name(params["label"], run_id, now) + ".json")
    record = {
        "schema_version": SCHEMA_VERSION,
        "label": params["label"],
        "run_id": run_id,
        "finished_at": now,
        "options": {
            key: params[key]
            for key in (
                "max_tokens",
                "temperature",
                "samples",
                "extra_body",
                "task_timeout",
                "memory_max",
                "task_names",
            )
        },
        **{key: result[key] for key in result if key not in ("tasks", "evidence")},
        "evidence_before": result["evidence"],
        "evidence_after": after,
        "tasks": [
            {**report.as_result(), "all_samples": [vars(outcome) for outcome in report.outcomes]} for report in reports
        ],
    }
    make_directory(params["results_dir"])
    write_atomically(path, (json.dumps(record, indent=1) + "\n").encode())
    return path
