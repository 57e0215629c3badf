# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What a draft model was trained for, by its config.json."""

from __future__ import annotations

import collections
import glob
import json
import os
import typing as t
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Drafter:
    """One draft model; ``reason`` says why its config.json could not be read, and is empty where it was.

    ``directory`` is where it lies, and empty where it is not on this host.
    ``sliding_window`` is in tokens and ``None`` where the model attends to everything; ``block_size`` counts the verified token.
    """

    path: str
    reason: str = ""
    sliding_window: t.Optional[int] = None
    block_size: t.Optional[int] = None
    layer_types: dict[str, int] = field(default_factory=dict)
    architectures: list[str] = field(default_factory=list)
    mask_token_id: t.Optional[int] = None
    directory: str = ""
    layers: t.Optional[int] = None
    causal: bool = False

    @property
    def known(self) -> bool:
        return not self.reason

    @property
    def sliding_throughout(self) -> bool:
        """Whether it is causal, or each of its layers is of sliding attention."""
        return self.causal or (self.layers is not None and self.layer_types == {"sliding_attention": self.layers})


def read_drafter(path: str, environment: t.Mapping[str, str], home: str = "", revision: str = "") -> Drafter:
    """The facts of the draft model at *path*: a directory, or a hub name that is looked for in the local cache alone.

    :arg environment: the server's environment: ``HF_HUB_CACHE`` and ``HF_HOME`` say where the cache is.
    :arg home: the home directory of the server's user.
    """
    directory = model_directory(path, environment, home, revision)
    if not directory:
        return Drafter(path, "it is not in the local hub cache")
    config = os.path.join(directory, "config.json")
    try:
        with open(config, encoding="utf-8") as handle:
            raw = json.load(handle)
    except OSError as exc:
        return Drafter(path, f"'{config}' cannot be read ({exc.strerror})", directory=directory)
    except (ValueError, RecursionError) as exc:
        return Drafter(path, f"'{config}' is not JSON ({exc})")
    if not isinstance(raw, dict):
        return Drafter(path, f"'{config}' is no JSON object")
    return Drafter(
        path,
        sliding_window=_sliding_window(raw),
        block_size=_integer(_section(raw, "dflash_config").get("block_size", raw.get("block_size"))),
        layer_types=_count(_text_config(raw).get("layer_types", raw.get("layer_types"))),
        architectures=_names(raw.get("architectures")),
        mask_token_id=_integer(_section(raw, "dflash_config").get("mask_token_id")),
        directory=directory,
        layers=_integer(_text_config(raw).get("num_hidden_layers")),
        causal=_text_config(raw).get("is_causal") is True,
    )


def model_directory(path: str, environment: t.Mapping[str, str], home: str = "", revision: str = "") -> str:
    """Where the model at *path* lies, see :func:`read_drafter`; empty for a hub name that is not in the cache."""
    return path if os.path.isabs(path) or os.path.isdir(path) else _in_hub_cache(path, environment, home, revision)


def _sliding_window(config: t.Mapping[str, t.Any]) -> t.Optional[int]:
    """The sliding window that the layers of *config* were trained with; ``None`` where all attend to everything.

    Where ``layer_types`` is given it decides: one sliding layer is enough, since the others then attend within that window too.
    """
    text = _text_config(config)
    window = _integer(text.get("sliding_window", config.get("sliding_window")))
    if window is None:
        # As drafters for Nemotron have it.
        window = _integer(_section(config, "dflash_config").get("swa_window_size"))
    layer_types = text.get("layer_types", config.get("layer_types"))
    if isinstance(layer_types, list) and layer_types:
        return window if "sliding_attention" in layer_types else None
    return None if text.get("use_sliding_window", config.get("use_sliding_window")) is False else window


def _text_config(config: t.Mapping[str, t.Any]) -> t.Mapping[str, t.Any]:
    return _section(config, "text_config") or config


def _section(config: t.Mapping[str, t.Any], name: str) -> t.Mapping[str, t.Any]:
    section = config.get(name)
    return section if isinstance(section, dict) else {}


def _integer(value: t.Any) -> t.Optional[int]:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _count(layer_types: t.Any) -> dict[str, int]:
    return dict(sorted(collections.Counter(_names(layer_types)).items()))


def _names(value: t.Any) -> list[str]:
    names = [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
    # JSON can write half a character, which no result can carry.
    return [name.encode("utf-8", "replace").decode() for name in names]


def _in_hub_cache(name: str, environment: t.Mapping[str, str], home: str, revision: str) -> str:
    """The snapshot directory of hub model *name*, or nothing; the layout is that of huggingface_hub."""
    if name.count("/") > 1:
        return ""
    base = environment.get("HF_HOME") or os.path.join(home or os.path.expanduser("~"), ".cache", "huggingface")
    cache = environment.get("HF_HUB_CACHE") or environment.get("HUGGINGFACE_HUB_CACHE") or os.path.join(base, "hub")
    model = os.path.join(cache, "models--" + name.replace("/", "--"))
    wanted = revision or "main"
    try:
        with open(os.path.join(model, "refs", wanted), encoding="ascii") as handle:
            wanted = handle.read().strip()
    except (OSError, UnicodeDecodeError):
        pass
    snapshot = os.path.join(model, "snapshots", wanted)
    if os.path.isdir(snapshot):
        return snapshot
    others = glob.glob(os.path.join(glob.escape(model), "snapshots", "*"))
    return others[0] if len(others) == 1 and not revision else ""
