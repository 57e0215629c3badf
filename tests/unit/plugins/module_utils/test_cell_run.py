# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One cell from end to end, and every reason for which its figures do not count."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import replace

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils import _cell_run
from ansible_collections.llmops.sglang.plugins.module_utils._cell_run import (
    CellPlan,
    CellRunner,
    CellSettings,
    Learnt,
    ServerLoad,
)
from ansible_collections.llmops.sglang.plugins.module_utils._engine import timed_sample
from ansible_collections.llmops.sglang.plugins.module_utils._load_connection import endpoint
from ansible_collections.llmops.sglang.plugins.module_utils._load_generator import Load, LoadGenerator
from ansible_collections.llmops.sglang.plugins.module_utils._metrics_text import metric_sums
from ansible_collections.llmops.sglang.plugins.module_utils._prompt_text import PromptText
from ansible_collections.llmops.sglang.plugins.module_utils._server_side import ServerSide
from ansible_collections.llmops.sglang.tests.unit.fake_server import TEMPLATE_PREFIX, FakeServer

SAME = {"invocation_id": "a" * 32, "n_restarts": 0, "sglang_version": "0.5.15"}


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    # A busy machine makes any client late; that it is told is tested apart.
    monkeypatch.setattr(_cell_run._cell, "_LAG_FLOOR", 9.0)
    monkeypatch.setattr(_cell_run._cell, "_USUAL_LAG_FLOOR", 9.0)
    monkeypatch.setattr(_cell_run, "_IDLE_WAIT", 0.5)
    monkeypatch.setattr(_cell_run, "_COUNTER_WAIT", 0.5)
    monkeypatch.setattr(_cell_run, "_RUNNING_INTERVAL", 0.02)


@contextlib.contextmanager
def cell(plan=None, evidence=None, settings=None, learnt=None, engine=None, **server):
    """A function that measures one cell on a fake server, and the server."""
    fake = FakeServer(**{"ttft": 0.02, "step": 0.005, **server})
    try:
        salts = itertools.count()
        records = iter(evidence or itertools.repeat(SAME))
        runner = CellRunner(
            ServerSide(endpoint(fake.base_url, None, {})),
            CellSettings(**{"model": "fake", "max_tokens": 33, "cell_timeout": 30.0, **(settings or {})}),
            lambda name: PromptText(name, f"salt {next(salts)}"),
            learnt or Learnt(),
            lambda: dict(next(records)),
            engine,
        )
        yield lambda: runner.measure(plan or CellPlan(60, 2, 1, 8, 2)), fake
    finally:
        fake.close()


def reasons(**arguments):
    with cell(**arguments) as (measure, dummy):
        return measure()[0]["reasons"]


def test_a_good_cell_is_valid_and_tells_what_it_measured():
    learnt = Learnt()
    with cell(learnt=learnt, metrics=True) as (measure, fake):
        found, rows = measure()
        truth = fake.truth()
    assert (found["valid"], found["reasons"]) == (True, [])
    assert (found["context"], found["concurrency"], found["run"], found["requests"], found["warmup_requests"]) == (
        60,
        2,
        1,
        8,
        2,
    )
    assert found["prompt_tokens"]["mean"] == pytest.approx(60, abs=60 * 0.02 + 1)
    assert found["acceptance_length"] == 4.0 and found["acceptance_source"] == "counters"
    assert (found["cached_share"], found["shared_prefix_tokens"], found["cache_flushed"]) == (
        0.0,
        TEMPLATE_PREFIX,
        True,
    )
    assert len(rows) == 8 and all(row["cell_id"] == found["cell_id"] and row["chunks"] for row in rows)
    assert truth["flushes"] == 1
    texts = [row["text"] for row in truth["requests"]]
    assert len(set(texts)) == len(texts)
    assert learnt.overhead == 11


@pytest.mark.parametrize("route", ["sglang", "v1", "llama"])
@pytest.mark.parametrize("context", [60, 1000])
def test_each_prompt_has_its_length_where_the_server_tokenizes(route, context):
    learnt, plan = Learnt(), CellPlan(context, 2, 1, 6, 2)
    with cell(plan, learnt=learnt, tokenizer=route, words=True, step=0.0) as (measure, fake):
        found, rows = measure()
        truth = fake.truth()
    assert found["valid"]
    assert [row["prompt_tokens"] for row in rows] == pytest.approx([context] * 6, abs=context * 0.02)
    # No prompt was computed but for the template, the warm-up and the load.
    assert len(truth["requests"]) == 2 + 2 + 6
    assert truth["tokenized"] <= 2 + 8 * 6 and learnt.beside_text == 12


