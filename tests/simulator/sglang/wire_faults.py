# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The faults of a server that serves: hangs, drips, resets, crashes and lies of its answers."""

from __future__ import annotations

import asyncio
import gzip
import os
import signal

from sglang import exceptions, log_lines
from sglang.faults import GENERATION_PATHS


def strikes_generation(serving, fault):
    """True when a fault of generation applies to the generation request that came last."""
    return fault.strikes(fault.path or "/generate", serving.counts.get("generation", 0))


def _crash(serving, fault):
    """End the server while it serves: by exit code, by signal, or by a scheduler that fails."""
    how = fault.argument or "exception"
    if how.isdigit():
        os._exit(int(how))
    if how.startswith("SIG"):
        os.kill(os.getpid(), getattr(signal, how))
    elif how in ("scheduler", "detokenizer"):
        child = next(c for c in serving.launcher.schedulers + serving.launcher.others if c.name.startswith(how))
        os.kill(child.pid, signal.SIGKILL)
    else:
        serving.launcher.schedulers[0].print_line("Scheduler hit an exception: Traceback (most recent call last):", 40)
        log_lines.raw(exceptions.text(how, serving.plan))
        os.kill(serving.launcher.schedulers[0].pid, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGQUIT)


async def before(serving, exchange):
    """Faults that strike before an answer is made; True when the request is dealt with."""
    for fault in serving.faults.at("serving"):
        if not fault.strikes(exchange.path, exchange.number):
            continue
        if fault.kind == "crash":
            _crash(serving, fault)
            await asyncio.sleep(0.2)
        elif fault.kind == "hang" and not fault.argument:
            while not exchange.client_gone:
                await asyncio.sleep(0.05)
            return True
        elif fault.kind == "hang" and fault.argument == "reset":
            exchange.reset()
            return True
        elif fault.kind == "drip":
            if fault.argument.startswith("headers"):
                exchange.drip_headers = float(fault.detail or 1)
            else:
                exchange.drip = float(fault.argument or 1)
        elif fault.kind == "status":
            await _status(exchange, int(fault.argument or 503))
            return True
        elif fault.kind == "lie" and await _lie(fault, exchange):
            return True
        elif fault.kind == "lie" and fault.lie == "health" and exchange.path in GENERATION_PATHS:
            while not exchange.client_gone:
                await asyncio.sleep(0.05)
            return True
    return False


async def _status(exchange, status):
    names = {503: "Service Unavailable", 429: "Too Many Requests", 500: "Internal Server Error", 404: "NotFoundError"}
    body = {
        "object": "error",
        "message": "simulated answer %d" % status,
        "type": names.get(status, "Error"),
        "param": None,
        "code": status,
    }
    await exchange.json(status, body, [("retry-after", "1")] if status in (429, 503) else [])


async def _lie(fault, exchange):
    """Answers with status 200 that are none."""
    if fault.lie == "error_body":
        error = {"message": "simulated in-band error", "type": "InternalServerError", "code": 500}
        if b'"stream": true' in exchange.body or b'"stream":true' in exchange.body:
            await exchange.start_stream()
            await exchange.event({"error": error})
            await exchange.event("[DONE]")
            await exchange.end_stream()
        else:
            await exchange.json(200, {"error": error})
    elif fault.lie == "html":
        await exchange.reply(200, "<html><body><h1>Sign in</h1></body></html>", "text/html; charset=utf-8")
    elif fault.lie == "truncated":
        text = '{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","cont'
        await exchange.reply(200, text, "application/json")
    elif fault.lie == "not_json":
        await exchange.reply(200, '"content"', "application/json")
    elif fault.lie == "gzip":
        data = gzip.compress(b'{"choices":[{"message":{"content":"' + b"a" * (fault_size(fault)) + b'"}}]}')
        await exchange.reply(200, data, "application/json", [("content-encoding", "gzip")])
    else:
        return False
    return True


def fault_size(fault):
    """Unpacked bytes of the gzip answer: `serving:lie:gzip:50000000` is a small bomb."""
    return int(fault.detail or 1000)


def bend(serving, answer):
    """An answer (or a chunk) with the lies that strike applied."""
    if not isinstance(answer, dict):
        return answer
    for fault in serving.faults.at("serving", "lie"):
        if fault.lie not in ("empty_choices", "null_content", "empty_content", "no_usage"):
            continue
        if not strikes_generation(serving, fault):
            continue
        if fault.lie == "no_usage":
            answer.pop("usage", None)
        elif fault.lie == "empty_choices" and "choices" in answer:
            answer["choices"] = []
        elif fault.lie in ("null_content", "empty_content"):
            value = None if fault.lie == "null_content" else ""
            for choice in answer.get("choices", []):
                for part in ("message", "delta"):
                    if "content" in choice.get(part, {}):
                        choice[part]["content"] = value
                if "text" in choice:
                    choice["text"] = value
            if "text" in answer:
                answer["text"] = value
    return answer


async def maybe_hang(serving, tokens_done):
    """`serving:hang:N`: a stream stops for ever after N tokens; `serving:hang:engine` stops the scheduler."""
    for fault in serving.faults.at("serving", "hang"):
        if fault.argument.isdigit() and strikes_generation(serving, fault) and tokens_done > int(fault.argument):
            await asyncio.sleep(1e9)
        if fault.argument == "engine" and strikes_generation(serving, fault):
            serving.engine.hung = True
