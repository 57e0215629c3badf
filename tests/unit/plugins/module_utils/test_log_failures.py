# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Failure classes, against the logs of real servers that failed and of real servers that did not."""

from __future__ import annotations

import json
import pathlib

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._failure_signatures import SIGNATURES, short
from ansible_collections.llmops.sglang.plugins.module_utils._journal_rows import Line
from ansible_collections.llmops.sglang.plugins.module_utils._log_failures import failure_of, findings
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState

LOGS = pathlib.Path(__file__).parents[2] / "fixtures" / "logs"
HEALTHY = sorted(path.stem for path in (LOGS / "healthy").glob("*.log"))
FAILING = {
    "0.5.15-port-in-use": ("port_in_use", "127.0.0.1:30000"),
    "0.5.15-window-below-block": ("bad_arguments", "--speculative-draft-window-size must be >="),
    "0.5.15-memory-fraction-tiny": ("out_of_memory", "--mem-fraction-static=0.001"),
    "0.5.15-draft-without-weights": ("model_load_failed", "Cannot find any model weights"),
    "0.5.15-out-of-memory": ("out_of_memory", "CUDA out of memory. Tried to allocate 302.00 MiB"),
    "0.5.15-scheduler-killed": ("server_crashed", "'scheduler_0' ended with exit code -9"),
    "0.5.15-detokenizer-killed": ("server_crashed", "'detokenizer' ended with exit code -9"),
    "0.5.23-bad-flag": ("bad_arguments", "'--no-such-flag'"),
    "0.5.23-missing-model": ("model_load_failed", "/srv/models/none"),
    "0.5.23-port-taken": ("port_in_use", "127.0.0.1:31320"),
    "0.5.23-dflash-on-cpu": ("bad_arguments", "not supported by CpuSRTPlatform"),
    "0.5.23-eagle-kernel-missing": ("server_crashed", "The Scheduler raised RuntimeError"),
    "0.5.23-scheduler-killed": ("server_crashed", "'scheduler_0' ended with exit code -9"),
    "0.5.23-detokenizer-killed": ("server_crashed", "'detokenizer' ended with exit code -9"),
    "args-0511-new-flag": ("bad_arguments", "'--speculative-draft-window-size'"),
    "args-0514-new-flag": ("server_crashed", "ProcessGroupNCCL is only supported with GPUs"),
    "args-0515-dflash-no-draft": ("bad_arguments", "requires setting --speculative-draft-model-path"),
    "args-0515-draft-path-missing": ("model_load_failed", "/nonexistent/draft"),
    "args-0515-unknown-flag": ("bad_arguments", "'--no-such-flag'"),
    "args-0515-window-not-int": ("bad_arguments", "'--speculative-draft-window-size': invalid int value: '2k'"),
    "args-0515-window-zero": ("bad_arguments", "must be positive, got 0"),
    "args-0517-new-flag": ("server_crashed", "cannot import name 'bmm_fp8'"),
    "llama.cpp-missing-model": ("model_load_failed", "failed to open GGUF file '/srv/models/none.gguf'"),
}
SAMPLES = [
    (one["row"], sample)
    for one in json.loads((LOGS / "failure_signatures.json").read_text(encoding="utf-8"))
    for sample in one["samples"]
]
TS = "[2026-05-30 08:20:46 TP0] "


def lines_of(kind, name):
    return (LOGS / kind / f"{name}.log").read_text(encoding="utf-8").splitlines()


def state(**properties):
    return UnitState("llm.service", {key: str(value) for key, value in properties.items()})


def test_every_recording_has_its_expectation():
    assert sorted(path.stem for path in (LOGS / "failing").glob("*.log")) == sorted(FAILING)
    assert len(HEALTHY) > 10


@pytest.mark.parametrize("name", sorted(FAILING))
def test_a_recorded_failure(name):
    wanted, words = FAILING[name]
    failure_class, cause = failure_of(lines_of("failing", name))
    assert failure_class == wanted
    assert words in cause
    assert len(cause) < 330 and "\n" not in cause and cause.endswith(".")


def test_every_row_of_the_table_has_a_line_and_every_line_a_row():
    names = [signature.name for signature in SIGNATURES]
    assert len(names) == len(set(names)) and {row for row, _sample in SAMPLES} == set(names)
    assert {sample["log"] for _row, sample in SAMPLES if isinstance(sample, dict)} == set(FAILING)


@pytest.mark.parametrize(("row", "sample"), SAMPLES, ids=[f"{row} {n}" for n, (row, _sample) in enumerate(SAMPLES)])
def test_a_line_meets_its_row_and_no_other(row, sample):
    recorded = isinstance(sample, dict)
    lines = lines_of("failing", sample["log"]) if recorded else sample
    wanted = next(signature for signature in SIGNATURES if signature.name == row)
    met = [signature.name for signature, _cause in findings(lines)]
    if not wanted.failure_class:
        assert met == [] and failure_of(lines) is None
    elif recorded:
        assert row in met and failure_of(lines)[0] == wanted.failure_class
    else:
        assert set(met) == {row} and failure_of(lines)[0] == wanted.failure_class
        cause = failure_of(lines)[1]
        assert cause.endswith(".") and "  " not in cause and "{" not in cause.replace("{}", ""), cause


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_start_is_no_failure(name):
    assert failure_of(lines_of("healthy", name)) is None
    running = state(ActiveState="active", Result="success", MainPID=1)
    assert failure_of(lines_of("healthy", name), running) is None


