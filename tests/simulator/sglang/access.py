# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may call what: SGLang's API key and admin key."""

from __future__ import annotations

ADMIN_PATHS = frozenset(
    [
        "/flush_cache",
        "/abort_request",
        "/start_profile",
        "/stop_profile",
        "/freeze_gc",
        "/pause_generation",
        "/continue_generation",
        "/set_internal_state",
        "/slow_down",
        "/configure_logging",
        "/load_lora_adapter",
        "/unload_lora_adapter",
        "/update_weights_from_disk",
    ]
)


def decide(plan, method, path, authorization):
    """None when the request may pass, else the status and the body of the refusal."""
    if not plan.api_key and not plan.admin_api_key:
        return None
    if int(plan.args.get("tokenizer_worker_num") or 1) > 1 or method == "OPTIONS":
        return None
    open_prefixes = ("/health", "/metrics") + (("/ready",) if plan.release.since("0.5.20") else ())
    if path.startswith(open_prefixes):
        return None
    token = authorization[7:] if authorization.lower().startswith("bearer ") else None
    wanted = plan.api_key
    if path in ADMIN_PATHS and plan.admin_api_key:
        wanted = plan.admin_api_key
    if not wanted or token == wanted:
        return None
    return 401, {"error": "Unauthorized"}
