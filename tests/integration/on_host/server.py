# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server of few routes for a unit: it starts in a tenth of a second, knows when it could first generate, and may outlive its stop.

Its plan is a JSON file, read at its start: load (seconds until it binds its port), warm (seconds after that in which a
generation is answered 503), linger (seconds for which it goes on answering after its unit's stop), way (of lingering),
reuse (whether it binds its port while another one still listens there), and until_asked (whether it lingers at least until
a file beside its plan says that it was polled).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import pathlib
import signal
import socket
import time

GENERATION_SECONDS = 0.02
OUTSIDE = pathlib.Path("/sys/fs/cgroup/llmops-left-over")


class Server:
    """Notes beside its plan, for its invocation, when it was *ready* for a generation, *asked* for each one, and *gone*."""

    def __init__(self, port: int, plan: pathlib.Path) -> None:
        self.port, self.plan = port, json.loads(plan.read_text())
        self.invocation = os.environ["INVOCATION_ID"]
        self.files = plan.parent / self.invocation
        self.ready = False

    async def run(self) -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, self.linger)
        await asyncio.sleep(self.plan["load"])
        await asyncio.start_server(self.answer, sock=await self.bound())
        await asyncio.sleep(self.plan["warm"])
        self.note("ready")
        self.ready = True
        await asyncio.Event().wait()

    async def bound(self) -> socket.socket:
        made = socket.socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if self.plan["reuse"]:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        while True:
            try:
                made.bind(("127.0.0.1", self.port))
            except OSError:
                await asyncio.sleep(0.01)
            else:
                return made

    def linger(self) -> None:
        asyncio.get_running_loop().call_later(self.plan["linger"], self.end)
        if self.plan["way"] == "outside":
            OUTSIDE.mkdir(exist_ok=True)
            (OUTSIDE / "cgroup.procs").write_text(str(os.getpid()))

    def end(self) -> None:
        if self.plan["until_asked"] and not self.files.with_suffix(".polled").exists():
            asyncio.get_running_loop().call_later(0.02, self.end)
            return
        self.note("gone")
        os._exit(0)

    def note(self, what: str) -> None:
        self.files.with_suffix(f".{what}").write_text(str(time.monotonic()))

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = head.partition("content-length:")[2].partition("\r")[0].strip()
            await reader.readexactly(int(length or 0))
            status, body = await self.route(head.split(" ")[1])
            data = json.dumps(body).encode()
            lines = f"HTTP/1.1 {status} X\r\ncontent-length: {len(data)}\r\nconnection: close\r\n\r\n"
            writer.write(lines.encode() + data)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def route(self, path: str) -> tuple[int, dict]:
        if path == "/v1/models":
            return 200, {"object": "list", "data": [{"id": "org/model"}]}
        if path == "/v1/chat/completions":
            with self.files.with_suffix(".asked").open("a") as file:
                file.write(f"{time.monotonic()}\n")
            if not self.ready:
                return 503, {"error": "loading"}
            await asyncio.sleep(GENERATION_SECONDS)
            message = {"role": "assistant", "content": f"This is {self.invocation}."}
            usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
            return 200, {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}
        return (200 if self.ready else 503), {}


def main() -> None:
    """The unit's main process only hands on its stop; its child serves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--plan", type=pathlib.Path, required=True)
    options = parser.parse_args()
    server = Server(options.port, options.plan)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGCHLD, signal.SIGUSR1])
    child = os.fork()
    if not child:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM, signal.SIGCHLD])
        asyncio.run(serve(server))
    if signal.sigwait([signal.SIGTERM, signal.SIGCHLD]) == signal.SIGCHLD:
        os._exit(1)
    os.kill(child, signal.SIGUSR1)
    if server.plan["way"] == "slow":
        os.waitpid(child, 0)
    os._exit(0)


async def serve(server: Server) -> None:
    running = asyncio.ensure_future(server.run())
    # The handler must be there before the signal is let through.
    await asyncio.sleep(0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
    await running


if __name__ == "__main__":
    main()
