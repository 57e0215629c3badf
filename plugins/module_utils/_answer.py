# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What a generation answer says by its structure: tokens, where they went, why they ended, or what is wrong with it."""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._engine_words import first, words
from ansible_collections.llmops.sglang.plugins.module_utils._http_answer import decoded


class BadAnswer(Exception):
    """A body that is no generation. failure_class: C(server_error) or C(empty_output); code: an in-band status or 0."""

    def __init__(self, msg: str, failure_class: str = "empty_output", code: int = 0) -> None:
        super().__init__(msg)
        self.msg = msg
        self.failure_class = failure_class
        self.code = code


@dataclass
class Generation:
    """What one answer generated; tokens and verify_steps are ``None`` where the server does not say."""

    content: str = ""
    reasoning: str = ""
    tool_calls: list[t.Any] = field(default_factory=list)
    finish_reason: str = ""
    usage: dict[str, t.Any] = field(default_factory=dict)
    verify_steps: int | None = None
    body: t.Any = field(default=None, repr=False)

    @property
    def tokens(self) -> int | None:
        return _number(self.usage.get("completion_tokens"))

    @property
    def prompt_tokens(self) -> int | None:
        return _number(self.usage.get("prompt_tokens"))

    @property
    def generated_from(self) -> str:
        """C(content), C(tool_calls), C(reasoning), or empty where nothing was generated."""
        if self.content:
            return "content"
        if self.tool_calls:
            return "tool_calls"
        if self.reasoning or (_number(self.usage.get("reasoning_tokens")) or 0) > 0:
            return "reasoning"
        return ""

    @property
    def text(self) -> str:
        if self.content or self.reasoning or not self.tool_calls:
            return self.content or self.reasoning
        try:
            return json.dumps(self.tool_calls)
        except RecursionError:
            return ""


def read_generation(body: t.Any) -> Generation:
    """The generation in a decoded answer of any of the three APIs.

    Raises BadAnswer for an in-band error, another shape, or no token.
    """
    if isinstance(body, list) and body:
        # SGLang's /generate answers a list where it was asked one.
        body = body[0]
    if not isinstance(body, dict):
        raise BadAnswer(f"The answer is JSON of another shape ({type(body).__name__}).")
    _refuse_error(body)
    generation = _from_choices(body) if "choices" in body else _from_native(body)
    generation.body = body
    _refuse_cut(generation, _mapping(body.get("meta_info")))
    if not generation.generated_from:
        raise BadAnswer(_why_empty(body, generation))
    return generation


def read_stream(text: str) -> Generation:
    """The generation that a whole server-sent stream adds up to.

    Raises BadAnswer as read_generation does, and for a stream without its end.
    """
    total = Generation(body={})
    calls: dict[int, dict[str, t.Any]] = {}
    # Text may hold what Python takes for the end of a line, too.
    events = [line[5:].strip() for line in text.split("\n") if line.startswith("data:")]
    if not events:
        raise BadAnswer("The answer is no server-sent stream: it has no 'data:' line.")
    for event in events:
        if event == "[DONE]":
            break
        try:
            chunk = decoded(event)
        except ValueError:
            raise BadAnswer("The stream holds an event that is not JSON.") from None
        if isinstance(chunk, dict):
            _refuse_error(chunk)
            _add_chunk(total, calls, chunk)
    total.tool_calls = [calls[index] for index in sorted(calls) if any(calls[index].values())]
    _refuse_cut(total, _mapping(total.body.get("meta_info")))
    if not total.generated_from:
        raise BadAnswer("The stream ended without a token.")
    if not total.finish_reason and "[DONE]" not in events:
        raise BadAnswer("The stream ended before its end mark.")
    return total


def _add_chunk(total: Generation, calls: dict[int, dict[str, t.Any]], chunk: dict[str, t.Any]) -> None:
    total.body = chunk
    if _mapping(chunk.get("meta_info")):
        # Each event of /generate counts anew from the beginning.
        total.usage = {}
    _keep_counts(total, chunk)
    if "choices" not in chunk:
        # /generate repeats the whole text so far in each event; llama.cpp sends pieces as content.
        if isinstance(chunk.get("text"), str):
            total.content = chunk["text"]
        elif isinstance(chunk.get("content"), str):
            total.content += chunk["content"]
        return
    for choice in _mappings(chunk["choices"])[:1]:
        delta = _mapping(choice.get("delta"))
        total.content += _string(delta.get("content")) or _string(choice.get("text"))
        total.reasoning += _reasoning(delta)
        total.finish_reason = _reason(choice.get("finish_reason")) or total.finish_reason
        for call in _mappings(delta.get("tool_calls")):
            kept = calls.setdefault(_number(call.get("index")) or 0, {"name": "", "arguments": ""})
            function = _mapping(call.get("function"))
            kept["name"] += _string(function.get("name"))
            kept["arguments"] += _string(function.get("arguments"))


