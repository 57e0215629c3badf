# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server that knows the truth: it streams on an absolute schedule and remembers when it sent what.

Run as a program it takes its settings as one JSON argument and prints its port. One prompt token is four characters.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field

TEMPLATE_TOKENS = 12
TEMPLATE_PREFIX = 7
TOKENIZERS = {"sglang": ("/tokenize", "prompt"), "v1": ("/v1/tokenize", "prompt"), "llama": ("/tokenize", "content")}
PIECES = re.compile(r"[A-Za-z]{1,4}|\d|\s+|[^A-Za-z\d\s]")
# Endings that also mark the end of the body.
UNFRAMED = ("http_1.0", "until_eof")


@dataclass
class Settings:
    ttft: float = 0.1
    step: float = 0.02
    pattern: list = field(default_factory=lambda: [4])  # tokens of each chunk, repeated
    first_chunk: int = 1
    usage: str = "continuous"  # continuous, final, none
    spec: bool = False
    details: bool = False  # detail of each request in a streamed chat
    metrics: bool = False
    fault: str = ""
    fault_every: int = 4
    cached: str = "prefix"  # prefix, all, none, silent
    running_extra: int = 0
    tokenizer: str = ""  # its route: sglang, v1, llama, or none
    words: bool = False  # a token is a word or a part of one, not four characters
    ending: str = ""  # how a connection ends after a stream: close, http_1.0, until_eof, silent, or a number of streams
    api_key: str = ""
    version: str = "0.5.15.post1"
    model_path: str = "/models/fake"


