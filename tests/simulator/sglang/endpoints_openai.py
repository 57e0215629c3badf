# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""/v1/chat/completions and /v1/completions, whole and streamed."""

from __future__ import annotations

import re
import time

from sglang import generation_api as api
from sglang import tokens, validation
from sglang.validation import BadRequest


async def chat(serving, exchange):
    plan = serving.plan
    body = validation.parse_body(exchange)
    validation.check_types(body, exchange.path, ("messages",))
    if not body["messages"]:
        raise BadRequest("Messages cannot be empty.")
    validation.check_speculation(plan, body, body)
    thinking, prompt = _thinking(plan, body)
    sampling = api.sampling_values(body, plan.context_length)
    if body.get("tools") and _wanted_tool(body):
        return await _tool_call(serving, exchange, body, prompt, sampling)
    count = int(body.get("n") or 1)
    requests = [api.submit(serving, prompt, sampling, thinking, index=i) for i in range(count)]
    if count > 1:
        serving.leak(requests[0])
    if body.get("stream"):
        return await _stream_chat(serving, exchange, body, requests)
    for request in requests:
        await api.complete(serving, exchange, request)
    return await exchange.json(200, _chat_answer(serving, body, requests))


def _thinking(plan, body):
    """Whether the model thinks first, and the prompt of its template."""
    enabled = (body.get("chat_template_kwargs") or {}).get("enable_thinking")
    prompt = tokens.chat_prompt(body["messages"], enabled)
    return bool(plan.args.get("reasoning_parser")) and enabled is not False, prompt


def _split(serving, body, request, start, end):
    """(reasoning text, content text) of a range of tokens."""
    border = request.reasoning_tokens
    if not border or body.get("separate_reasoning") is False:
        return None, request.text(start, end)
    # The last two tokens of the thought are the closing tag and the blank line after it.
    told = min(end, border - 2)
    reasoning = request.text(start, told) if start < told else None
    content = request.text(max(start, border), end) if end > border else None
    return reasoning, content


def _matched(request):
    return request.finish.get("matched")


def _chat_answer(serving, body, requests):
    plan = serving.plan
    choices = []
    for index, request in enumerate(requests):
        reasoning, content = _split(serving, body, request, 0, request.done)
        if content is None:
            content = "" if plan.release.since("0.5.13") else None
        message = {"role": "assistant", "content": content, "reasoning_content": reasoning or None}
        if not plan.release.since("0.5.19"):
            message["tool_calls"] = None
        choice = {
            "index": index,
            "message": message,
            "logprobs": _logprobs(body, request),
            "finish_reason": request.finish["type"],
            "matched_stop": _matched(request),
        }
        if body.get("return_meta_info") and plan.release.since("0.5.13"):
            choice["meta_info"] = api.meta_info(plan, request)
        choices.append(choice)
    answer = {
        "id": requests[0].rid,
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.get("model", "default"),
        "choices": choices,
        "usage": api.usage(serving, requests),
        "metadata": api.metadata(plan, requests),
    }
    _add_sglext(plan, body, requests, answer)
    return serving.bend(answer)


def _add_sglext(plan, body, requests, answer):
    if body.get("return_spec_tokens_details") and plan.release.since("0.5.19") and plan.speculative:
        answer["sglext"] = {"spec_tokens_details": api.spec_tokens_details(plan, requests[0])}


def _logprobs(body, request):
    """Made-up but well-shaped logprobs."""
    if not body.get("logprobs"):
        return None

    def entry(piece):
        return {"token": piece, "bytes": list(piece.encode()), "logprob": -0.1625}

    content = []
    for piece in request.output[: request.done]:
        top = [entry(piece) for _dummy in range(int(body.get("top_logprobs") or 0))]
        content.append({**entry(piece), "top_logprobs": top})
    return {"content": content}


class ChatStream:
    """The chunks of one streamed chat."""

    def __init__(self, serving, exchange, body, requests):
        self.serving, self.exchange, self.body, self.requests = serving, exchange, body, requests
        options = body.get("stream_options") or {}
        self.final_usage = bool(options.get("include_usage"))
        if serving.plan.args.get("stream_response_default_include_usage"):
            self.final_usage = options.get("include_usage", True)
        self.continuous = bool(options.get("continuous_usage_stats"))
        self.created = int(time.time())

    def envelope(self, choices):
        return {
            "id": self.requests[0].rid,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.body.get("model", "default"),
            "choices": choices,
        }

    async def chunk(self, index, delta, finish=None, matched=None, done=None):
        choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish, "matched_stop": matched}
        event = self.envelope([choice])
        if self.continuous and done is not None:
            event["usage"] = api.usage(self.serving, self.requests, done)
        await self.exchange.event(self.serving.bend(event))

    async def content(self, index, request, start, end):
        reasoning, content = _split(self.serving, self.body, request, start, end)
        if reasoning:
            await self.chunk(index, {"reasoning_content": reasoning}, done=end)
        if content:
            await self.chunk(index, {"reasoning_content": None, "content": content}, done=end)

    async def run(self):
        for index, request in enumerate(self.requests):
            first = True
            async for start, end, _dummy in api.steps(self.serving, self.exchange, request):
                if not self.exchange.answered:
                    await self.exchange.start_stream()
                if first:
                    await self.chunk(index, {"reasoning_content": None, "role": "assistant", "content": ""})
                    first = False
                await self.serving.maybe_hang(end)
                await self.content(index, request, start, end)
        for index, request in enumerate(self.requests):
            await self.chunk(index, {"reasoning_content": None}, request.finish["type"], _matched(request))
        extra = self.envelope([])
        _add_sglext(self.serving.plan, self.body, self.requests, extra)
        if "sglext" in extra:
            await self.exchange.event(extra)
        if self.final_usage:
            event = dict(self.envelope([]), usage=api.usage(self.serving, self.requests))
            await self.exchange.event(self.serving.bend(event))
        await self.serving.end_events(self.exchange)


