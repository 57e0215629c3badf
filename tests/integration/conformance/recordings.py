# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recordings as files, and the stand-in started as the recorded server was."""

from __future__ import annotations

import json
import pathlib

from simulated_server import SimulatedServer

RECORDS = pathlib.Path(__file__).resolve().parents[2] / "unit" / "fixtures" / "records"
PREFIX = "/srv/models"
VERSIONS = {"sglang-0.5.15-dflash": "0.5.15.post1", "sglang-0.5.23-cpu": "0.5.23"}


def load(record, name):
    return json.loads((RECORDS / record / name).read_text())


def log(record, name):
    return (RECORDS / record / "logs" / f"{name}.log").read_text()


def make_models(directory):
    """The recorded servers' models, as far as SGLang's start reads them."""
    target = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "max_position_embeddings": 40960}
    draft = {"architectures": ["DFlashDraftModel"], "dflash_config": {"block_size": 8, "mask_token_id": 3}}
    llama = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "max_position_embeddings": 2048}
    models = {
        "tiny": llama,
        "tiny/target": target,
        "tiny/draft": draft,
        "tiny-noweights/draft": draft,
        "m_tiny/target": target,
        "m_tiny/draft": draft,
    }
    for name, config in models.items():
        path = pathlib.Path(directory) / name
        path.mkdir(parents=True, exist_ok=True)
        (path / "config.json").write_text(json.dumps(config))
        if config is target:
            (path / "generation_config.json").write_text('{"temperature": 1.0, "top_k": -1, "top_p": 1.0}')
        for number in range(4 if config is target else 1):
            (path / f"model-{number}.safetensors").touch()


def moved(value, directory):
    """A recorded value with the models' place replaced and repeated text unfolded."""
    if isinstance(value, str):
        return value.replace(PREFIX, str(directory))
    if isinstance(value, list):
        return [moved(item, directory) for item in value]
    if isinstance(value, dict):
        if "$repeat" in value:
            text, count = value["$repeat"]
            return text * count
        return {key: moved(item, directory) for key, item in value.items()}
    return value


def start(record, args, directory, port=None, **env):
    """The stand-in with a recorded command line, but on a free port and with models in `directory`."""
    make_models(directory)
    words = moved(list(args), directory)
    kept, path = [], None
    while words:
        word = words.pop(0)
        if word in ("--port", "--model-path", "--host"):
            value = words.pop(0)
            model = value if word == "--model-path" else None
            if model:
                path = model
        else:
            kept.append(word)
    return SimulatedServer(directory, *kept, version=VERSIONS[record], model=path, port=port, env=env)
