# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Measure one cell: evidence, warm-up, load, evidence again, and what makes the figures invalid."""

from __future__ import annotations

import asyncio
import time
import typing as t
import uuid
from dataclasses import asdict, dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils import _acceptance, _cell
from ansible_collections.llmops.sglang.plugins.module_utils._acceptance import Acceptance, Counters
from ansible_collections.llmops.sglang.plugins.module_utils._engine import EngineRunner, Job
from ansible_collections.llmops.sglang.plugins.module_utils._evidence import changes
from ansible_collections.llmops.sglang.plugins.module_utils._load_generator import Load, LoadGenerator, arrivals
from ansible_collections.llmops.sglang.plugins.module_utils._prompt_fit import fit_by_answers, fit_by_tokenizer
from ansible_collections.llmops.sglang.plugins.module_utils._prompt_text import PromptText
from ansible_collections.llmops.sglang.plugins.module_utils._request_sample import RequestSample
from ansible_collections.llmops.sglang.plugins.module_utils._server_side import ServerSide

_WARMUP_TOKENS = 32
# Of the first prompt whose tokens are counted.
_PROBE_CHARACTERS = 400
_FITTING_STREAMS = 8
_IDLE_WAIT = 15.0
_COUNTER_WAIT = 3.0
_RUNNING_INTERVAL = 1.0
# Two prompts may begin with the same few tokens by chance, most of all with a tokenizer of single bytes.
_CHANCE_TOKENS = 8


@dataclass(frozen=True)
class CellPlan:
    """A cell to measure; ``context`` is ``None`` for prompts of the user, ``concurrency`` for an open loop."""

    context: t.Optional[int]
    concurrency: t.Optional[int]
    run: int
    requests: int
    warmup: int

    @property
    def title(self) -> str:
        """The cell in words."""
        context = "own prompts" if self.context is None else f"context {self.context}"
        return f"{context}, {'open loop' if self.concurrency is None else f'concurrency {self.concurrency}'}, run {self.run}"


@dataclass
class CellSettings:
    """What all cells of a matrix share; the meaning of each is that of the module's option."""

    api: str = "chat"
    model: t.Optional[str] = None
    max_tokens: int = 512
    temperature: float = 0.0
    ignore_eos: bool = True
    load_model: str = "closed"
    rate: t.Optional[float] = None
    arrival: str = "poisson"
    seed: int = 0
    min_acceptance_length: t.Optional[float] = None
    max_cached_share: float = 0.01
    cell_timeout: float = 1800.0
    request_details: bool = False


@dataclass
class Learnt:
    """What was found out about the server's tokenizer and template; kept when a matrix is resumed."""

    characters: dict[str, int] = field(default_factory=dict)
    overhead: t.Optional[int] = None
    characters_per_token: float = 4.0
    shared_prefix: int = 0
    # Tokens of a prompt beside those that the server's tokenizer finds in its text; None where it offers none.
    beside_text: t.Optional[int] = None


@dataclass
class ServerLoad:
    """The server's own count of its requests during a load."""

    largest: t.Optional[int] = None
    excess_in_row: int = 0
    foreign: bool = False

    def note(self, running: t.Optional[int], ours: int) -> None:
        """Take in one look. A request may be counted a moment after its end, so only two looks in a row tell of others."""
        if running is None:
            return
        self.largest = max(running, self.largest or 0)
        self.excess_in_row = self.excess_in_row + 1 if running > ours else 0
        self.foreign = self.foreign or self.excess_in_row >= 2


