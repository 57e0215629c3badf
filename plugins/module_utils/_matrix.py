# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""A benchmark matrix: which cells in which order, measured one after the other, resumed where it was interrupted."""

from __future__ import annotations

import os
import platform
import time
import typing as t
import uuid
from dataclasses import asdict, dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils import _benchmark_record
from ansible_collections.llmops.sglang.plugins.module_utils._benchmark_record import PartialRecord
from ansible_collections.llmops.sglang.plugins.module_utils._cell_run import CellPlan, CellRunner, CellSettings, Learnt
from ansible_collections.llmops.sglang.plugins.module_utils._engine import BUILTIN, EngineRunner
from ansible_collections.llmops.sglang.plugins.module_utils._evidence import changes
from ansible_collections.llmops.sglang.plugins.module_utils._listener import local_addresses
from ansible_collections.llmops.sglang.plugins.module_utils._prompt_text import PromptText
from ansible_collections.llmops.sglang.plugins.module_utils._server_side import ServerSide


@dataclass(frozen=True)
class Profile:
    """Runs of each cell, requests of a run by stream (but not fewer than ``fewest``), and warm-ups at the least."""

    runs: int
    requests_by_stream: int
    fewest: int
    warmup: int


PROFILES = {"quick": Profile(1, 2, 8, 1), "standard": Profile(3, 5, 1, 8), "long": Profile(5, 10, 1, 8)}
# An open loop has no streams; its number of requests is that of this many.
_OPEN_LOOP_STREAMS = 8


@dataclass
class MatrixPlan:
    """What is to be measured; the meaning of each is that of the module's option."""

    contexts: t.Sequence[t.Optional[int]]
    concurrency: t.Sequence[int]
    profile: str = "quick"
    requests: t.Optional[int] = None
    repeats: t.Optional[int] = None
    warmup: t.Optional[int] = None
    settings: CellSettings = field(default_factory=CellSettings)
    prompts: t.Sequence[str] = ()
    label: str = ""
    require_evidence: bool = True
    # What else tells this matrix from another one: server, unit, engine.
    identity: dict[str, t.Any] = field(default_factory=dict)

    def cells(self) -> list[CellPlan]:
        """All cells; the runs are outermost, so that a drift of the host spreads over all cells alike."""
        profile = PROFILES[self.profile]
        streams: t.Sequence[t.Optional[int]] = self.concurrency if self.settings.load_model == "closed" else [None]
        return [
            self._cell(profile, context, concurrency, run)
            for run in range(1, (self.repeats or profile.runs) + 1)
            for context in self.contexts
            for concurrency in streams
        ]

    def _cell(self, profile: Profile, context: t.Optional[int], concurrency: t.Optional[int], run: int) -> CellPlan:
        streams = concurrency or _OPEN_LOOP_STREAMS
        requests = self.requests or max(profile.fewest, profile.requests_by_stream * streams)
        # Drafting warms up over the first requests after a start and at each new batch size; later runs find it warm.
        warmup = self.warmup if self.warmup is not None else max(streams, profile.warmup if run == 1 else 1)
        return CellPlan(context, concurrency, run, requests, warmup)

    def key(self) -> dict[str, t.Any]:
        """What makes a partial record one of this very matrix."""
        asked = asdict(self)
        asked["contexts"], asked["concurrency"], asked["prompts"] = (
            list(self.contexts),
            list(self.concurrency),
            list(self.prompts),
        )
        return asked


