# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""One start of a server as it is planned, for the rules that it is held against."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._drafter import Drafter
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure

# The server's default where neither the arguments nor the drafter's config.json say it (speculative_hook.py, _handle_dflash).
DEFAULT_BLOCK_SIZE = 16


@dataclass(frozen=True)
class Start:
    """One start of a server: its arguments under the newest names, its release, its drafter and its environment."""

    arguments: t.Mapping[str, t.Any]
    version: str
    drafter: t.Optional[Drafter] = None
    environment: t.Mapping[str, str] = field(default_factory=dict)
    tree_budget: t.Optional[int] = None

    @property
    def algorithm(self) -> str:
        return str(self.arguments.get("speculative_algorithm") or "").upper()

    def number(self, name: str) -> t.Optional[int]:
        """An argument as a whole number; ``None`` where it is not set or is none."""
        value = self.arguments.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    @property
    def device(self) -> str:
        """Its kind without a number; empty where the server finds it itself."""
        return str(self.arguments.get("device") or "").partition(":")[0]

    @property
    def attention_parallel(self) -> bool:
        """Whether attention is data-parallel; the server takes the older switch back where there is one replica."""
        switched = bool(self.arguments.get("enable_dp_attention")) and (self.number("dp_size") or 1) > 1
        return switched or (self.number("attn_dp_size") or 1) > 1

    @property
    def attention_backends(self) -> tuple[str, str]:
        """Those of prefill and decode as far as they are asked for; empty where the server chooses."""
        common = self.arguments.get("attention_backend")
        prefill, decode = (self.arguments.get(f"{phase}_attention_backend") for phase in ("prefill", "decode"))
        return str(prefill or common or ""), str(decode or common or "")

    def switched_on(self, variable: str) -> bool:
        """Whether an environment variable says yes in one of the server's own words."""
        return self.environment.get(variable, "").lower() in ("1", "true", "yes", "y")

    @property
    def complete(self) -> bool:
        """Whether what is not among the arguments is not set: a configuration file may set it."""
        return "config" not in self.arguments

    @property
    def window(self) -> t.Optional[int]:
        return self.number("speculative_draft_window_size")

    @property
    def block_size(self) -> t.Optional[int]:
        """The verify window as the server will resolve it; ``None`` where the drafter's config.json is needed and unread."""
        given = self.number("speculative_dflash_block_size") or self.number("speculative_num_draft_tokens")
        if given is not None or self.drafter is None or not self.drafter.known:
            return given
        return self.drafter.block_size or DEFAULT_BLOCK_SIZE

    @property
    def block_size_is_a_guess(self) -> bool:
        """Whether nobody tells it and the server takes its default."""
        names = ("speculative_dflash_block_size", "speculative_num_draft_tokens")
        told = any(self.arguments.get(name) is not None for name in names) or not self.complete
        return not told and (self.drafter is None or self.drafter.block_size is None)


def violated(start: Start, wants: str, found: str, remedy: str) -> Failure:
    """The failure for a condition of the server that is not met."""
    return Failure(
        "rule_violated", f"SGLang {start.version} with {start.algorithm} requires {wants}, and {found}: {remedy}."
    )
