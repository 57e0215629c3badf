# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What the journal of a start must say for its speculation to be proved, as options of the module journal_assert."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._speculative import ALGORITHMS


def journal_proof(speculation: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """``preset`` and ``preset_fields`` to ask for; an empty preset where no draft runner with a window is logged.

    :arg speculation: what the command line says of speculation, by the names of the option ``speculative``.
    """
    # Only DFLASH logs a draft runner, and so do forks of it under the names of their own algorithms.
    others = set(ALGORITHMS) - {"DFLASH"}
    if not speculation.get("draft_model_path") or str(speculation.get("algorithm") or "").upper() in others:
        return {"preset": [], "preset_fields": {}}
    window = speculation.get("draft_window_size")
    if window is None:
        return {"preset": ["dflash"], "preset_fields": {}}
    # A window whose number is not known must at least be on.
    number = int(window) if re.fullmatch(r"[0-9]+", str(window)) else {"min": 1}
    return {"preset": ["dflash"], "preset_fields": {"compact_cache": True, "draft_window_size": number}}
