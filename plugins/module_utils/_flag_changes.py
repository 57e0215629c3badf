# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""How the arguments of two command lines differ."""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._secrets import MASKED, Mask

_SECRET_ARGUMENTS = ("api_key", "admin_api_key", "ssl_keyfile_password")


def flag_changes(old: t.Mapping[str, t.Any], new: t.Mapping[str, t.Any], mask: Mask) -> dict[str, t.Any]:
    """How two sets of arguments differ by meaning; the values of keys are left out."""

    def shown(name: str, value: t.Any) -> t.Any:
        return MASKED if name in _SECRET_ARGUMENTS else mask.value(value)

    return {
        "added": {n: shown(n, new[n]) for n in sorted(new) if n not in old},
        "removed": {n: shown(n, old[n]) for n in sorted(old) if n not in new},
        "changed": {
            n: {"before": shown(n, old[n]), "after": shown(n, new[n])}
            for n in sorted(new)
            if n in old and old[n] != new[n]
        },
    }
