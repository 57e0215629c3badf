# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node with --node-rank 1 or more: it loads its ranks and serves three routes that are always 200.

There is no ready line, no /v1/models, no key and no TLS; from 0.5.21 on a SIGTERM waits for rank 0. A SIGINT ends it as any
Python program (engine.py, _launch_subprocesses: the main thread waits for its schedulers without a handler of its own).
"""

from __future__ import annotations

import asyncio
import os
import signal

from sglang import log_lines
from sglang.http_server import HttpServer

ALWAYS_WELL = ("/ping", "/health", "/health_generate")


async def _answer(exchange):
    if exchange.path not in ALWAYS_WELL:
        return await exchange.json(404, {"detail": "Not Found"})
    if exchange.method not in ("GET", "HEAD"):
        return await exchange.json(405, {"detail": "Method Not Allowed"}, [("allow", "GET")])
    return await exchange.reply(200)


async def _listen(plan):
    """The dummy server, in a thread of its own in SGLang: where it cannot bind, the node goes on without it."""
    where = "%s:%d" % (plan.host, plan.port)
    try:
        # Its log level is warning: neither uvicorn's lines nor requests show.
        await HttpServer(_answer, ("/",)).listen(plan.host, plan.port)
    except OSError as error:
        text = "[Errno %d] error while attempting to bind on address ('%s', %d): %s"
        why = os.strerror(error.errno or 98).lower()
        log_lines.uvicorn(text % (error.errno, plan.host, plan.port, why), "ERROR")
        log_lines.log("Dummy health check server stopped at " + where)
        return
    log_lines.log("Dummy health check server started in background thread at " + where)


async def _main(launcher):
    plan = launcher.plan
    await _listen(plan)
    if plan.release.since("0.5.21"):

        def wait_for_rank_0():
            log_lines.warn(
                "SIGTERM received on node_rank %d; waiting for the rank-0 ShutdownReq broadcast to stop the schedulers."
                % plan.node_rank
            )

        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, wait_for_rank_0)
    # One after the other, as it joins them.
    for child in launcher.schedulers:
        while child.poll() is None:
            await asyncio.sleep(0.05)
        log_lines.error("Scheduler or DataParallelController %d terminated with %d" % (child.pid, child.code))


def serve(launcher):
    """Run until the schedulers of this node end; returns the exit status."""
    try:
        asyncio.run(_main(launcher))
    except KeyboardInterrupt:
        launcher.log_kill(False)
        launcher.kill_children()
        frame = ("sglang/srt/entrypoints/engine.py", 1022, "block_until_scheduler_exits", "proc.join()")
        log_lines.raw(log_lines.traceback_text([frame], "KeyboardInterrupt"))
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    launcher.log_kill(False)
    launcher.kill_children()
    return 0
