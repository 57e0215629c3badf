# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""/generate, SGLang's own route: text or ids in, text with meta_info out."""

from __future__ import annotations

import json

from sglang import generation_api as api
from sglang import tokens, validation
from sglang.validation import BadRequest


def _inputs(body):
    """(prompt, pieces) of each sequence, and whether the request was a list."""
    text, ids = body.get("text"), body.get("input_ids")
    if text is None and ids is None:
        raise BadRequest("Either text, input_ids or input_embeds should be provided.")
    if text is not None:
        texts = text if isinstance(text, list) else [text]
        return [(item, None) for item in texts], isinstance(text, list)
    many = bool(ids) and isinstance(ids[0], list)
    pieces = [[tokens.text_of(number) for number in each] for each in (ids if many else [ids])]
    return [("".join(each), each) for each in pieces], many


async def generate(serving, exchange):
    plan = serving.plan
    try:
        body = json.loads(exchange.body or b"{}")
    except ValueError:
        body = validation.parse_body(exchange)
    params = body.get("sampling_params") or {}
    try:
        inputs, many = _inputs(body)
        validation.check_speculation(plan, body, params)
        sampling = api.sampling_values(dict(params), 128, ("max_new_tokens",))
        requests = [api.submit(serving, text, sampling, pieces=pieces) for text, pieces in inputs]
    except BadRequest as error:
        return await exchange.json(400, {"error": {"message": str(error)}})
    if body.get("stream"):
        return await _stream(serving, exchange, requests[0])
    for request in requests:
        await api.complete(serving, exchange, request)
    answers = [answer(plan, request, request.done, True) for request in requests]
    return await exchange.json(200, serving.bend(answers if many else answers[0]))


def answer(plan, request, end, final):
    ids = [tokens.token_id(piece) for piece in request.output[:end]]
    return {
        "text": request.text(0, end),
        "output_ids": ids,
        "meta_info": api.meta_info(plan, request, final, end),
    }


async def _stream(serving, exchange, request):
    """The text grows from chunk to chunk; each one holds all of it."""
    await exchange.start_stream()
    async for _dummy, end, final in api.steps(serving, exchange, request):
        await serving.maybe_hang(end)
        await exchange.event(serving.bend(answer(serving.plan, request, end, final)))
    await serving.end_events(exchange)


POST = {"/generate": generate}