class Server:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.truth: list = []
        self.running = 0
        self.count = 0
        self.totals = {"requests": 0, "tokens": 0, "verify": 0}
        self.prompts: list = []
        self.flushes = 0
        self.streams: dict = {}
        self.tokenized = 0
        self.connections = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await self.request(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        arrived = time.monotonic()
        lines = head.decode().split("\r\n")
        method, path, dummy = lines[0].split(" ")
        headers = {k.lower(): v.strip() for k, dummy, v in (line.partition(":") for line in lines[1:])}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        if (
            self.settings.api_key
            and path != "/truth"
            and headers.get("authorization") != f"Bearer {self.settings.api_key}"
        ):
            plain(writer, 401, {"error": "Unauthorized"})
        elif method == "POST" and path in ("/v1/chat/completions", "/v1/completions", "/generate"):
            self.running += 1
            try:
                return await self.generate(path, json.loads(body), arrived, writer)
            finally:
                self.running -= 1
        else:
            self.aside(method, path, writer, body)
        await writer.drain()
        return True

    def tokens(self, text: str) -> int:
        return len(PIECES.findall(text)) if self.settings.words else len(text) // 4

    def aside(self, method: str, path: str, writer: asyncio.StreamWriter, body: bytes) -> None:
        route, key = TOKENIZERS.get(self.settings.tokenizer, ("", ""))
        running = self.running + self.settings.running_extra
        if path == "/v1/models":
            plain(writer, 200, {"object": "list", "data": [{"id": "fake"}]})
        elif path == route:
            self.tokenized += 1
            plain(writer, 200, {"tokens": [1] * self.tokens(json.loads(body).get(key, ""))})
        elif path == "/server_info":
            plain(writer, 200, {"version": self.settings.version, "model_path": self.settings.model_path})
        elif path == "/v1/loads":
            plain(writer, 200, {"loads": [{"dp_rank": 0, "num_running_reqs": running, "num_waiting_reqs": 0}]})
        elif path == "/flush_cache" and method == "POST":
            self.flushes += 1
            self.prompts.clear()
            plain(writer, 200, "Cache flushed.")
        elif path == "/metrics" and self.settings.metrics:
            plain(writer, 200, self.metrics())
        elif path == "/truth":
            counts = {"flushes": self.flushes, "tokenized": self.tokenized, "connections": self.connections}
            plain(writer, 200, {"requests": self.truth, **counts})
        else:
            plain(writer, 404, {"detail": "Not Found"})

    def metrics(self) -> str:
        names = {
            "requests": "num_requests_total",
            "tokens": "generation_tokens_total",
            "verify": "spec_verify_calls_total",
        }
        return "".join(f'sglang:{names[k]}{{model_name="fake"}} {float(v)}\n' for k, v in self.totals.items())

    def cached_tokens(self, text: str) -> int | None:
        mode = self.settings.cached
        if mode == "silent":
            return None
        prompt = TEMPLATE_TOKENS + self.tokens(text)
        if mode == "all":
            return prompt - 1
        best = max((common(text, old) for old in self.prompts), default=-1)
        self.prompts.append(text)
        return 0 if mode == "none" or best < 0 else TEMPLATE_PREFIX + best // 4

    async def generate(self, path: str, body: dict, arrived: float, writer: asyncio.StreamWriter) -> bool:
        s = self.settings
        number, self.count = self.count, self.count + 1
        sampling = body.get("sampling_params") or {}
        wanted = sampling.get("max_new_tokens") or body.get("max_tokens") or body.get("max_completion_tokens")
        text = body.get("text") or body.get("prompt") or body["messages"][0]["content"]
        text = text if isinstance(text, str) else "".join(part.get("text", "") for part in text)
        fault = s.fault if s.fault and (number + 1) % s.fault_every == 0 and wanted > 1 else ""
        if fault == "http_500":
            plain(writer, 500, {"object": "error", "message": "internal", "code": 500})
            return True
        answer = Answer(self, path, body, wanted, TEMPLATE_TOKENS + self.tokens(text), self.cached_tokens(text), fault)
        writer.write(stream_head(s.ending))
        entry = {"number": number, "arrived": arrived, "sent": [], "wanted": wanted, "text": text[:80]}
        self.truth.append(entry)
        frame = bare if s.ending in UNFRAMED else raw
        if "messages" in body:
            send(writer, answer.role(), frame)
        for index, tokens in enumerate(answer.chunks()):
            due = arrived + s.ttft + index * s.step
            await asyncio.sleep(max(0, due - time.monotonic()))
            if fault == "drop" and index == 3:
                writer.transport.abort()
                return False
            if fault == "drip" and index == 3:
                await asyncio.sleep(3600)
            if fault == "in_band_error" and index == 3:
                send(writer, {"error": {"message": "boom", "type": "internal", "code": 500}}, frame)
                break
            event, before = answer.chunk(tokens), time.monotonic()
            send(writer, event, frame)
            # A busy machine may stop this process before or after the client has it.
            entry["sent"].append([(before + time.monotonic()) / 2, tokens])
        else:
            for last in answer.endings():
                send(writer, last, frame)
            self.totals["requests"] += 1
            self.totals["tokens"] += answer.done
            self.totals["verify"] += answer.verify
        if fault != "no_done":
            frame(writer, b"data: [DONE]\n\n")
        if s.ending in UNFRAMED:
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        if s.ending == "silent":
            # As an engine does that has to look after its thread first.
            await asyncio.sleep(0.002)
        return self.stays(writer)

    def stays(self, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection is kept after this stream."""
        port = writer.get_extra_info("peername")[1]
        self.streams[port] = self.streams.get(port, 0) + 1
        ending = self.settings.ending
        return ending == "" or (ending.isdigit() and self.streams[port] % int(ending) > 0)


class Answer:
    def __init__(
        self, server: Server, path: str, body: dict, wanted: int, prompt: int, cached: int | None, fault: str
    ) -> None:
        self.s, self.path, self.body, self.fault = server.settings, path, body, fault
        self.wanted = 40 if fault == "eos" and wanted > 40 else wanted
        self.prompt, self.cached = prompt, cached
        self.done = self.verify = self.correct = 0

    def role(self) -> dict:
        return {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]}

    def chunks(self) -> list:
        if self.fault == "empty":
            return []
        sizes, left, index = [], self.wanted, 0
        while left > 0:
            size = self.s.first_chunk if not sizes else self.s.pattern[index % len(self.s.pattern)]
            if sizes:
                index += 1
                self.verify += 1
                self.correct += size - 1
            sizes.append(min(size, left))
            left -= size
        return sizes

    def chunk(self, tokens: int) -> dict:
        self.done += tokens
        text = "a" * tokens
        if self.path == "/generate":
            meta = {
                "prompt_tokens": self.prompt,
                "completion_tokens": self.done,
                "cached_tokens": self.cached,
                "finish_reason": None,
            }
            if self.done >= self.wanted:
                meta["finish_reason"] = {"type": "length", "length": self.done}
                if self.s.spec:
                    meta.update(spec_verify_ct=self.verify, spec_num_correct_drafts=self.correct)
            return {"text": "a" * self.done, "meta_info": meta}
        reasoning = self.fault == "reasoning" and self.done <= self.wanted // 2
        delta = {"reasoning_content": text} if reasoning else {"content": text}
        choice = {
            "index": 0,
            "finish_reason": None,
            **({"delta": delta} if "messages" in self.body else {"text": text}),
        }
        event = {"choices": [choice]}
        if self.s.usage == "continuous" and (self.body.get("stream_options") or {}).get("continuous_usage_stats"):
            event["usage"] = self.usage()
        return event

    def endings(self) -> list:
        if self.path == "/generate":
            return []
        finish = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop" if self.fault == "eos" else "length"}]}
        events = [] if self.fault == "no_finish" else [finish]
        if self.s.usage != "none" and self.fault != "no_usage":
            last = {"choices": [], "usage": self.usage()}
            if self.s.details and self.body.get("return_spec_tokens_details"):
                details = {"spec_verify_ct": self.verify, "spec_num_correct_drafts": self.correct}
                last["sglext"] = {"spec_tokens_details": details}
            events.append(last)
        return [] if self.fault == "empty" else events

    def usage(self) -> dict:
        details = None if self.cached is None else {"cached_tokens": self.cached}
        return {"prompt_tokens": self.prompt, "completion_tokens": self.done, "prompt_tokens_details": details}


def common(a: str, b: str) -> int:
    return len(os.path.commonprefix([a, b]))


def raw(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


def stream_head(ending: str) -> bytes:
    version = "1.0" if ending == "http_1.0" else "1.1"
    framing = "" if ending in UNFRAMED else "transfer-encoding: chunked\r\n"
    says = {"close": "connection: Close, TE\r\n", "silent": "keep-alive: timeout=5, max=100\r\n"}.get(ending, "")
    return f"HTTP/{version} 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n{framing}{says}\r\n".encode()


def send(writer: asyncio.StreamWriter, event: dict, frame: Callable = raw) -> None:
    frame(writer, b"data: " + json.dumps(event).encode() + b"\n\n")


def bare(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data)


def plain(writer: asyncio.StreamWriter, status: int, body: object) -> None:
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    writer.write(f"HTTP/1.1 {status} X\r\ncontent-length: {len(data)}\r\n\r\n".encode() + data)


class FakeServer:
    """The server in a process of its own, so that it and a client do not share an interpreter."""

    def __init__(self, **settings: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, json.dumps(settings)], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        self.base_url = f"http://127.0.0.1:{self.port}"

    def truth(self) -> dict:
        with urllib.request.urlopen(f"{self.base_url}/truth", timeout=10) as answer:
            return json.load(answer)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


async def main() -> None:
    server = Server(Settings(**json.loads(sys.argv[1])))
    listener = await asyncio.start_server(server.handle, "127.0.0.1", 0, backlog=2048)
    print(listener.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
