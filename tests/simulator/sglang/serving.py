# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTTP server's life: lifespan, bind, routes, and the state that the routes share."""

from __future__ import annotations

import asyncio
import os
import signal
import ssl
import sys
import time

from sglang import access, endpoints_admin, endpoints_native, endpoints_openai, endpoints_status, log_lines, wire_faults
from sglang.faults import GENERATION_PATHS
from sglang.generation import Engine
from sglang.http_server import ClientGone, HttpServer
from sglang.shutdown import Shutdown
from sglang.validation import BadRequest, error_object
from sglang.warmup import warm_up

ROUTES = {
    "GET": {**endpoints_status.GET, **endpoints_admin.GET},
    "POST": {**endpoints_admin.POST, **endpoints_openai.POST, **endpoints_native.POST},
}


class Serving:
    """The state of a bound (or almost bound) server."""

    def __init__(self, launcher):
        self.launcher, self.plan, self.faults = launcher, launcher.plan, launcher.faults
        self.status = "Starting"
        self.draining = False
        self.handle_loop = False
        self.leaked = []
        self.counts = {}
        self.fault = None
        self.engine = Engine(self.plan, launcher.schedulers, launcher.settings.truth_log)
        self.engine.cold_seconds = launcher.settings.warmup_seconds / 2
        vary = "vary: Origin" if self.plan.release.since("0.5.23") else ""
        prefixes = self.plan.args.get("uvicorn_access_log_exclude_prefixes")
        self.http = HttpServer(self.dispatch, prefixes, vary)
        self.shutdown = Shutdown(self)
        self.warmed = asyncio.Event()

    def tls(self):
        if not self.plan.tls:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(
            self.plan.args["ssl_certfile"], self.plan.args["ssl_keyfile"], self.plan.args.get("ssl_keyfile_password")
        )
        return context

    def note_request(self):
        """The first request starts SGLang's handle loop, and with it its own SIGTERM handler."""
        if not self.handle_loop:
            self.handle_loop = True
            self.shutdown.handle_loop_started()

    def forget(self, request):
        self.engine.known.pop(request.rid, None)

    def leak(self, request):
        """A chat with n > 1 leaves its parent request behind for ever, up to 0.5.18."""
        if not self.plan.release.since("0.5.19"):
            self.leaked.append(request.rid[::-1])

    async def scheduler_answers(self, exchange):
        """Wait until the scheduler is there to answer."""
        while self.engine.frozen:
            await asyncio.sleep(0.05)
            if exchange.client_gone:
                raise ClientGone()

    async def dispatch(self, exchange):
        """Authorise, route, and turn refusals into SGLang's error shapes."""
        refusal = access.decide(self.plan, exchange.method, exchange.path, exchange.headers.get("authorization", ""))
        if refusal is not None:
            return await exchange.json(*refusal)
        kind = "generation" if exchange.path in GENERATION_PATHS else exchange.path
        # Only generation after the own warm-up counts, so that @after=N means N requests of clients.
        if self.status != "Starting" or kind != "generation":
            self.counts[kind] = self.counts.get(kind, 0) + 1
        exchange.number = self.counts.get(kind, 0)
        if exchange.number and await wire_faults.before(self, exchange):
            return None
        handler = self.find(exchange)
        try:
            if isinstance(handler, str):
                return await exchange.json(405, {"detail": "Method Not Allowed"}, [("allow", handler)])
            return await handler(self, exchange)
        except BadRequest as error:
            return await exchange.json(error.status, error_object(str(error), error.kind, error.status))
        except ConnectionError:
            for request in exchange.sequences:
                if request.rid in self.engine.known:
                    self.engine.abort(request)
            raise

    @staticmethod
    def find(exchange):
        handler = ROUTES.get(exchange.method, {}).get(exchange.path)
        if handler is not None:
            return handler
        if exchange.method == "GET" and exchange.path.startswith("/v1/models/"):
            return endpoints_status.model
        allowed = [method for method, table in ROUTES.items() if exchange.path in table]
        return ", ".join(allowed) if allowed else endpoints_admin.unknown

    # What the endpoints ask about faults; `wire_faults` holds the rules.
    def strikes(self, fault):
        return wire_faults.strikes_generation(self, fault)

    def bend(self, answer):
        return wire_faults.bend(self, answer)

    async def maybe_hang(self, tokens_done):
        await wire_faults.maybe_hang(self, tokens_done)

    async def end_events(self, exchange):
        if not any(f.kind == "lie" and f.lie == "no_done" and self.strikes(f) for f in self.faults.at("serving")):
            await exchange.event("[DONE]")
        await exchange.end_stream()

    def timings(self):
        times = endpoints_status.startup_time(self)
        graphs = ", ".join("%s=%.2f" % pair for pair in times["cuda_graph"].items())
        return (
            "Engine startup timings (s): load_weight=%.2f, kv_cache_allocation=%.2f, scheduler_e2e=%.2f, cuda_graph={%s}, "
            "tokenizer_e2e=%.2f"
            % (
                times["load_weight"],
                times["kv_cache_allocation"],
                times["scheduler_e2e"],
                graphs,
                times["tokenizer_e2e"],
            )
        )

    async def main(self):
        """From "Started server process" to the exit status."""
        if self.plan.release.since("0.5.18"):
            log_lines.log(self.timings())
        log_lines.uvicorn("Started server process [%d]" % os.getpid())
        log_lines.uvicorn("Waiting for application startup.")
        if self.plan.target.sampling_defaults:
            log_lines.log(
                "Using default chat sampling params from model generation config: %r"
                % self.plan.target.sampling_defaults
            )
        log_lines.log("Using fallback token IDs for yes/no (9693/2152)")
        engine_task = asyncio.ensure_future(self.engine.run())
        skipped = bool(self.plan.args.get("skip_server_warmup"))
        warm = asyncio.ensure_future(warm_up(self, skipped))
        log_lines.uvicorn("Application startup complete.")
        self.launcher.fault("bind")
        if self.faults.lies("ready", "no_bind"):
            log_lines.log("The server is fired up and ready to roll!")
            await asyncio.sleep(1e9)
        try:
            await self.http.listen(self.plan.host, self.plan.port, self.tls())
        except OSError as error:
            return await self.bind_failed(error, warm)
        scheme = "https" if self.plan.tls else "http"
        shown = "[%s]" % self.plan.host if ":" in self.plan.host else self.plan.host
        log_lines.uvicorn("Uvicorn running on %s://%s:%d (Press CTRL+C to quit)" % (scheme, shown, self.plan.port))
        self.shutdown.install()
        status = await self.shutdown.wait()
        engine_task.cancel()
        return status

    async def bind_failed(self, error, warm):
        """The port is taken: the warm-up still talks to whoever owns it, and up to 0.5.18 says ready."""
        text = "[Errno %d] error while attempting to bind on address ('%s', %d): %s" % (
            error.errno,
            self.plan.host,
            self.plan.port,
            (os.strerror(error.errno or 98)).lower(),
        )
        log_lines.uvicorn(text, "ERROR")
        log_lines.uvicorn("Waiting for application shutdown.")
        if self.plan.release.since("0.5.19"):
            warm.cancel()
            await asyncio.sleep(1e9)
        await warm
        log_lines.uvicorn("Application shutdown complete.")
        self.launcher.log_kill(False)
        self.launcher.kill_children()
        time.sleep(self.plan.settings.teardown_seconds)
        return 1


def serve(launcher):
    """Run the server; returns the exit status of the process."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    serving = Serving(launcher)
    signal.signal(signal.SIGQUIT, serving.shutdown.child_failed)
    try:
        status = loop.run_until_complete(serving.main())
    except KeyboardInterrupt:
        status = 130
    sys.stdout.flush()
    os._exit(status)
