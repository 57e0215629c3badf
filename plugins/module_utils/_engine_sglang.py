# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The load client that ships inside a server's own environment: SGLang's compiled one, else its Python one.

Which of the two is there differs by release, platform and what else is installed, so each is asked for its help first: it
must load, and know every option that is used here.
"""

from __future__ import annotations

import glob
import json
import os
import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._engine import (
    Job,
    RunCommand,
    kind_of,
    plain_url,
    timed_sample,
    write_private,
)
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._load_connection import Endpoint
from ansible_collections.llmops.sglang.plugins.module_utils._request_sample import RequestSample
from ansible_collections.llmops.sglang.plugins.module_utils._sglang_install import find_sglang

_BACKENDS = {"chat": "sglang-oai-chat", "completions": "sglang-oai", "generate": "sglang"}
# The extension needs no part of SGLang: alone it starts in a fraction of a second, where the package takes many.
_ALONE = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("_bench", sys.argv[1])
client = importlib.util.module_from_spec(spec)
spec.loader.exec_module(client)
client.run_argv(["sglang-bench", *sys.argv[2:]])
"""
_PYTHON_CLIENTS = ("sglang.benchmark.serving", "sglang.bench_serving")
_OPTIONS = (
    "--backend", "--base-url", "--dataset-name", "--dataset-path", "--sharegpt-output-len", "--num-prompts",
    "--warmup-requests", "--tokenizer", "--model", "--output-file", "--output-details", "--seed", "--max-concurrency",
    "--request-rate", "--disable-ignore-eos", "--extra-request-body", "--temperature",
)  # fmt: skip
_QUIET = ("--disable-tqdm", "--disable-retokenize")
# Variables that systemd gives to the service's own process.
_OF_THE_SERVICE = (
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "LISTEN_",
    "MAINPID",
    "MANAGERPID",
    "NOTIFY_",
    "SYSTEMD_",
    "WATCHDOG_",
)
# Neither fetch from a hub nor leave files of this user in the server's directories.
_SETTINGS = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONWARNINGS": "ignore",
}
_HELP_TIMEOUT = 180

_CAVEATS = (
    "An error within a stream is a success to this client: with ignore_eos it shows as a short output, without it not at all.",
    "An answer without usage counts as max_tokens: whether the server reports usage was seen on the warm-up requests alone.",
    "Throughput is over the client's own duration, from its start of the load to the end of the last answer.",
    "An open loop counts from the sending and not from the scheduled time.",
    "Finish reasons, prompt tokens, the first content and the client's own lateness are not told.",
    "The prompts are sent in an order of its own.",
)
_CHUNK_CAVEAT = "TPOT divides by all tokens but one, which makes a first chunk of several tokens look too fast."
_PYTHON_CAVEAT = (
    "This Python client parses all streams in one thread and is late with first tokens by 5 to 15 ms, by more with many "
    "streams; an empty answer is a success to it."
)


