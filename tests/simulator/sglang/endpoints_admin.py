# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Routes that steer the server, and those that only tokenize."""

from __future__ import annotations

import json

from sglang import tokens
from sglang.endpoints_status import NOT_FOUND


def body_of(exchange):
    """The JSON object of a request, {} when it is no object."""
    try:
        value = json.loads(exchange.body or b"{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


async def flush_cache(serving, exchange):
    engine = serving.engine
    await serving.scheduler_answers(exchange)
    if engine.active or engine.waiting:
        return await exchange.reply(400, "Flush cache failed.\n")
    engine.cache.flush()
    engine.accept_length = None
    engine.totals["steps"] = engine.totals["drafts"] = 0
    text = "Cache flushed.\nPlease check backend logs for more details. "
    text += "(When there are running or waiting requests, the operation will not be performed.)\n"
    return await exchange.reply(200, text)


async def abort_request(serving, exchange):
    body = body_of(exchange)
    for request in list(serving.engine.known.values()):
        if body.get("abort_all") or request.rid == body.get("rid"):
            request.finish = {"type": "abort", "message": "Aborted", "status_code": None, "err_type": None}
            serving.engine.abort(request)
    return await exchange.reply(200)


async def freeze_gc(serving, exchange):
    return await exchange.reply(200, "Garbage collection frozen.\n")


async def plain_ok(serving, exchange):
    return await exchange.reply(200, "OK\n")


async def tokenize(serving, exchange):
    prompt = body_of(exchange).get("prompt", "")
    ids = [tokens.token_id(piece) for piece in tokens.split(str(prompt))]
    return await exchange.json(200, {"tokens": ids, "count": len(ids), "max_model_len": serving.plan.context_length})


async def embeddings(serving, exchange):
    message = "This model does not appear to be an embedding model by default. "
    message += "Please add `--is-embedding` when launching the server or try another model."
    error = {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": 400}
    return await exchange.json(400, error)


async def unknown(serving, exchange):
    return await exchange.json(404, NOT_FOUND)


POST = {
    "/flush_cache": flush_cache,
    "/abort_request": abort_request,
    "/freeze_gc": freeze_gc,
    "/start_profile": plain_ok,
    "/stop_profile": plain_ok,
    "/pause_generation": plain_ok,
    "/continue_generation": plain_ok,
    "/tokenize": tokenize,
    "/v1/tokenize": tokenize,
    "/v1/embeddings": embeddings,
}
GET = {"/flush_cache": flush_cache}