def _refuse_error(body: dict[str, t.Any]) -> None:
    error = body.get("error")
    if not error and body.get("object") != "error":
        return
    said = error if error else body
    message = said.get("message") if isinstance(said, dict) else said
    code = _number(said.get("code")) if isinstance(said, dict) else None
    raise BadAnswer(
        f"The answer has status 200 and is an error in itself: {_string(message) or json.dumps(said)[:300]}",
        "server_error",
        code or 0,
    )


def _from_choices(body: dict[str, t.Any]) -> Generation:
    choices = body["choices"]
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise BadAnswer("The answer has status 200 and no choices.")
    choice = choices[0]
    message = _mapping(choice.get("message"))
    content = message.get("content") if "content" in message else choice.get("text")
    if isinstance(content, list):
        content = "".join(_string(part.get("text")) for part in content if isinstance(part, dict))
    generation = Generation(
        content=_string(content),
        reasoning=_reasoning(message),
        tool_calls=[call for call in _mappings(message.get("tool_calls")) if any(call.values())],
        finish_reason=_reason(choice.get("finish_reason")),
    )
    _keep_counts(generation, body)
    _keep_counts(generation, choice)
    return generation


def _from_native(body: dict[str, t.Any]) -> Generation:
    text = first(body, "text")
    if text is None:
        raise BadAnswer(
            f"The answer is JSON without choices or text; it has {', '.join(sorted(map(str, body))[:6]) or 'nothing'}."
        )
    if isinstance(text, list):
        text = text[0] if text else ""
    generation = Generation(content=_string(text))
    _keep_counts(generation, body)
    return generation


def _refuse_cut(generation: Generation, meta: dict[str, t.Any]) -> None:
    """A generation that the server itself broke off has not succeeded, however many tokens came before."""
    if generation.finish_reason not in words("broken"):
        return
    reason = _mapping(meta.get("finish_reason"))
    raise BadAnswer(
        f"The server aborted the request: {_string(reason.get('message')) or 'no reason given'} "
        f"(finish_reason '{generation.finish_reason}').",
        "server_error",
        _number(reason.get("status_code")) or 0,
    )


def _keep_counts(generation: Generation, body: dict[str, t.Any]) -> None:
    """Usage, finish reason and verify steps from wherever this engine and API put them."""
    meta = _mapping(body.get("meta_info"))
    usage = body.get("usage")
    if isinstance(usage, dict):
        generation.usage = usage
    elif not generation.usage:
        place = meta if first(body, "tokens") is None else body
        counted, prompt = first(place, "tokens"), first(place, "prompt_tokens")
        if _number(counted) is not None:
            generation.usage = {"prompt_tokens": _number(prompt), "completion_tokens": _number(counted)}
            if _number(meta.get("reasoning_tokens")) is not None:
                generation.usage["reasoning_tokens"] = meta["reasoning_tokens"]
    generation.finish_reason = generation.finish_reason or _reason(meta.get("finish_reason") or body.get("stop_type"))
    steps = verify_steps(body)
    generation.verify_steps = steps if steps is not None else generation.verify_steps


def verify_steps(body: dict[str, t.Any]) -> int | None:
    """How many verify steps the answer counts; ``None`` where it does not say.

    SGLang: ``meta_info.spec_verify_ct`` (/generate; chat with return_meta_info from 0.5.13) and the verify count under
    ``sglext``; llama.cpp: drafted tokens in ``timings``.
    """
    extension = _mapping(body.get("sglext"))
    for place in (_mapping(body.get("meta_info")), extension, _mapping(extension.get("spec_tokens_details"))):
        if _number(place.get("spec_verify_ct")) is not None:
            return _number(place["spec_verify_ct"])
    return _number(_mapping(body.get("timings")).get("draft_n"))


def _why_empty(body: dict[str, t.Any], generation: Generation) -> str:
    counted = f"usage counts {generation.tokens} tokens" if generation.tokens is not None else "no usage"
    ended = f", finish_reason '{generation.finish_reason}'" if generation.finish_reason else ""
    return f"The answer has status 200 and no token in content, reasoning or tool calls ({counted}{ended})."


def _reasoning(message: dict[str, t.Any]) -> str:
    return next((_string(message[key]) for key in words("reasoning") if message.get(key)), "")


def _reason(value: t.Any) -> str:
    if isinstance(value, dict):
        value = value.get("type")
    return value if isinstance(value, str) else ""


def _mapping(value: t.Any) -> dict[str, t.Any]:
    return value if isinstance(value, dict) else {}


def _mappings(value: t.Any) -> list[dict[str, t.Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _string(value: t.Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: t.Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if isinstance(value, str) and not (value.isdecimal() and len(value) < 20):
        return None
    number = int(value) if isinstance(value, str) else value
    # JSON as Python reads it has numbers without a value.
    return int(number) if abs(number) < 1e18 else None