class SglangClient:
    """The client in the environment of *python*.

    :arg environ: variables of the server's process.
    :arg tokenizer: where the server has its tokenizer from.
    :raises Failure: ``missing_dependency`` if there is none that can be used.
    """

    name = "sglang"

    def __init__(
        self,
        run_command: RunCommand,
        python: str,
        environ: t.Mapping[str, str],
        server: Endpoint,
        tokenizer: t.Optional[str],
    ) -> None:
        self.url = plain_url(server, self.name)
        self.api_key, self.mask = server.api_key, server.mask
        self.tokenizer = tokenizer
        kept = {key: text for key, text in environ.items() if not key.startswith(_OF_THE_SERVICE)}
        self.environ = {**kept, **_SETTINGS}
        self._run_command = run_command
        try:
            install = find_sglang(run_command, python, environ)
        except Failure as failure:
            raise Failure(
                "missing_dependency",
                f"'{python}' is no interpreter with an SGLang whose load client could be used: set 'engine_python' to one that has "
                "it, or use the engine 'builtin', which needs nothing installed.",
            ) from failure
        self.version: t.Optional[str] = install.version
        self.words, self.client, self.options = self._find(python, install.stamp.rpartition(" ")[0])
        self.caveats = (*_CAVEATS, *([_PYTHON_CAVEAT] if self.words[-2] == "-m" else []))

    def _find(self, python: str, launcher: str) -> tuple[list[str], str, str]:
        """Words that run the first client that works, its name, and its help text."""
        found = sorted(glob.glob(os.path.join(os.path.dirname(launcher), "srt", "rust_extensions", "_bench*.so")))
        tries = [([python, "-I", "-c", _ALONE, path], os.path.basename(path)) for path in found]
        tries += [([python, "-m", module], module) for module in _PYTHON_CLIENTS]
        reasons = []
        for words, title in tries:
            command = ["timeout", str(_HELP_TIMEOUT), *words, "--help"]
            rc, out, err = self._run_command(command, environ_update={**self.environ, "COLUMNS": "200"}, check_rc=False)
            missing = [option for option in _OPTIONS if not re.search(rf"{option}(?![\w-])", out)]
            if rc == 0 and not missing:
                return words, title, out
            why = f"lacks {missing[0]}" if rc == 0 else (" ".join(err.split())[-120:] or f"exit status {rc}")
            reasons.append(f"{title}: {why}")
        raise Failure(
            "missing_dependency",
            f"SGLang {self.version} of '{python}' has no load client that works there ({'; '.join(reasons)}): install what it "
            "lacks, or use the engine 'builtin', which needs nothing installed.",
        )

    def check(self, api: str, load_model: str, arrival: str) -> None:
        if load_model == "open" and arrival != "poisson":
            raise Failure(
                "bad_request",
                f"The engine 'sglang' spaces the requests of an open loop as a Poisson process only, not '{arrival}': set "
                "'arrival: poisson', or use the engine 'builtin'.",
            )
        if api != "generate" and _CHUNK_CAVEAT not in self.caveats:
            self.caveats = (*self.caveats, _CHUNK_CAVEAT)

    def command(self, job: Job, directory: str) -> tuple[list[str], dict[str, str]]:
        # It takes the first turn of each conversation, and only those that have a second one.
        turns = [[{"from": "human", "value": text}, {"from": "gpt", "value": "An answer."}] for text in job.prompts]
        dataset = write_private(directory, "prompts.json", json.dumps([{"conversations": one} for one in turns]))
        words = [
            *self.words,
            *("--backend", _BACKENDS[job.api], "--base-url", self.url, "--model", job.model or "default"),
            *("--dataset-name", "sharegpt", "--dataset-path", dataset, "--num-prompts", str(len(job.prompts))),
            *("--sharegpt-output-len", str(job.max_tokens), "--temperature", str(job.temperature)),
            *("--warmup-requests", "0", "--seed", str(job.seed)),
            *("--output-file", os.path.join(directory, "result.jsonl"), "--output-details"),
            *(option for option in _QUIET if option in self.options),
        ]
        if self.tokenizer:
            words += ["--tokenizer", self.tokenizer]
        if job.streams is not None:
            words += ["--max-concurrency", str(job.streams)]
        else:
            words += ["--request-rate", str(job.rate)]
        if not job.ignore_eos:
            words.append("--disable-ignore-eos")
        if job.api != "generate":
            usage = {"include_usage": True, "continuous_usage_stats": True}
            body = {"stream_options": usage, "temperature": job.temperature, "ignore_eos": job.ignore_eos}
            words += ["--extra-request-body", json.dumps(body)]
        return words, {**self.environ, **({"OPENAI_API_KEY": self.api_key} if self.api_key else {})}

    def read(self, job: Job, directory: str) -> t.Optional[tuple[list[RequestSample], float]]:
        try:
            with open(os.path.join(directory, "result.jsonl"), encoding="utf-8") as handle:
                result = json.loads(handle.read().splitlines()[-1])
            rows = zip(result["ttfts"], result["itls"], result["output_lens"], result["errors"])
            samples = [_sample(index, job.api, *row) for index, row in enumerate(rows)]
            return samples, float(result["duration"])
        except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
            return None


def _sample(index: int, api: str, ttft: float, itls: t.Sequence[float], tokens: int, error: str) -> RequestSample:
    if error or ttft <= 0 or tokens <= 0:
        kind = kind_of(error) if error else "no_token"
        return RequestSample(index, 0.0, 0.0, error=kind, message=error or "the stream ended with no token in it")
    if api != "generate":
        return timed_sample(index, ttft, [(gap, None) for gap in itls], tokens)
    # On its own route the client spreads each gap between chunks evenly over the tokens of the later one.
    chunks: list[tuple[float, int]] = []
    for gap in itls:
        if chunks and chunks[-1][0] == gap:
            chunks[-1] = (gap, chunks[-1][1] + 1)
        else:
            chunks.append((gap, 1))
    return timed_sample(index, ttft, [(gap * size, size) for gap, size in chunks], tokens, tokens - len(itls))
