# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What SGLang refuses in a generation request, with its words and shapes."""

from __future__ import annotations

import json
import math
import os

from sglang.release import HERE


class BadRequest(Exception):
    """Answered with 400; `kind` is the `type` of the error object."""

    def __init__(self, message, kind="BadRequestError", status=400):
        super().__init__(message)
        self.kind, self.status = kind, status


def error_object(message, kind="BadRequestError", code=400):
    return {"object": "error", "message": message, "type": kind, "param": None, "code": code}


def _validation(detail, path):
    """FastAPI's validation error as SGLang prints it: server file paths included."""
    site = os.path.join(HERE, "srt", "entrypoints", "http_server.py")
    where = '\n\n  File "%s", line 1614, in openai_v1_chat_completions\n    POST %s [%s]' % (site, path, detail)
    return BadRequest("1 validation error:\n  %s%s" % (detail, where), "Bad Request")


def parse_body(exchange):
    """The JSON object of an OpenAI request, or BadRequest."""
    kind = exchange.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "application/json":
        detail = (
            "{'loc': ['header', 'content-type'], 'msg': \"Unsupported Media Type: Only 'application/json' is allowed\", "
            "'type': 'value_error'}"
        )
        raise BadRequest(f"1 validation error:\n  {detail} [{detail}]", "Bad Request")
    if not exchange.body:
        missing = "{'type': 'missing', 'loc': ('body',), 'msg': 'Field required', 'input': None}"
        raise _validation(missing, exchange.path)
    try:
        body = json.loads(exchange.body)
    except ValueError as error:
        detail = (
            "{'type': 'json_invalid', 'loc': ('body', %d), 'msg': 'JSON decode error', 'input': {}, "
            "'ctx': {'error': '%s'}}" % (getattr(error, "pos", 0), getattr(error, "msg", "invalid"))
        )
        raise _validation(detail, exchange.path)
    if not isinstance(body, dict):
        raise _validation(
            "{'type': 'model_attributes_type', 'loc': ('body',), 'msg': 'Input should be a valid dictionary or object to "
            "extract fields from', 'input': %r}" % (body,),
            exchange.path,
        )
    return body


INTEGERS = ("max_tokens", "max_completion_tokens", "n", "seed")
NUMBERS = ("temperature", "top_p", "frequency_penalty", "presence_penalty")


def check_types(body, path, required):
    for name in required:
        if name not in body:
            shown = dict(body, tool_choice="none") if name == "messages" else body
            raise _validation(
                "{'type': 'missing', 'loc': ('body', '%s'), 'msg': 'Field required', 'input': %r}" % (name, shown), path
            )
    for name in INTEGERS:
        value = body.get(name)
        if value is not None and not isinstance(value, int):
            raise _validation(
                "{'type': 'int_parsing', 'loc': ('body', '%s'), 'msg': 'Input should be a valid integer, unable to parse "
                "string as an integer', 'input': %r}" % (name, value),
                path,
            )
    for name in NUMBERS:
        value = body.get(name)
        if value is not None and not isinstance(value, (int, float)):
            raise _validation(
                "{'type': 'float_parsing', 'loc': ('body', '%s'), 'msg': 'Input should be a valid number, unable to parse "
                "string as a number', 'input': %r}" % (name, value),
                path,
            )


def check_sampling(plan, sampling, prompt_tokens):
    """The rules of a sampling request against the model's length. Messages are the recorded ones."""
    limit = plan.context_length
    if not math.isfinite(sampling["temperature"]) or sampling["temperature"] < 0:
        raise BadRequest("temperature must be a non-negative finite number, got %s." % float(sampling["temperature"]))
    wanted = sampling["asked_tokens"]
    if wanted is not None and wanted < 0:
        raise BadRequest("max_new_tokens must be at least 0, got %d." % wanted)
    if prompt_tokens >= limit:
        raise BadRequest(
            "The input (%d tokens) is longer than the model's context length (%d tokens)." % (prompt_tokens, limit)
        )
    if wanted is not None and prompt_tokens + wanted > limit:
        raise BadRequest(
            "Requested token count exceeds the model's maximum context length of %d tokens. You requested a total of %d "
            "tokens: %d tokens from the input messages and %d tokens for the completion. Please reduce the number of "
            "tokens in the input messages or the completion to fit within the limit."
            % (limit, prompt_tokens + wanted, prompt_tokens, wanted)
        )


def check_speculation(plan, body, sampling_params):
    """What DFLASH refuses per request."""
    hidden = body.get("return_hidden_states")
    if hidden and not plan.args.get("enable_return_hidden_states"):
        raise BadRequest(
            "The server is not configured to return the hidden states. Please set `--enable-return-hidden-states` to "
            "enable this feature."
        )
    if not plan.linear_block:
        return
    if (body.get("logprobs") or body.get("return_logprob")) and not plan.release.since("0.5.18"):
        raise BadRequest("%s speculative decoding does not support return_logprob yet." % plan.algorithm)
    grammar = (body.get("response_format") or {}).get("type") in ("json_schema", "json_object", "structural_tag")
    grammar = grammar or any(sampling_params.get(name) for name in ("json_schema", "regex", "ebnf", "structural_tag"))
    if grammar and not plan.release.since("0.5.17"):
        raise BadRequest("%s speculative decoding does not support grammar-constrained decoding yet." % plan.algorithm)
