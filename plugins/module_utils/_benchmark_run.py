# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Measures a matrix from a module's parameters to its result."""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._benchmark_options import gives_details, server_of
from ansible_collections.llmops.sglang.plugins.module_utils._benchmark_target import BenchmarkTarget
from ansible_collections.llmops.sglang.plugins.module_utils._engine_choice import engine_of
from ansible_collections.llmops.sglang.plugins.module_utils._matrix import Matrix, MatrixPlan
from ansible_collections.llmops.sglang.plugins.module_utils._measured_end import measured_end
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager


def measure(
    params: t.Mapping[str, t.Any], plan: MatrixPlan, run_command: t.Callable[..., t.Any]
) -> tuple[dict[str, t.Any], list[str]]:
    """The result of a module with these checked *params*, and what to warn of.

    :raises Failure: where it cannot be measured.
    """
    manager = Manager(run_command, params["scope"]) if params["name"] else None
    target = BenchmarkTarget(server_of(params, manager), manager, params["name"], params["require_evidence"])
    plan.settings.model = target.model(params["api"], params["model"])
    plan.settings.request_details = gives_details(target.version())
    engine = engine_of(params, run_command, target)
    matrix = Matrix(plan, target.side, params["results_dir"], target.evidence, settings=target.settings, engine=engine)
    result = matrix.run(params["resume"], params["run_id"], params["slice_seconds"])
    if manager and result["complete"] and not result["ok"]:
        began, mask = result["evidence_before"], target.side.server.mask
        result["server_end"] = measured_end(manager, params["name"], began, mask)
    return result, target.warnings
