# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node with --node-rank 1 or more: it loads its ranks and serves three routes that are always 200.

There is no ready line, no /v1/models and no key; from 0.5.21 on a SIGTERM waits for rank 0.
"""

from __future__ import annotations

import asyncio
import os
import signal

from sglang import log_lines
from sglang.http_server import HttpServer

ALWAYS_WELL = ("/ping", "/health", "/health_generate")


async def _answer(exchange):
    if exchange.path in ALWAYS_WELL:
        return await exchange.reply(200)
    return await exchange.json(404, {"detail": "Not Found"})


async def _main(launcher):
    plan = launcher.plan
    log_lines.uvicorn("Started server process [%d]" % os.getpid())
    await HttpServer(_answer).listen(plan.host, plan.port)
    log_lines.uvicorn("Uvicorn running on http://%s:%d (Press CTRL+C to quit)" % (plan.host, plan.port))
    if plan.release.since("0.5.21"):

        def wait_for_rank_0():
            log_lines.warn(
                "SIGTERM received on node_rank %d; waiting for the rank-0 ShutdownReq broadcast to stop the schedulers."
                % plan.node_rank
            )

        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, wait_for_rank_0)
    while True:
        for child in launcher.schedulers:
            if child.poll() is not None:
                text = "Scheduler or DataParallelController %d terminated with %d"
                log_lines.error(text % (child.pid, child.code))
                return
        await asyncio.sleep(0.05)


def serve(launcher):
    """Run until the schedulers of this node end; returns the exit status."""
    asyncio.run(_main(launcher))
    launcher.kill_children()
    return 0
