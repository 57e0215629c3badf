# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What one streamed answer says: when its tokens came, how many they are by the server's own count, and how it ended."""

from __future__ import annotations

import json
import typing as t

# What the counter of accepted draft tokens without the bonus token is called, newest first. The older
# spec_accept_token_num is left out: whether it holds the bonus token differs between releases.
_CORRECT_DRAFTS = ("spec_num_correct_drafts", "spec_accepted_drafts")
_PROPOSED_DRAFTS = ("spec_num_proposed_drafts", "spec_proposed_drafts")
# More tokens than any answer has: what is larger cannot be counted with.
_MOST = 10**15
_LONGEST_TOLD = 300
_TEXT_FIELDS = ("content", "reasoning_content", "reasoning", "tool_calls")


class StreamAnswer:
    """Collects the events of one stream of the chat, completions or generate route.

    Times are what the caller's clock says, in seconds. Counts are ``None`` until the server reports them; tokens are never
    counted by chunks, because one chunk holds as many tokens as a verify step accepted.
    """

    def __init__(self, api: str) -> None:
        self.api = api
        self.first_token_at: t.Optional[float] = None
        self.first_content_at: t.Optional[float] = None
        self.last_token_at: t.Optional[float] = None
        self.token_chunks: list[tuple[float, t.Optional[int]]] = []
        self.prompt_tokens: t.Optional[int] = None
        self.completion_tokens: t.Optional[int] = None
        self.cached_tokens: t.Optional[int] = None
        self.finish_reason: t.Optional[str] = None
        self.ended = False
        self.error = ""
        self.speculation: dict[str, int] = {}
        self._text_length = 0

    @property
    def first_chunk_tokens(self) -> t.Optional[int]:
        """Tokens of the first chunk that held any; ``None`` where the server gives no running count."""
        return self.token_chunks[0][1] if self.token_chunks else None

    def feed(self, data: bytes, now: float) -> None:
        """Take in one event that came at *now*."""
        if data.strip() == b"[DONE]":
            self.ended = True
            return
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            self.error = self.error or f"an event is not JSON: {data[:80]!r}"
            return
        if not isinstance(event, dict):
            self.error = self.error or "an event is not a JSON object"
            return
        problem = _error_text(event)
        if problem is not None:
            self.error = self.error or problem
            return
        if self.api == "generate":
            self._take_generate(event, now)
        else:
            self._take_openai(event, now)

    def _take_generate(self, event: dict[str, t.Any], now: float) -> None:
        meta = event.get("meta_info")
        meta = meta if isinstance(meta, dict) else {}
        text = event.get("text")
        length = len(text) if isinstance(text, str) else 0
        grew = length != self._text_length and length > 0
        self._text_length = length
        reason = meta.get("finish_reason")
        self._finish(reason.get("type") if isinstance(reason, dict) else reason)
        if isinstance(reason, dict) and reason.get("type") == "abort":
            self.error = self.error or f"the server aborted the request: {_told(reason.get('message'))}"
        running = self._take_usage(meta)
        self._take_speculation(meta)
        self._take_token(now, running, grew, content=grew)

    def _take_openai(self, event: dict[str, t.Any], now: float) -> None:
        usage = event.get("usage")
        running = self._take_usage(usage) if isinstance(usage, dict) else None
        for holder in (event, *_choices(event)):
            for key in ("sglext", "meta_info"):
                self._take_extension(holder.get(key))
        for choice in _choices(event):
            self._finish(choice.get("finish_reason"))
            delta = choice.get("delta")
            texts = [delta.get(key) for key in _TEXT_FIELDS] if isinstance(delta, dict) else [choice.get("text")]
            grew = [bool(text) and isinstance(text, (str, list)) for text in texts]
            self._take_token(now, running, any(grew), content=grew[0])

    def _take_extension(self, extension: t.Any) -> None:
        if isinstance(extension, dict):
            details = extension.get("spec_tokens_details")
            self._take_speculation(details if isinstance(details, dict) else extension)
            self._take_cached(extension.get("cached_tokens_details"))

    def _take_token(self, now: float, running: t.Optional[int], grew: bool, content: bool) -> None:
        """Note a chunk that holds tokens: text in any channel, or a running count that rose while the text is held back."""
        counted = running is not None and running > (self.token_chunks[-1][1] or 0 if self.token_chunks else 0)
        if not grew and not counted:
            return
        if self.first_token_at is None:
            self.first_token_at = now
        if content and self.first_content_at is None:
            self.first_content_at = now
        self.last_token_at = now
        self.token_chunks.append((now, running))

    def _take_usage(self, usage: dict[str, t.Any]) -> t.Optional[int]:
        self.prompt_tokens = _count(usage.get("prompt_tokens"), self.prompt_tokens)
        running = _count(usage.get("completion_tokens"), None)
        self.completion_tokens = _count(running, self.completion_tokens)
        self.cached_tokens = _count(usage.get("cached_tokens"), self.cached_tokens)
        details = usage.get("prompt_tokens_details")
        if isinstance(details, dict):
            self.cached_tokens = _count(details.get("cached_tokens"), self.cached_tokens)
        return running

    def _take_cached(self, details: t.Any) -> None:
        if isinstance(details, dict) and self.cached_tokens is None:
            parts = [_count(value, None) for value in details.values()]
            if any(part is not None for part in parts):
                self.cached_tokens = sum(part or 0 for part in parts)

    def _take_speculation(self, details: dict[str, t.Any]) -> None:
        for name, sources in (
            ("verify_steps", ("spec_verify_ct",)),
            ("correct_drafts", _CORRECT_DRAFTS),
            ("proposed_drafts", _PROPOSED_DRAFTS),
        ):
            for source in sources:
                value = _count(details.get(source), None)
                if value is not None:
                    self.speculation[name] = value
                    break

    def _finish(self, reason: t.Any) -> None:
        if isinstance(reason, str) and reason:
            self.finish_reason = reason

    def failure(self) -> tuple[str, str]:
        """Kind and cause of what is missing from a whole answer; two empty strings for a success."""
        if self.error:
            return "in_band_error", self.error
        if self.first_token_at is None:
            return "no_token", "the stream ended with no token in it"
        if self.completion_tokens is None or self.prompt_tokens is None:
            return "no_usage", "the server reported no token counts"
        if self.finish_reason is None:
            return "no_finish_reason", "the stream ended without a reason"
        if not self.ended:
            return "no_end_of_stream", "the stream ended without its end mark"
        return "", ""


def _choices(event: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    choices = event.get("choices")
    return [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []


def _count(value: t.Any, default: t.Optional[int]) -> t.Optional[int]:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST else default


def _error_text(event: dict[str, t.Any]) -> t.Optional[str]:
    """The message of an error that came as an event; ``None`` for any other event."""
    error = event.get("error")
    if error is None and event.get("object") != "error":
        return None
    if isinstance(error, dict):
        return _told(error.get("message") or error)
    return _told(error or event.get("message") or event)


def _told(value: t.Any) -> str:
    """*value* as a short text that UTF-8 can carry."""
    try:
        text = value if isinstance(value, str) else str(value)
    except RecursionError:
        text = "it is nested too deeply"
    return text[:_LONGEST_TOLD].encode("utf-8", "replace").decode("utf-8")
