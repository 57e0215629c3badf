# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What a benchmark's record is about: the server, its host and the load, each thing under a name of its own."""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._compare_records import Record, mapping

# Nothing that is measured depends on these; a seed that nobody sets is another one at each start.
_NO_EFFECT = frozenset(
    (
        "dist_init_addr", "disaggregation_bootstrap_port", "encoder_bootstrap_port", "engine_info_bootstrap_port",
        "forward_pass_metrics_ipc_name", "forward_pass_metrics_worker_id", "grpc_port", "host", "nccl_port", "port",
        "random_seed", "served_model_name", "weight_version",
    )
)  # fmt: skip
_EVIDENCE = {
    "sglang_version": "sglang_version",
    "model_path": "model_path",
    "model_revision": "revision",
    "draft_model_path": "speculative_draft_model_path",
    "draft_model_revision": "speculative_draft_model_revision",
    "host": "host_name",
    "kernel": "kernel",
}
_FILES = {
    "sglang": "sglang_files",
    "model": "model_files",
    "drafter": "speculative_draft_model_files",
    "chat_template": "chat_template_file",
    "config_file": "config_file",
    "script": "launch_script",
}
# They say nothing more where the server tells its arguments and its variables are known.
LAUNCH_FILES = ("config_file", "launch_script")
_LOAD = ("api", "max_tokens", "temperature", "ignore_eos", "load_model", "rate", "arrival", "seed")
# What tells that the cells of one record are of one thing.
_STEADY = tuple(_EVIDENCE) + ("argv_sha256", "gpu", "inputs_sha256")
UNKNOWN = "(unknown)"
Subject = t.Dict[str, t.Any]


def subject_of(record: Record, cells: t.Optional[t.Collection[str]] = None) -> Subject:
    """Everything that decides the record's figures, by name; a server's arguments are in :func:`arguments_of`.

    :arg cells: short titles of the cells that are compared; ``None`` for all.
    """
    evidence = record["evidence_before"]
    found = {name: evidence.get(key) for key, name in _EVIDENCE.items()}
    gpu = mapping(evidence.get("gpu"))
    found.update(gpu=gpu.get("model"), gpu_count=gpu.get("count"), gpu_driver=gpu.get("driver"))
    found.update(_files(record))
    found.update(_load(record, cells))
    variables = variables_of(record)
    found["environment"] = UNKNOWN if variables is None else None
    found.update({f"environment.{name}": value for name, value in (variables or {}).items()})
    return found


def variables_of(record: Record) -> t.Optional[t.Mapping[str, t.Any]]:
    """The variables of the server's process; ``None`` where the record does not tell them."""
    variables = mapping(record.get("server")).get("environment")
    return variables if isinstance(variables, dict) else None


def settings_told(record: Record) -> bool:
    """Whether the record tells all that a process is started with."""
    return arguments_from(record) == "server" and variables_of(record) is not None


def arguments_of(record: Record) -> t.Optional[dict[str, t.Any]]:
    """The server's arguments that may change a figure; ``None`` where the record does not tell them."""
    arguments = mapping(record.get("server")).get("arguments")
    if not isinstance(arguments, dict):
        return None
    return {name: value for name, value in arguments.items() if name not in _NO_EFFECT}


def arguments_from(record: Record) -> t.Optional[str]:
    """Who told the arguments: ``server``, ``command_line`` or nobody."""
    source = mapping(record.get("server")).get("arguments_from")
    return source if isinstance(source, str) else None


def command_line(record: Record) -> t.Optional[str]:
    """The hash of the server's command line."""
    return record["evidence_before"].get("argv_sha256")


def strangers(record: Record) -> list[str]:
    """What says that valid cells of the record are not of the server that it began with."""
    began = record["evidence_before"]
    changed = {
        key
        for cell in record["cells"]
        for key in _STEADY
        if cell["valid"] and mapping(cell.get("evidence_before")).get(key, began.get(key)) != began.get(key)
    }
    return sorted(_EVIDENCE.get(key, "arguments" if key == "argv_sha256" else key) for key in changed)


def _files(record: Record) -> Subject:
    known = mapping(record["evidence_before"].get("inputs_sha256"))
    return {name: str(known[key])[:16] if known.get(key) else None for key, name in _FILES.items()}


def _load(record: Record, cells: t.Optional[t.Collection[str]]) -> Subject:
    settings = mapping(record["options"].get("settings"))
    engine = mapping(record.get("engine"))
    found = {name: settings.get(name) for name in _LOAD}
    found["engine"] = " ".join(str(engine[key]) for key in ("name", "version") if engine.get(key))
    client = mapping(record.get("client"))
    beside = client.get("same_host", client.get("host") == record["evidence_before"].get("host"))
    found["client_host"] = "the server's" if beside else client.get("host")
    # A server with adapters answers under several names; that under which it serves at all changes nothing.
    model = settings.get("model") if settings.get("api") != "generate" else None
    found["model"] = None if model == record["evidence_before"].get("served_model") else model
    found["corpus"] = sorted({str(cell["corpus"]) for cell in record["cells"] if cell.get("corpus")})
    found["cells"] = sorted(cells_of(record))
    first = [cell for cell in record["cells"] if cell["run"] == 1 and (cells is None or _short(cell) in cells)]
    found["requests"] = {_short(cell): cell.get("requests") for cell in first}
    found["warmup_requests"] = {_short(cell): cell.get("warmup_requests") for cell in first}
    # Prompts of the user are the same at each run, and those of the corpus are told by corpus and seed.
    found["prompts"] = sorted({str(cell.get("prompt_digest")) for cell in first if cell["context"] is None})
    return found


def cells_of(record: Record) -> set[str]:
    """The short titles of the record's cells: context and concurrency."""
    return {_short(cell) for cell in record["cells"]}


def _short(cell: t.Mapping[str, t.Any]) -> str:
    context, concurrency = cell["context"], cell["concurrency"]
    return f"{'own' if context is None else context}x{'open' if concurrency is None else concurrency}"
