# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""GuideLLM as a load client, where it is installed: its configuration file, and its report of version 2."""

from __future__ import annotations

import json
import os
import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._engine import (
    Job,
    RunCommand,
    kind_of,
    plain_url,
    write_private,
)
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._generation_request import PATHS
from ansible_collections.llmops.sglang.plugins.module_utils._load_connection import Endpoint
from ansible_collections.llmops.sglang.plugins.module_utils._request_sample import RequestSample

# The first releases with 'guidellm run' and its present configuration file, and the one that has been tried.
_SINCE, _TRIED = (0, 7), "0.8.1"
_REPORT_VERSION = 2
_PROBE_TIMEOUT = 180
# Neither fetch from a hub nor tell anybody of this run.
_SETTINGS = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "DO_NOT_TRACK": "1"}

_CAVEATS = (
    "An answer without usage is counted by the client's own tokenizer: whether the server reports usage was seen on the warm-up "
    "requests alone.",
    "Single chunks are not told, so there is no chunk gap; TPOT divides by all tokens but one, which makes a first chunk of "
    "several tokens look too fast.",
    "The client's own lateness and the finish reasons are not told; it was late by 2 % at 8 streams and by 100 % at 512 when "
    "it was measured.",
)


class GuidellmClient:
    """The tool that *command* runs.

    :arg tokenizer: where the server has its tokenizer from.
    :raises Failure: ``missing_dependency`` if it does not run, or is of a release that is configured in another way.
    """

    name = "guidellm"

    def __init__(
        self, run_command: RunCommand, command: t.Sequence[str], server: Endpoint, tokenizer: t.Optional[str]
    ) -> None:
        self.url = plain_url(server, self.name)
        self.api_key, self.mask = server.api_key, server.mask
        self.tokenizer = tokenizer
        self.words = list(command)
        self.client = " ".join(command)
        self.caveats: t.Sequence[str] = _CAVEATS
        words = ["timeout", str(_PROBE_TIMEOUT), *command, "--version"]
        rc, out, err = run_command(words, environ_update=_SETTINGS, check_rc=False)
        found = re.search(r"\b(\d+)\.(\d+)(?:\.\w+)*", out)
        if rc != 0 or not found or (int(found.group(1)), int(found.group(2))) < _SINCE:
            said = " ".join((out + err).split())[-200:] or f"exit status {rc}"
            raise Failure(
                "missing_dependency",
                f"'{self.client}' is no GuideLLM from {_SINCE[0]}.{_SINCE[1]} on that works ({said}): install GuideLLM {_TRIED}, set "
                "'engine_python' to the interpreter of its environment, or use the engine 'builtin'.",
            )
        self.version: t.Optional[str] = found.group(0)

    def check(self, api: str, load_model: str, arrival: str) -> None:
        if api == "generate":
            raise Failure(
                "bad_request",
                "The engine 'guidellm' does not know SGLang's own route: set 'api' to chat or completions, or use another engine.",
            )

    def command(self, job: Job, directory: str) -> tuple[list[str], dict[str, str]]:
        rows = [json.dumps({"prompt": text, "output_tokens_count": job.max_tokens}) for text in job.prompts]
        prompts = write_private(directory, "prompts.jsonl", "\n".join(rows) + "\n")
        body = {
            "temperature": job.temperature,
            "ignore_eos": job.ignore_eos,
            "stream_options": {"include_usage": True, "continuous_usage_stats": True},
        }
        backend = {
            "kind": "openai_http",
            "target": self.url,
            "model": job.model or "default",
            "request_format": PATHS[job.api],
            "stream": True,
            "max_tokens": job.max_tokens,
            "http2": False,
            # Its own look at a health route says nothing, and not every server has one.
            "validate_backend": False,
            "extras": {"body": body},
            **({"api_key": self.api_key} if self.api_key else {}),
        }
        profile: dict[str, t.Any] = {"kind": "concurrent", "streams": [job.streams]}
        if job.streams is None:
            profile = {"kind": job.arrival, "rate": [job.rate]}
        spec = {
            "backend": backend,
            "profile": profile,
            "constraints": [
                {"kind": "max_requests", "count": len(job.prompts)},
                {"kind": "max_duration", "seconds": job.timeout},
            ],
            "data": [{"kind": "json_file", "path": prompts}],
            "seed": {"kind": "static", "value": job.seed},
            "outputs": [{"kind": "json", "path": os.path.join(directory, "report.json")}],
            **({"tokenizer": {"kind": "hf_auto", "model": self.tokenizer}} if self.tokenizer else {}),
        }
        # The key stands in this file and nowhere in the command line.
        config = write_private(directory, "run.json", json.dumps({"spec": spec}))
        # Its caches go where its files go: into a directory that is removed.
        environ = {**_SETTINGS, "HF_DATASETS_CACHE": os.path.join(directory, "cache")}
        return [*self.words, "run", "-c", config, "--disable-console"], environ

    def read(self, job: Job, directory: str) -> t.Optional[tuple[list[RequestSample], float]]:
        try:
            with open(os.path.join(directory, "report.json"), encoding="utf-8") as handle:
                report = json.load(handle)
            return read_report(report, job)
        except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
            return None


def read_report(report: t.Mapping[str, t.Any], job: Job) -> t.Optional[tuple[list[RequestSample], float]]:
    """Samples, and seconds from the first sending to the last token; ``None`` for a report of another version."""
    if report["metadata"]["version"] != _REPORT_VERSION:
        return None
    requests = report["benchmarks"][0]["requests"]
    found = [(row, kind) for kind in ("successful", "errored", "incomplete") for row in requests.get(kind) or []]
    samples = [_sample(index, row, kind, job) for index, (row, kind) in enumerate(found)]
    ends = [one.last_token_at for one in samples if one.ok and one.last_token_at is not None]
    return samples, max(ends) - min(one.sent_at for one in samples) if ends else 0.0


def _sample(index: int, row: t.Mapping[str, t.Any], kind: str, job: Job) -> RequestSample:
    """One request; its times are those of the client's wall clock."""
    info = row["info"]
    times = info["timings"]
    sent = times.get("request_start") or times.get("resolve_start") or 0.0
    due = times.get("targeted_start") if job.streams is None else None
    sample = RequestSample(index, due or sent, sent, ended_at=times.get("request_end") or sent, chunks_told=False)
    sample.prompt_tokens, sample.cached_tokens = row.get("prompt_tokens"), row.get("cached_tokens")
    first, last = times.get("first_token_iteration"), times.get("last_token_iteration")
    if kind == "incomplete":
        sample.error, sample.message = "timeout", "not answered within the time of the cell"
    elif kind == "errored":
        sample.message = str(info.get("error") or row.get("error") or "")
        sample.error = kind_of(sample.message)
    elif first is None or not row.get("output_tokens"):
        sample.error, sample.message = "no_token", "the stream ended with no token in it"
    else:
        sample.first_token_at, sample.last_token_at = first, last
        sample.first_content_at = times.get("first_output_token_iteration")
        sample.completion_tokens = row["output_tokens"]
        sample.token_chunks = [(first, None), *([(last, None)] if last > first else [])]
    return sample
