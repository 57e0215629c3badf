# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the server ends: SIGTERM drains, SIGINT closes, a dead child takes the rest along.

Recorded on 0.5.15 and 0.5.23; what releases in between do is taken from the source notes.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time

from sglang import log_lines, processes


class Shutdown:
    """Signal handlers and watchdogs of one serving launcher."""

    def __init__(self, serving):
        self.serving, self.launcher, self.plan = serving, serving.launcher, serving.plan
        self.pace = self.plan.settings.pace
        self.interrupts = 0
        self.requested = None
        self.ended = asyncio.Event()
        self.status = 0

    def install(self):
        """uvicorn's handlers: they hold from the bind on; the handle loop takes SIGTERM over."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self.interrupted)
        if not self.serving.handle_loop:
            loop.add_signal_handler(signal.SIGTERM, self.interrupted)
        asyncio.ensure_future(self.watch_children())

    def handle_loop_started(self):
        """The first request was taken: from now on SIGTERM drains."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.terminated)
        asyncio.ensure_future(self.drain_watchdog())

    def terminated(self):
        log_lines.warn("SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
        self.serving.draining = True

    def interrupted(self):
        self.interrupts += 1
        if self.interrupts == 1:
            asyncio.ensure_future(self.close())

    async def wait(self):
        await self.ended.wait()
        return self.status

    async def drain_watchdog(self):
        """Look every 5 s whether a drain was asked for, then whether requests remain. There is no upper limit."""
        while not self.serving.draining:
            await asyncio.sleep(5 * self.pace)
        if os.environ.get("SGL_FORCE_SHUTDOWN", "").lower() in ("1", "true") or self.serving.status == "UnHealthy":
            why = "health check failed" if self.serving.status == "UnHealthy" else "force shutdown flag set"
            log_lines.error("Signal SIGTERM received while %s. Force exiting." % why)
        else:
            await self.drained()
        for fault in self.serving.faults.at("stop", "hang"):
            await asyncio.sleep(float(fault.argument) if fault.argument else 1e9)
        self.launcher.shut_other_nodes_down()
        if self.plan.release.since("0.5.19"):
            self.launcher.log_kill(False)
            self.launcher.kill_children()
            await self.close()
            return
        # The schedulers end first; meanwhile the port accepts and nobody answers.
        time.sleep(2 * self.pace)
        self.launcher.kill_tree()

    async def drained(self):
        while True:
            rids = list(self.serving.engine.known) + self.serving.leaked
            log_lines.log(
                "Gracefully exiting... Remaining number of requests %d. Remaining requests remaining_rids=%r."
                % (len(rids), rids)
            )
            if not rids:
                return
            await asyncio.sleep(5 * self.pace)

    async def close(self):
        """uvicorn's way out: the listener first, then what runs, then the application. Exit 0."""
        log_lines.uvicorn("Shutting down")
        http = self.serving.http
        http.stop_listening()
        await asyncio.sleep(0.1 * self.pace)
        said, generating = False, bool(self.serving.engine.known)
        while http.connections and self.interrupts < 2:
            if not said:
                log_lines.uvicorn("Waiting for connections to close. (CTRL+C to force quit)")
                said = True
            await asyncio.sleep(0.05)
        if generating and self.interrupts < 2:
            log_lines.uvicorn("Waiting for background tasks to complete. (CTRL+C to force quit)")
        log_lines.uvicorn("Waiting for application shutdown.")
        log_lines.uvicorn("Application shutdown complete.")
        log_lines.uvicorn("Finished server process [%d]" % os.getpid())
        self.launcher.log_kill(False)
        self.launcher.kill_children()
        time.sleep(self.plan.settings.teardown_seconds)
        self.ended.set()

    async def watch_children(self):
        """From 0.5.10 on the launcher looks once a second whether its children live."""
        while self.plan.release.since("0.5.10"):
            for child in self.launcher.schedulers + self.launcher.others:
                if child.name != "resource_tracker" and child.code is None and child.poll() not in (None, 0):
                    log_lines.error(
                        "Subprocess %s (pid=%d) crashed with exit code %d. Triggering SIGQUIT for cleanup..."
                        % (child.name, child.pid, child.code)
                    )
                    self.child_failed(None, None)
            await asyncio.sleep(1.0 * self.pace)

    def child_failed(self, signum, frame):
        """SIGQUIT: before the first request the tree dies at once, later after a blocking look for the cause."""
        if not self.serving.handle_loop:
            self.launcher.child_failed(signum, frame)
        log_lines.error("SIGQUIT received. signum=None, frame=None. It usually means one child failed.")
        if self.plan.release.since("0.5.13"):
            log_lines.error("Sleeping 5 seconds before crash diagnostics to let GPU activity settle.")
            time.sleep(5 * self.pace)
            alive = [
                c for c in self.launcher.schedulers if c.poll() is None and processes.state(c.pid) not in ("", "Z")
            ]
            if not alive:
                log_lines.error("No live scheduler processes found; skipping py-spy and CUDA coredump.")
            for child in alive:
                self.diagnose(child.pid)
            if alive:
                log_lines.error("Waiting 60.0 seconds for CUDA coredumps before exiting.")
                time.sleep(60 * self.pace)
        self.launcher.kill_tree()

    @staticmethod
    def diagnose(pid):
        for option in (" --native", " "):
            log_lines.error(
                "Pyspy failed (py-spy dump%s --pid %d). Error: /bin/sh: 1: py-spy: not found\n" % (option, pid)
            )
        log_lines.error("All pyspy dump attempts failed for PID %d." % pid)
        log_lines.error(
            "CUDA user-triggered coredump is not enabled. Set CUDA_ENABLE_USER_TRIGGERED_COREDUMP=1 before CUDA "
            "initialization."
        )
        log_lines.error(
            "CUDA coredump pipe not found for PID %d: /var/tmp/corepipe.cuda.%d. Ensure "
            "CUDA_ENABLE_USER_TRIGGERED_COREDUMP=1 was set before this process initialized CUDA." % (pid, pid)
        )