@pytest.mark.parametrize(
    "arguments",
    ["ServerArgs(tp_size=8, mem_fraction_static=0.88, page_size=1)", "{'mem_fraction_static': 0.88, 'x': 1}"],
)
def test_out_of_memory_tells_the_fraction_that_was_set(arguments):
    said = ["[2026-11-29 17:13:40] server_args=" + arguments, *lines_of("failing", "0.5.15-out-of-memory")]
    failure_class, cause = failure_of(said)
    assert failure_class == "out_of_memory" and cause.endswith(" (mem_fraction_static is 0.88).")
    killed = [said[0], "A process of this unit has been killed by the OOM killer."]
    assert "fraction" not in failure_of(killed)[1]


def test_only_the_flag_of_a_usage_error_is_named():
    usage = lines_of("failing", "args-0515-unknown-flag")
    assert len(usage) > 140
    assert failure_of(usage)[1] == "The server does not know the argument '--no-such-flag'."
    secret = ["usage: sglang serve", "sglang serve: error: unrecognized arguments: --foo 1 --bar=topsecret"]
    assert failure_of(secret) == ("bad_arguments", "The server does not know the argument '--foo', '--bar'.")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "launch_server.py: error: ambiguous option: --cuda-graph-bs could match --cuda-graph-bs-decode, --cuda-graph-bs-prefill",
            "ambiguous",
        ),
        ("sglang serve: error: the following arguments are required: --model-path/--model", "--model-path"),
        (
            "sglang serve: error: argument --load-format: invalid choice: 'x' (choose from 'auto', 'pt')",
            "invalid choice: 'x'.",
        ),
        ("error: invalid argument: --no-such", "'--no-such'"),
    ],
)
def test_other_usage_errors(line, words):
    failure_class, cause = failure_of([line])
    assert failure_class == "bad_arguments" and words in cause


def test_an_error_that_a_request_met_is_no_failure():
    lines = [
        f"{TS}ERROR:    Exception in ASGI application",
        "Traceback (most recent call last):",
        '  File "/opt/sglang/site/uvicorn/protocols/http/h11_impl.py", line 403, in run_asgi',
        "    result = await app(self.scope, self.receive, self.send)",
        "ValueError: CUDA out of memory is what the prompt says",
        f'{TS}INFO:     127.0.0.1:1 - "POST /generate HTTP/1.1" 500',
    ]
    assert failure_of(lines) is None


def test_lines_of_other_ranks_between_the_frames():
    lines = [
        f"{TS}Scheduler hit an exception: Traceback (most recent call last):",
        '  File "/opt/s/scheduler.py", line 1, in run_scheduler_process',
        "[2026-05-30 08:20:46 TP1] Load weight begin. avail mem=1.00 GB",
        "    scheduler = Scheduler(",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "",
        "[2026-05-30 08:20:46] Received sigquit from a child process. It usually means the child failed.",
    ]
    assert failure_of(lines)[0] == "out_of_memory"


def test_a_line_of_the_manager_between_the_frames():
    lines = [Line(text) for text in lines_of("failing", "0.5.15-window-below-block")]
    lines.insert(-1, Line("llm.service: Main process exited, code=exited, status=1/FAILURE", source="manager"))
    assert failure_of(lines)[0] == "bad_arguments"


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ([f"{TS}Scheduler watchdog timeout (self.watchdog_timeout=300)"], "server_crashed"),
        (
            ["[2026-05-30 08:20:46] SIGQUIT received. signum=None, frame=None. It usually means one child failed."],
            "server_crashed",
        ),
        (["RuntimeError: Rank 0 scheduler died during initialization (exit code: -9). "], "server_crashed"),
        (["[2026-05-30 08:20:46] Initialization failed. warmup error: Traceback"], "server_crashed"),
        (["[rank0]: torch.distributed.DistBackendError: NCCL error in: x"], "server_crashed"),
        (["dist_init_port at 5000 is not available in 30 seconds. x"], "port_in_use"),
        (["llm.service: A process of this unit has been killed by the OOM killer."], "out_of_memory"),
        (
            [
                f"{TS}Scheduler hit an exception: Traceback (most recent call last):",
                "  f",
                "ValueError: Model X does not implement set_dflash_layers_to_capture, which is required for DFLASH.",
            ],
            "bad_arguments",
        ),
        (
            [
                "[2026-05-30 08:20:46] server_args=ServerArgs(x='Traceback (most recent call last): error: ', y='out of memory')"
            ],
            None,
        ),
        (
            [
                "[2026-05-30 08:20:46] SIGTERM received. signum=None frame=None. Draining requests and shutting down...",
                "[2026-05-30 08:20:46] Subprocess scheduler_0 (pid=1) crashed with exit code -15. Triggering SIGQUIT for cleanup...",
                "[2026-05-30 08:20:47] SIGQUIT received. signum=None, frame=None.",
            ],
            None,
        ),
        ([], None),
    ],
)
def test_other_lines(lines, wanted):
    finding = failure_of(lines)
    assert (finding and finding[0]) == wanted


def test_the_unit_counts_where_the_lines_say_nothing():
    assert failure_of([], state(Result="oom-kill"))[0] == "out_of_memory"
    assert failure_of(["x"], state(Result="signal", ExecMainStatus=9)) == (
        "server_crashed",
        "The main process was ended by signal 9, and its lines do not say why.",
    )
    stopped = ["[2026-05-30 08:20:46] SIGTERM received. signum=None frame=None. Draining requests and shutting down..."]
    assert failure_of(stopped, state(Result="signal", ExecMainStatus=9)) is None
    assert failure_of(lines_of("failing", "0.5.23-port-taken"), state(Result="signal"))[0] == "port_in_use"


def test_a_long_cause_is_cut_between_words():
    """Half a key is not known to be one by whoever masks the sentence."""
    key = "sk-" + "0123456789" * 5
    for padding in range(150, 300):
        said = short("x" * padding + " " + key)
        assert key in said or "0123" not in said
