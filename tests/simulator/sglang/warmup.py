# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SGLang's own warm-up: it polls /model_info, generates 8 tokens and prints the ready line.

It talks to 127.0.0.1:PORT over TCP, whoever listens there: the false ready line of a taken port comes from that.
"""

from __future__ import annotations

import asyncio
import json
import ssl

from sglang import log_lines

READY = "The server is fired up and ready to roll!"


async def _call(plan, method, path, body=None):
    """(status, body) of one request to the own address."""
    host = "127.0.0.1" if plan.host in ("0.0.0.0", "::", "") else plan.host
    tls = None
    if plan.tls:
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    reader, writer = await asyncio.open_connection(host, plan.port, ssl=tls)
    try:
        data = json.dumps(body).encode() if body is not None else b""
        head = "%s %s HTTP/1.1\r\nhost: %s:%d\r\nconnection: close\r\n" % (method, path, host, plan.port)
        if plan.api_key:
            head += "authorization: Bearer %s\r\n" % plan.api_key
        head += "content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(data)
        writer.write(head.encode() + data)
        answer = await reader.read()
    finally:
        writer.close()
    head, _dummy, rest = answer.partition(b"\r\n\r\n")
    words = head.split()
    return (int(words[1]) if len(words) > 1 else 0), rest


async def _poll(plan, path):
    """Ask for /model_info until it answers 200; 120 times, as SGLang does."""
    pause = min(1.0 * plan.settings.pace, plan.settings.warmup_seconds / 2)
    error = None
    for _dummy in range(120):
        await asyncio.sleep(pause)
        try:
            status, _body = await _call(plan, "GET", path)
            if status == 200:
                return None
            error = "AssertionError: res.status_code=%d" % status
        except OSError as failure:
            error = "%s: %s" % (type(failure).__name__, failure)
        pause = max(pause, 0.05)
    return error


def _say_ready(plan):
    """Once for each tokenizer process."""
    for _dummy in range(int(plan.args.get("tokenizer_worker_num") or 1)):
        log_lines.log(READY)


async def warm_up(serving, skipped):
    """Warm the server up and say that it is ready; on failure kill the tree."""
    plan = serving.plan
    release = plan.release
    if skipped:
        serving.status = "Up"
        if release.since("0.5.18"):
            log_lines.warn("post-warmup freeze_gc failed")
        _say_ready(plan)
        return
    error = await _poll(plan, "/model_info" if release.since("0.5.7") else "/get_model_info")
    if error is None:
        serving.launcher.fault("warmup")
        body = {
            "sampling_params": {"temperature": 0, "max_new_tokens": 8},
            "text": "The capital city of France is",
        }
        try:
            status, answer = await _call(plan, "POST", "/generate", body)
            if status != 200:
                error = "AssertionError: %s" % answer[:200].decode("utf-8", "replace")
        except OSError as failure:
            error = "%s: %s" % (type(failure).__name__, failure)
    if error is not None:
        log_lines.error("Initialization failed. warmup error: Traceback (most recent call last):\n%s" % error)
        serving.launcher.kill_tree()
    serving.status = "Up"
    if release.since("0.5.18") and serving.http.listener is not None:
        await _call(plan, "POST", "/freeze_gc")
    serving.launcher.fault("ready")
    _say_ready(plan)
    serving.warmed.set()