@pytest.mark.parametrize("context", [60, 1000])
def test_the_mean_length_is_right_where_only_an_answer_tells_it(context):
    with cell(CellPlan(context, 2, 1, 6, 2), words=True, step=0.0) as (measure, fake):
        found, rows = measure()
        truth = fake.truth()
    assert found["valid"] and found["cached_share"] == 0.0
    assert found["prompt_tokens"]["mean"] == pytest.approx(context, abs=max(1, context * 0.02))
    # Two for the template; a prompt is computed a few times before it is measured, behind other salts.
    assert len(truth["requests"]) <= 2 + 4 * 6 + 2 + 6
    measured = {row["text"] for row in truth["requests"][-6:]}
    assert len(measured) == 6 and not measured & {row["text"] for row in truth["requests"][:-6]}


@pytest.mark.parametrize("tokenizer", ["sglang", None])
def test_a_context_that_no_prompt_can_have_is_not_told_as_one(tokenizer):
    """Template and salt alone are longer; such a cell would stand for another load."""
    more = {"tokenizer": tokenizer} if tokenizer else {}
    assert reasons(plan=CellPlan(5, 2, 1, 4, 2), words=True, step=0.0, **more) == ["prompt_length"]
    assert reasons(plan=CellPlan(None, 2, 1, 4, 2), words=True, step=0.0, **more) == []


@pytest.mark.parametrize("api", ["completions", "generate"])
def test_the_other_routes(api):
    with cell(settings={"api": api}, spec=True) as (measure, dummy):
        found = measure()[0]
    assert found["valid"]
    expected = (4.0, "per_request") if api == "generate" else (None, "unknown")
    assert (found["acceptance_length"], found["acceptance_source"]) == expected


def test_details_are_asked_for_where_the_server_has_them():
    with cell(settings={"request_details": True, "max_tokens": 32}, details=True) as (measure, dummy):
        found = measure()[0]
    assert (found["acceptance_length"], found["acceptance_formula"]) == (4.0, "correct_drafts")


def test_an_open_loop_cell():
    with cell(CellPlan(60, None, 1, 10, 2), settings={"load_model": "open", "rate": 40.0}) as (measure, dummy):
        found = measure()[0]
    assert found["valid"] and found["concurrency"] is None and found["succeeded"] == 10


@pytest.mark.parametrize(
    "key", ["invocation_id", "n_restarts", "main_pid", "argv_sha256", "served_model", "model_path", "sglang_version"]
)
def test_another_process_at_the_end(key):
    after = {**SAME, key: "other"}
    with cell(evidence=[SAME, after]) as (measure, dummy):
        found = measure()[0]
    assert found["reasons"] == ["evidence_changed"] and len(found["evidence_changes"]) == 1


def test_a_process_outside_of_the_unit_answers():
    with cell(evidence=[SAME, {**SAME, "listener_owned": "no"}]) as (measure, dummy):
        found = measure()[0]
    assert found["reasons"] == ["evidence_changed"] and "outside" in found["evidence_changes"][0]


def test_failed_requests():
    assert reasons(fault="in_band_error", fault_every=5) == ["errors"]


def test_no_usage():
    assert reasons(fault="no_usage", fault_every=5, usage="final") == ["no_usage"]


def test_short_outputs_count_only_behind_the_natural_end():
    short = {"fault": "eos", "fault_every": 1}
    assert reasons(settings={"max_tokens": 80}, **short) == ["short_outputs"]
    assert reasons(settings={"max_tokens": 80, "ignore_eos": False}, **short) == []


def test_prompts_from_the_cache():
    assert reasons(cached="all") == ["cached"]
    assert reasons(cached="all", settings={"max_cached_share": 1.0}) == []


def test_a_server_that_tells_nothing_of_its_cache():
    with cell(cached="silent") as (measure, dummy):
        found = measure()[0]
    assert found["valid"] and found["cached_share"] is None


def test_requests_of_others():
    assert reasons(running_extra=3) == ["foreign_traffic"]


def test_requests_of_others_that_no_look_met_are_in_the_counters(monkeypatch):
    """One that comes and goes between two looks."""
    counted = CellRunner._counted_since

    def one_more(self, before, requests):
        delta = counted(self, before, requests)
        return replace(delta, requests=(delta.requests or 0) + 1) if requests > 1 else delta

    monkeypatch.setattr(CellRunner, "_counted_since", one_more)
    assert reasons(metrics=True) == ["foreign_traffic"]


