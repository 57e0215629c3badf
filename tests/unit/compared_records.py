# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of made-up benchmarks, in the shape in which benchmark_matrix writes them."""

from __future__ import annotations

import copy
import itertools
import json

_NUMBERS = itertools.count(1)
CELLS = ((60, 1), (60, 8))
EVIDENCE = {
    "invocation_id": "a" * 32,
    "n_restarts": 0,
    "main_pid": 4711,
    "argv_sha256": "c" * 64,
    "sglang_version": "0.5.23",
    "served_model": "model",
    "model_path": "/models/m",
    "model_revision": None,
    "draft_model_path": None,
    "draft_model_revision": None,
    "unit": "sglang.service",
    "scope": "system",
    "simulated_acceptance": False,
    "inputs_sha256": {"sglang": "1" * 64, "model": "2" * 64, "script": "3" * 64},
    "gpu": {"model": "NVIDIA H200", "count": 8, "driver": "570.1"},
    "host": "gpu1",
    "kernel": "6.1.0",
}
SERVER = {
    "arguments": {
        "model_path": "/models/m",
        "tp_size": 8,
        "max_running_requests": 48,
        "speculative_algorithm": None,
        "random_seed": 5,
        "port": 30000,
    },
    "arguments_from": "server",
    "environment": {"SGLANG_X": "1"},
}
SETTINGS = {
    "api": "chat",
    "max_tokens": 512,
    "temperature": 0.0,
    "ignore_eos": True,
    "load_model": "closed",
    "rate": None,
    "arrival": "poisson",
    "seed": 0,
}


def record(runs=(100.0,), cells=CELLS, label="a", **changed):
    """A record whose cells have the tokens a second in *runs*, one a run; an entry may be a list of one a cell.

    *changed* replaces parts, its mappings being merged into what is there.
    """
    number = next(_NUMBERS)
    made = {
        "schema_version": 1,
        "label": label,
        "run_id": f"{number:032x}",
        "engine": {"name": "builtin", "caveats": []},
        "profile": "standard",
        "proven": True,
        "options": {"settings": dict(SETTINGS), "profile": "standard"},
        "server": copy.deepcopy(SERVER),
        "evidence_before": copy.deepcopy(EVIDENCE),
        "evidence_after": copy.deepcopy(EVIDENCE),
        "client": {"host": "gpu1", "python": "3.11.2"},
        "cells": [],
    }
    for run, speeds in enumerate(runs, 1):
        each = speeds if isinstance(speeds, (list, tuple)) else [speeds] * len(cells)
        for index, (key, speed) in enumerate(zip(cells, each)):
            made["cells"].append(_cell(f"{number}-{run}-{index}", key, run, speed, 1000.0 * number + run))
    merge(made, changed)
    for cell in made["cells"]:
        cell["evidence_before"] = copy.deepcopy(made["evidence_before"])
    return made


def _cell(cell_id, key, run, speed, began_at):
    return {
        "cell_id": cell_id,
        "context": key[0],
        "concurrency": key[1],
        "run": run,
        "valid": speed is not None,
        "reasons": [] if speed is not None else ["errors"],
        "requests": 40,
        "warmup_requests": 8,
        "output_tokens_per_second": speed,
        "ttft_ms": {"mean": None if speed is None else 10000 / speed, "p90": None},
        "completion_tokens": {"min": 512, "mean": 512.0, "max": 512},
        "acceptance_length": 4.0,
        "began_at": began_at,
        "corpus": "documentation and sources of Python 3.11.2",
        "prompt_digest": "d" * 16,
    }


def merge(made, changed):
    """Put *changed* into *made*, mapping by mapping."""
    for key, value in changed.items():
        if isinstance(value, dict) and isinstance(made.get(key), dict):
            merge(made[key], value)
        else:
            made[key] = value


def write(directory, *records):
    """Write records; returns their paths."""
    paths = []
    for one in records:
        path = directory / f"{one['label']}_{one['run_id'][-8:]}.json"
        path.write_text(json.dumps(one))
        paths.append(str(path))
    return paths
