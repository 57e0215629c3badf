# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The models that a server lists."""

from __future__ import annotations

import typing as t


def served_models(body: t.Any) -> t.Optional[list[dict[str, t.Any]]]:
    """The entries of a decoded ``/v1/models``, each with a text as ``id``; ``None`` where it is no such list."""
    listed = body.get("data") if isinstance(body, dict) else None
    if not isinstance(listed, list):
        return None
    return [one for one in listed if isinstance(one, dict) and isinstance(one.get("id"), str)]


def served_names(body: t.Any) -> list[str]:
    """Their names; empty where there is no such list."""
    return [one["id"] for one in served_models(body) or []]