class CellRunner:
    """Measures cells one after the other on one server.

    :arg prompts: makes prompts; the same name gives the same texts, so that two runs of a cell are alike.
    :arg learnt: what is known of the tokenizer so far; it grows.
    :arg evidence: gives the record of what runs now.
    :arg engine: a load client of others; without one this collection's own makes the load. Template, prompts and warm-up
        are always its own.
    """

    def __init__(
        self,
        side: ServerSide,
        settings: CellSettings,
        prompts: t.Callable[[str], PromptText],
        learnt: Learnt,
        evidence: t.Callable[[], dict[str, t.Any]],
        engine: t.Optional[EngineRunner] = None,
    ) -> None:
        self.side = side
        self.engine = engine
        self.settings = settings
        self.new_prompts = prompts
        self.prompts = prompts("")
        self.learnt = learnt
        self.evidence = evidence

    def measure(self, plan: CellPlan) -> tuple[dict[str, t.Any], list[dict[str, t.Any]]]:
        """The cell's record and its raw request rows."""
        before, began = self.evidence(), time.time()
        foreign = not self._idle()
        flushed = self.side.flush_cache()
        before_load, self.prompts = self.new_prompts(f"before {plan.title}"), self.new_prompts(plan.title)
        if self.learnt.overhead is None:
            self._probe_template(before_load)
        texts = self._texts(plan)
        warmup = self._warm_up(plan, before_load)
        foreign = not self._idle() or foreign
        counters = self.side.counters()
        load, seen = self._load(plan, texts)
        delta = self._counted_since(counters, len(load.samples))
        after = self.evidence()
        foreign = foreign or seen.foreign or (delta.requests or 0) > len(load.samples)
        cell: dict[str, t.Any] = {"context": plan.context, "concurrency": plan.concurrency, "run": plan.run}
        cell.update(_cell.measures(load, self.settings.max_tokens))
        done = [s for s in load.samples if s.ok]
        acceptance = _acceptance.find(load.samples, delta)
        share = _cell.cached_share(
            load.samples, self.learnt.shared_prefix, delta.cached_tokens, delta.prompt_tokens if self.engine else None
        )
        cell.update(_acceptance_keys(acceptance, self.settings.min_acceptance_length))
        changed = changes(before, after)
        if "no" in (before.get("listener_owned"), after.get("listener_owned")):
            changed.append("the port is held by a process outside of the unit")
        cell.update(
            cell_id=uuid.uuid4().hex[:16],
            cached_share=None if share is None else round(share, 5),
            cache_flushed=flushed,
            warmup_requests=len(warmup),
            shared_prefix_tokens=self.learnt.shared_prefix,
            server_running_max=seen.largest,
            began_at=began,
            prompt_digest=self.prompts.digest,
            corpus=self.prompts.corpus,
            evidence_changes=changed,
            evidence_before=before,
            evidence_after=after,
        )
        usage = all(sample.error != "no_usage" for sample in warmup) and self.learnt.overhead is not None
        reasons = self._reasons(cell, load, done, changed, foreign, before, usage)
        cell.update(valid=not reasons, reasons=reasons)
        origin = min((s.clock_start for s in load.samples), default=0.0)
        return cell, [{"cell_id": cell["cell_id"], **sample.row(origin)} for sample in load.samples]

    def _reasons(
        self,
        cell: t.Mapping[str, t.Any],
        load: Load,
        done: t.Sequence[RequestSample],
        changed: t.Sequence[str],
        foreign: bool,
        before: t.Mapping[str, t.Any],
        usage: bool,
    ) -> list[str]:
        """Why the figures do not count, in the documented words.

        :arg usage: whether the requests before the load had their tokens counted by the server.
        """
        settings, errors = self.settings, dict(cell["errors"])
        share = cell["cached_share"]
        no_usage = errors.pop("no_usage", 0)
        timeouts = errors.pop("timeout", 0)
        cut = self.engine is not None and bool(cell["short_outputs"])
        found = [
            ("evidence_changed", bool(changed)),
            ("errors", bool(errors) or not load.samples),
            # Another client takes what it is not told for max_tokens, and an answer that an error cut for a whole one.
            ("no_usage", bool(no_usage) or not (usage or self.engine is None or errors)),
            ("short_outputs", settings.ignore_eos and (cut or _cell.outputs_too_short(done, settings.max_tokens))),
            ("prompt_length", _cell.prompts_off(cell["prompt_tokens"], cell["context"])),
            ("cached", share is not None and share > settings.max_cached_share),
            ("client_saturated", cell["client"]["saturated"]),
            ("foreign_traffic", foreign),
            ("unknown_acceptance", settings.min_acceptance_length is not None and cell["acceptance_length"] is None),
            ("simulated_acceptance", bool(before.get("simulated_acceptance"))),
            ("timeout", load.timed_out or bool(timeouts)),
        ]
        return [word for word, holds in found if holds]

    def _texts(self, plan: CellPlan) -> list[str]:
        """The prompts of the cell, each fitted to its tokens."""
        wanted, learnt = plan.context, self.learnt
        if wanted is None:
            return [self.prompts.make(0) for dummy in range(plan.requests)]
        overhead, beside = learnt.overhead or 0, learnt.beside_text
        guess = learnt.characters.get(str(wanted)) or round(max(1, wanted - overhead) * learnt.characters_per_token)
        if beside is None:

            def ask(twins: list[str]) -> list[t.Optional[int]]:
                bodies = [self._body(text, 1) for text in twins]
                samples = self._generator().closed_loop(bodies, plan.concurrency or _FITTING_STREAMS).samples
                return [s.prompt_tokens for s in sorted(samples, key=lambda s: s.index)]

            texts, guess = fit_by_answers(self.prompts, wanted, plan.requests, guess, overhead, ask)
        else:

            def count(text: str) -> t.Optional[int]:
                alone = self.side.count_tokens(text, self.settings.model)
                return None if alone is None else alone + beside

            texts = []
            for dummy in range(plan.requests):
                # The next one is tried at this one's length first.
                text, guess = fit_by_tokenizer(self.prompts, wanted, guess, count)
                texts.append(text)
        learnt.characters[str(wanted)] = guess
        return texts

    def _warm_up(self, plan: CellPlan, prompts: PromptText) -> list[RequestSample]:
        """Warm the server up at the cell's own concurrency, with prompts of about its length."""
        characters = self.learnt.characters.get(str(plan.context), 0)
        tokens = min(_WARMUP_TOKENS, self.settings.max_tokens)
        bodies = [self._body(prompts.make(characters), tokens) for dummy in range(plan.warmup)]
        streams = plan.concurrency or min(_FITTING_STREAMS, plan.warmup)
        samples = self._generator().closed_loop(bodies, streams).samples if bodies else []
        self._note_prefix(samples)
        return samples

    def _probe_template(self, prompts: PromptText) -> None:
        """Tokens that the chat template adds, how many two unlike prompts share in the prefix cache, and those of text."""
        for text in ("x", prompts.make(_PROBE_CHARACTERS)):
            counters = self.side.counters()
            sample = self._generator().closed_loop([self._body(text, 1)], 1).samples[0]
            if not sample.prompt_tokens:
                return
            if self.learnt.overhead is None:
                self.learnt.overhead = sample.prompt_tokens - 1
            else:
                tokens = max(1, sample.prompt_tokens - self.learnt.overhead)
                self.learnt.characters_per_token = min(8.0, max(0.25, len(text) / tokens))
            alone = self.side.count_tokens(text, self.settings.model)
            self.learnt.beside_text = None if alone is None else sample.prompt_tokens - alone
            cached = sample.cached_tokens
            if cached is None:
                cached = int(self._counted_since(counters, 1).cached_tokens or 0)
            self.learnt.shared_prefix = min(cached, self.learnt.overhead)

    def _note_prefix(self, samples: t.Sequence[RequestSample]) -> None:
        """Warm-up prompts were never sent before: what the cache had of them is what all prompts share."""
        seen = max((s.cached_tokens or 0 for s in samples if s.ok), default=0)
        limit = (self.learnt.overhead or 0) + _CHANCE_TOKENS
        self.learnt.shared_prefix = max(self.learnt.shared_prefix, min(seen, limit))

    def _load(self, plan: CellPlan, texts: t.Sequence[str]) -> tuple[Load, ServerLoad]:
        """Run the cell's load; beside it, note how many requests the server says it has."""
        seen = ServerLoad()

        async def watch_server(load: Load) -> None:
            while True:
                await asyncio.sleep(_RUNNING_INTERVAL)
                seen.note(await self.side.running_async(), plan.concurrency or load.max_in_flight)

        s = self.settings
        if self.engine is not None:
            job = Job(
                s.api, s.model, texts, s.max_tokens, s.temperature, s.ignore_eos, plan.concurrency, s.rate, s.arrival,
                s.seed + plan.run, s.cell_timeout,
            )  # fmt: skip
            return self.engine.measure(job, [watch_server]), seen
        generator = self._generator([watch_server])
        bodies = [self._body(text, s.max_tokens) for text in texts]
        if plan.concurrency is not None:
            return generator.closed_loop(bodies, plan.concurrency), seen
        offsets = arrivals(plan.requests, s.rate or 1.0, s.arrival, s.seed + plan.run)
        return generator.open_loop(bodies, offsets), seen

    def _counted_since(self, before: Counters, requests: int) -> Counters:
        """How far the counters rose; they lag a little behind the last answer."""
        deadline = time.monotonic() + _COUNTER_WAIT
        while True:
            delta = self.side.counters().minus(before)
            if delta.requests is None or delta.requests >= requests or time.monotonic() > deadline:
                return delta
            time.sleep(0.1)

    def _idle(self) -> bool:
        """Wait until nothing runs on the server; false when something still does. True where it does not tell."""
        deadline = time.monotonic() + _IDLE_WAIT
        while True:
            if not self.side.running():
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(0.2)

    def _generator(self, beside: t.Sequence[t.Any] = ()) -> LoadGenerator:
        return LoadGenerator(self.side.server, self.settings.api, self.settings.cell_timeout, beside)

    def _body(self, prompt: str, max_tokens: int) -> dict[str, t.Any]:
        """The request of the settings' route."""
        s = self.settings
        if s.api == "generate":
            sampling = {"max_new_tokens": max_tokens, "temperature": s.temperature, "ignore_eos": s.ignore_eos}
            return {"text": prompt, "sampling_params": sampling, "stream": True}
        body: dict[str, t.Any] = {
            "model": s.model or "default",
            "max_tokens": max_tokens,
            "temperature": s.temperature,
            "ignore_eos": s.ignore_eos,
            "stream": True,
            "stream_options": {"include_usage": True, "continuous_usage_stats": True},
        }
        if s.request_details:
            body["return_spec_tokens_details"] = True
        if s.api == "chat":
            body["messages"] = [{"role": "user", "content": prompt}]
        else:
            body["prompt"] = prompt
        return body


def _acceptance_keys(found: Acceptance, floor: t.Optional[float]) -> dict[str, t.Any]:
    length = None if found.length is None else round(found.length, 4)
    return {
        "acceptance_length": length,
        "acceptance_source": found.source,
        "acceptance_formula": found.formula,
        "acceptance_floor_held": None if floor is None else bool(length is not None and length >= floor),
        "acceptance_detail": {
            k: v for k, v in asdict(found).items() if k in ("draft_rate", "mean_of_requests", "verify_steps")
        },
    }