class Matrix:
    """Runs a plan against a server and keeps its record in a directory.

    :arg evidence: gives the record of what runs now.
    :arg clock: monotonic seconds.
    :arg settings: tells how the server is set.
    :arg engine: a load client of others; without one this collection's own makes the load.
    """

    def __init__(
        self,
        plan: MatrixPlan,
        side: ServerSide,
        directory: str,
        evidence: t.Callable[[], dict[str, t.Any]],
        clock: t.Callable[[], float] = time.monotonic,
        settings: t.Callable[[], dict[str, t.Any]] = dict,
        engine: t.Optional[EngineRunner] = None,
    ) -> None:
        self.plan = plan
        self.side = side
        self.directory = directory
        self.evidence = evidence
        self.clock = clock
        self.settings = settings
        self.engine = engine
        self.partial = PartialRecord(directory, plan.key())
        self.measured_now: list[dict[str, t.Any]] = []

    def run(
        self, resume: bool, run_id: t.Optional[str] = None, slice_seconds: t.Optional[float] = None
    ) -> dict[str, t.Any]:
        """Measure what is missing.

        :arg resume: take up an interrupted matrix where the same process still runs.
        :arg run_id: go on with exactly this run, whose earlier slices this module has measured.
        :arg slice_seconds: end after the first cell that ends later than this; ``None`` measures all.
        :raises Failure: ``condition_not_met`` while another run measures the very same.
        """
        with self.partial.held():
            return self._run(resume, run_id, slice_seconds)

    def _run(self, resume: bool, run_id: t.Optional[str], slice_seconds: t.Optional[float]) -> dict[str, t.Any]:
        self._take_up(resume, run_id)
        state = self.partial.state
        runner = self._runner()
        deadline = None if slice_seconds is None else self.clock() + slice_seconds
        for cell_plan in self._missing():
            cell, rows = runner.measure(cell_plan)
            self._bind(cell)
            state["learnt"] = asdict(runner.learnt)
            self.partial.add(cell, rows)
            self.measured_now.append(cell)
            if deadline is not None and self.clock() >= deadline:
                break
        missing = self._missing()
        return self._unfinished(missing) if missing else self._finished()

    def _bind(self, cell: dict[str, t.Any]) -> None:
        """Make *cell* invalid where its process is not the one of the cell before: the server changed between the two.

        Once a cell has told the change, the later ones are valid by their own evidence.
        """
        cells = self.partial.state["cells"]
        before = cells[-1]["evidence_after"] if cells else self.partial.state["evidence_before"]
        changed = changes(before, cell["evidence_before"])
        told = cells and "evidence_changed" in cells[-1]["reasons"]
        if changed and not told and "evidence_changed" not in cell["reasons"]:
            cell.update(valid=False, reasons=["evidence_changed", *cell["reasons"]], evidence_changes=changed)

    def _take_up(self, resume: bool, run_id: t.Optional[str]) -> None:
        found = self.partial.read()
        if found and run_id and self.partial.state.get("run_id") == run_id:
            return
        now = self.evidence()
        if found and resume and self._still_the_same(now):
            state = self.partial.state
            # Figures of a process that is gone would stand beside those of this one.
            state["cells"] = [c for c in state["cells"] if c["valid"] and not changes(c["evidence_after"], now)]
            state.update(resumed_cells=len(state["cells"]), run_id=run_id or uuid.uuid4().hex)
            self.partial.save()
            return
        self.partial.begin(
            {
                "run_id": run_id or uuid.uuid4().hex,
                "salt": uuid.uuid4().hex,
                "started_at": time.time(),
                "learnt": asdict(Learnt()),
                "resumed_cells": 0,
                "evidence_before": now,
                "engine": self._engine(),
                "server": self.settings(),
            }
        )

    def _still_the_same(self, now: t.Mapping[str, t.Any]) -> bool:
        cells = self.partial.state.get("cells") or []
        last = cells[-1].get("evidence_after") if cells else self.partial.state.get("evidence_before")
        if not isinstance(last, dict) or changes(last, now) or self.partial.state.get("engine") != self._engine():
            return False
        # From afar one start of a server looks like the next, whatever it was started with.
        return bool(now.get("invocation_id"))

    def _engine(self) -> dict[str, t.Any]:
        """What made the load."""
        return self.engine.described if self.engine else dict(BUILTIN)

    def _runner(self) -> CellRunner:
        state = self.partial.state
        plan = self.plan

        def prompts(name: str) -> PromptText:
            # The salt is one of this very use: the server has never seen such a prompt, whatever ran before.
            return PromptText(f"{plan.settings.seed}/{name}", f"{state['salt']}/{uuid.uuid4().hex}", plan.prompts)

        return CellRunner(self.side, plan.settings, prompts, Learnt(**state["learnt"]), self.evidence, self.engine)

    def _missing(self) -> list[CellPlan]:
        have = {(cell["context"], cell["concurrency"], cell["run"]) for cell in self.partial.state["cells"]}
        return [plan for plan in self.plan.cells() if (plan.context, plan.concurrency, plan.run) not in have]

    def _unfinished(self, missing: t.Sequence[CellPlan]) -> dict[str, t.Any]:
        return {"complete": False, **self._common(), "next_cell": missing[0].title, "record_path": None}

    def _finished(self) -> dict[str, t.Any]:
        record = self._record()
        table = _benchmark_record.markdown(record)
        path = _benchmark_record.write_record(self.directory, self.plan.label, record, self.partial.rows(), table)
        self.partial.remove()
        return {"complete": True, **self._common(), "next_cell": None, "record_path": path, "markdown": table}

    def _common(self) -> dict[str, t.Any]:
        state = self.partial.state
        cells, omitted = _benchmark_record.result_cells(state["cells"])
        # A floor is held or not whatever else is wrong with a cell.
        held = all(cell["valid"] and cell["acceptance_floor_held"] is not False for cell in state["cells"])
        return {
            "ok": held and not self._missing(),
            "cells": cells,
            "cells_omitted": omitted,
            "cells_done": len(state["cells"]),
            "cells_total": len(self.plan.cells()),
            "new_cells": [_benchmark_record.result_cell(cell) for cell in self.measured_now[-10:]],
            "resumed_cells": state["resumed_cells"],
            "run_id": state["run_id"],
            "evidence_before": state["cells"][0]["evidence_before"] if state["cells"] else state["evidence_before"],
            "evidence_after": state["cells"][-1]["evidence_after"] if state["cells"] else None,
            "markdown": "",
        }

    def _record(self) -> dict[str, t.Any]:
        state, plan = self.partial.state, self.plan
        options = plan.key()
        options.pop("prompts")
        return {
            "schema_version": _benchmark_record.SCHEMA_VERSION,
            "label": plan.label,
            "run_id": state["run_id"],
            "engine": self._engine(),
            "profile": plan.profile,
            "proven": plan.require_evidence,
            "started_at": state["started_at"],
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(state["started_at"])),
            "finished_at": time.time(),
            "options": options,
            "server": state.get("server") or {},
            "evidence_before": state["cells"][0]["evidence_before"],
            "evidence_after": state["cells"][-1]["evidence_after"],
            "client": {
                "host": os.uname().nodename,
                "python": platform.python_version(),
                # A client beside the server takes from its processors; one elsewhere adds the network.
                "same_host": bool(local_addresses(self.side.server.host)),
                "keep_alive": None if self.engine else True,
                "tcp_nodelay": None if self.engine else True,
            },
            "prompts": {"salt": state["salt"], "learnt": state["learnt"]},
            "resumed_cells": state["resumed_cells"],
            "cells": state["cells"],
        }
