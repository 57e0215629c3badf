# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What SGLang reads from a model directory before it starts: config.json of target and draft."""

from __future__ import annotations

import json
import os


class ModelFiles:
    """A model by its path: a directory with config.json, or a name of which nothing is known."""

    def __init__(self, path):
        self.path = path
        self.config = {}
        name = os.path.join(path, "config.json")
        if os.path.isfile(name):
            with open(name, encoding="utf-8") as handle:
                self.config = json.load(handle)

    @property
    def sampling_defaults(self):
        """temperature, top_k, top_p of generation_config.json, or {}."""
        name = os.path.join(self.path, "generation_config.json")
        if not os.path.isfile(name):
            return {}
        with open(name, encoding="utf-8") as handle:
            found = json.load(handle)
        return {key: found[key] for key in ("temperature", "top_k", "top_p") if key in found}

    @property
    def missing(self):
        """True for a path on this machine that is not there; ``owner/name`` counts as a name."""
        return self.path.startswith(("/", ".")) and not os.path.isdir(self.path)

    def _text(self, key, default=None):
        nested = self.config.get("text_config") or {}
        return self.config.get(key, nested.get(key, default))

    @property
    def architecture(self):
        found = self.config.get("architectures")
        if found:
            return found[0]
        return "KimiK25ForConditionalGeneration" if "kimi" in self.path.lower() else "Qwen3ForCausalLM"

    @property
    def model_type(self):
        return self.config.get("model_type", "kimi_k25" if "kimi" in self.path.lower() else "qwen3")

    @property
    def context_length(self):
        return int(self._text("max_position_embeddings", 40960))

    @property
    def block_size(self):
        """The draft's trained block size, or None."""
        nested = self.config.get("dflash_config") or {}
        value = self.config.get("block_size", nested.get("block_size"))
        return None if value is None else int(value)

    @property
    def sliding_window(self):
        """The draft's trained window, or None."""
        value = self._text("sliding_window")
        return None if value is None else int(value)

    @property
    def mask_token_id(self):
        nested = self.config.get("dflash_config") or {}
        return int(nested.get("mask_token_id", self.config.get("mask_token_id", 151669)))

    @property
    def shards(self):
        if not os.path.isdir(self.path):
            return 4
        return max(1, sum(name.endswith((".safetensors", ".bin")) for name in os.listdir(self.path)))