@pytest.mark.parametrize("streams", [1, 3])
def test_the_server_is_warmed_up_at_the_concurrency_of_the_cell(monkeypatch, streams):
    loads, closed = [], LoadGenerator.closed_loop

    def noted(self, bodies, at_once):
        loads.append((len(bodies), at_once, bodies[0]["max_tokens"]))
        return closed(self, bodies, at_once)

    monkeypatch.setattr(LoadGenerator, "closed_loop", noted)
    assert reasons(plan=CellPlan(60, streams, 1, 6, 5), tokenizer="sglang", words=True) == []
    # Behind the two requests that tell what the template adds.
    assert loads[2:] == [(5, streams, 32), (6, streams, 33)]


def test_two_looks_in_a_row_tell_of_others():
    seen = ServerLoad()
    for running in (2, 3, 2, None, 3):
        seen.note(running, 2)
    assert not seen.foreign and seen.largest == 3
    seen.note(3, 2)
    assert seen.foreign


def test_a_floor_needs_a_known_acceptance():
    assert reasons(settings={"min_acceptance_length": 3.0}) == ["unknown_acceptance"]
    with cell(settings={"min_acceptance_length": 5.0}, metrics=True) as (measure, dummy):
        found = measure()[0]
    assert found["valid"] and found["acceptance_floor_held"] is False


def test_made_up_acceptance():
    assert reasons(evidence=itertools.repeat({**SAME, "simulated_acceptance": True})) == ["simulated_acceptance"]


def test_a_client_that_cannot_keep_up(monkeypatch):
    monkeypatch.setattr(_cell_run._cell, "_CPU_CEILING", 0.0)
    assert reasons() == ["client_saturated"]


def test_a_cell_that_takes_too_long():
    found = reasons(fault="drip", fault_every=5, settings={"cell_timeout": 1.5})
    # How many requests fit the prompts depends on the texts of this Python: one that drips before the load is still there in it.
    assert "timeout" in found and set(found) <= {"timeout", "foreign_traffic"}


def test_nobody_there():
    with cell() as (measure, fake):
        fake.close()
        found = measure()[0]
    assert found["reasons"] == ["errors"] and found["errors"] == {"refused": 8}


class OtherClient:
    """A load client that answers all requests of a cell, with as many tokens as it is told."""

    def __init__(self, tokens=33, error=""):
        self.tokens, self.error, self.jobs, self.seen = tokens, error, [], []

    def measure(self, job, beside):
        self.jobs.append(job)
        samples = [timed_sample(n, 0.1, [(0.02, None)] * 8, self.tokens) for n in range(len(job.prompts))]
        for sample in samples[:2]:
            sample.error = self.error
        return Load(samples=samples, span=2.0, watched=False)


def test_another_client_makes_the_load_and_nothing_else():
    client = OtherClient()
    with cell(engine=client, metrics=True) as (measure, fake):
        found, rows = measure()
        truth = fake.truth()
    assert (found["valid"], found["output_tokens_per_second"]) == (True, 8 * 33 / 2)
    (job,) = client.jobs
    assert (job.api, job.streams, job.max_tokens, job.ignore_eos) == ("chat", 2, 33, True)
    assert len(set(job.prompts)) == len(job.prompts) == 8
    # Template, fitting and warm-up are the own generator's; the prompts of the load are sent by nobody else.
    assert truth["requests"] and not {row["text"] for row in truth["requests"]} & {text[:80] for text in job.prompts}
    # No request of the load reached the server: its counters tell of none, and the acceptance stays unknown.
    assert found["acceptance_source"] == "unknown" and len(rows) == 8


def test_what_another_client_takes_for_a_success_is_none():
    """It sees no error within a stream, which shows as an answer that is too short."""
    assert reasons(engine=OtherClient(tokens=32)) == ["short_outputs"]
    assert reasons(engine=OtherClient(tokens=32), settings={"ignore_eos": False}) == []
    assert reasons(engine=OtherClient(error="reset")) == ["errors"]


@pytest.mark.parametrize("warmup", [0, 2])
def test_another_client_is_not_believed_where_the_server_does_not_count(warmup):
    """It would take what it is not told for max_tokens."""
    assert reasons(engine=OtherClient(), plan=CellPlan(60, 2, 1, 8, warmup), usage="none") == ["no_usage"]


def test_metrics_are_summed_over_data_ranks_and_taken_once_of_tensor_ranks():
    text = "\n".join(
        f'sglang:num_running_reqs{{dp_rank="{dp}",tp_rank="{tp}"}} {1 + dp}.0' for dp in (0, 1) for tp in (0, 1)
    )
    assert metric_sums("# HELP x y\n" + text + '\nother{a="b"} NaN\n')["sglang:num_running_reqs"] == 3.0