async def _stream_chat(serving, exchange, body, requests):
    await ChatStream(serving, exchange, body, requests).run()


def _wanted_tool(body):
    """The tool that the last user message names (or that tool_choice forces), if any."""
    choice = body.get("tool_choice")
    names = [tool.get("function", {}).get("name", "") for tool in body["tools"]]
    if isinstance(choice, dict):
        return choice.get("function", {}).get("name")
    if choice == "none":
        return None
    said = str(body["messages"][-1].get("content", ""))
    named = [name for name in names if name and re.search(r"\bcall %s\b" % re.escape(name), said)]
    if named:
        return named[0]
    return names[0] if choice == "required" else None


async def _tool_call(serving, exchange, body, prompt, sampling):
    """Answer with a call of a tool and no arguments; needs --tool-call-parser, as in SGLang."""
    request = api.submit(serving, prompt, dict(sampling, max_tokens=12, asked_tokens=12))
    await api.complete(serving, exchange, request)
    answer = _chat_answer(serving, body, [request])
    name = _wanted_tool(body)
    if serving.plan.args.get("tool_call_parser"):
        call = {
            "id": "call_" + request.rid[:24],
            "index": 0,
            "type": "function",
            "function": {"name": name, "arguments": "{}"},
        }
        answer["choices"][0]["message"].update(content=None, tool_calls=[call])
        answer["choices"][0]["finish_reason"] = "tool_calls"
    return await exchange.json(200, answer)


def _prompts(body):
    """The prompts of a completion as (text, pieces or None)."""
    prompt = body["prompt"]
    if isinstance(prompt, str):
        return [(prompt, None)]
    if prompt and all(isinstance(item, int) for item in prompt):
        pieces = [tokens.text_of(number) for number in prompt]
        return [("".join(pieces), pieces)]
    return [(str(item), None) for item in prompt]


async def completions(serving, exchange):
    plan = serving.plan
    body = validation.parse_body(exchange)
    validation.check_types(body, exchange.path, ("prompt",))
    validation.check_speculation(plan, body, body)
    sampling = api.sampling_values(body, 16, ("max_tokens",))
    prompts = [pair for pair in _prompts(body) for _dummy in range(int(body.get("n") or 1))]
    requests = [api.submit(serving, text, sampling, pieces=pieces, index=i) for i, (text, pieces) in enumerate(prompts)]
    if body.get("stream"):
        return await _stream_completion(serving, exchange, body, requests)
    for request in requests:
        await api.complete(serving, exchange, request)
    usage = api.usage(serving, requests)
    usage["prompt_tokens"] = (
        sum(len(request.pieces) for request in requests) if len(prompts) > 1 else usage["prompt_tokens"]
    )
    usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]
    answer = {
        "id": requests[0].rid,
        "object": "text_completion",
        "created": int(time.time()),
        "model": body.get("model", "default"),
        "choices": [_completion_choice(i, request, 0, request.done, True) for i, request in enumerate(requests)],
        "usage": usage,
        "metadata": api.metadata(plan, requests),
    }
    _add_sglext(plan, body, requests, answer)
    return await exchange.json(200, serving.bend(answer))


def _completion_choice(index, request, start, end, final):
    return {
        "index": index,
        "text": request.text(start, end),
        "logprobs": None,
        "finish_reason": request.finish["type"] if final else None,
        "matched_stop": _matched(request) if final else None,
    }


async def _stream_completion(serving, exchange, body, requests):
    created = int(time.time())

    def envelope(choices, usage):
        head = {"id": requests[0].rid, "object": "text_completion", "created": created}
        return {**head, "model": body.get("model", "default"), "choices": choices, "usage": usage}

    options = body.get("stream_options") or {}
    for index, request in enumerate(requests):
        async for start, end, final in api.steps(serving, exchange, request):
            if not exchange.answered:
                await exchange.start_stream()
            usage = api.usage(serving, requests, end) if options.get("continuous_usage_stats") else None
            await serving.maybe_hang(end)
            choice = _completion_choice(index, request, start, end, final)
            await exchange.event(serving.bend(envelope([choice], usage)))
    if options.get("include_usage"):
        usage = api.usage(serving, requests)
        usage.pop("prompt_tokens_details")
        usage.pop("completion_tokens_details", None)
        await exchange.event(serving.bend(envelope([], usage)))
    await serving.end_events(exchange)


POST = {"/v1/chat/completions": chat, "/v1/completions": completions}
