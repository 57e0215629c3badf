# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The launcher: arguments, children, their end, and the HTTP server in between."""

from __future__ import annotations

import os
import select
import signal
import sys
import time

from sglang import command_line, exceptions, log_lines, processes, resolution, scheduler_process
from sglang.faults import Faults, strike_process
from sglang.settings import Settings

RESOLVE_FRAMES = [
    ("sglang/launch_server.py", 67, "<module>", "server_args = prepare_server_args(sys.argv[1:])"),
    ("sglang/srt/server_args.py", 7161, "prepare_server_args", "return ServerArgs.from_cli_args(raw_args)"),
    ("sglang/srt/arg_groups/speculative_hook.py", 234, "_handle_dflash", "raise ValueError("),
]


class Child:
    """A child process: its pid, the name the watchdog gives it, and the pipe of its log lines."""

    def __init__(self, name, pid, command_fd=None):
        self.name, self.pid, self.command_fd = name, pid, command_fd
        self.code = None

    def poll(self):
        """The exit code once the child has ended, else None."""
        if self.code is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                pid, status = self.pid, 0
            if pid:
                self.code = processes.exit_code(status)
        return self.code

    def print_line(self, message, level=20):
        """Have the child print a log line; a stopped or dead child prints nothing."""
        if self.command_fd is not None:
            try:
                os.write(self.command_fd, ("%d %s\n" % (level, message)).encode("utf-8"))
            except OSError:
                pass


class Launcher:
    """One server from its first line to its last."""

    def __init__(self, release, argv):
        self.release, self.argv = release, argv
        self.settings = Settings()
        self.faults = Faults()
        self.plan = None
        self.schedulers, self.others = [], []
        # Ends of pipes that only the launcher may hold: a child that kept one would hide the launcher's death.
        self.own_fds = []

    def fail_early(self, name):
        log_lines.raw(exceptions.text(name, self.plan))
        os._exit(1)

    def fault(self, stage):
        time.sleep(self.faults.drip_seconds(stage))
        for fault in self.faults.at(stage):
            if fault.kind in ("crash", "hang"):
                strike_process(fault, self.fail_early)

    def prepare(self):
        """Everything before the first child; sets the plan or exits."""
        time.sleep(self.settings.import_seconds)
        self.fault("import")
        try:
            args = command_line.parse(self.release, self.argv)
            log_lines.set_levels(args.get("log_level"), args.get("log_level_http"))
            self.fault("args")
            self.plan = resolution.resolve(self.release, self.settings, args)
        except resolution.Refused as error:
            self.refuse(error.kind, str(error))
        except ValueError as error:
            self.refuse("ValueError", str(error))
        self.print_server_args()

    def refuse(self, kind, message):
        if self.release.since("0.5.19"):
            self.log_kill(False)
        log_lines.raw(log_lines.traceback_text(RESOLVE_FRAMES, "%s: %s" % (kind, message)))
        sys.exit(1)

    def print_server_args(self):
        if self.release.since("0.5.11"):
            log_lines.warn("Fail to set RLIMIT_NOFILE: current limit exceeds maximum limit")
        shown = {name: value for name, value in self.plan.args.items() if name != "config"}
        if self.release.since("0.5.19"):
            log_lines.log("server_args=%r" % shown)
        else:
            log_lines.log("server_args=ServerArgs(%s)" % ", ".join("%s=%r" % pair for pair in shown.items()))
        if self.release.since("0.5.10"):
            log_lines.log("Using default HuggingFace chat template with detected content format: string")
        if self.release.since("0.5.13") and self.plan.target.model_type.startswith("qwen"):
            log_lines.log(
                "Auto-detected template features: reasoning_config=ReasoningToggleConfig(toggle_param='enable_thinking', "
                "default_enabled=True, special_case=None), reasoning_parser=qwen3, tool_call_parser=qwen"
            )

    def log_kill(self, include_parent):
        if self.release.since("0.5.13"):
            log_lines.log(
                "kill_process_tree called: parent_pid=%d, include_parent=%s, pid=%d"
                % (os.getpid(), include_parent, os.getpid())
            )

    def kill_tree(self):
        """SIGKILL the children and then this process: how SGLang ends on a failure."""
        self.log_kill(True)
        for child in self.schedulers + self.others:
            if child.code is None:
                try:
                    os.kill(child.pid, signal.SIGKILL)
                except OSError:
                    pass
        os.kill(os.getpid(), signal.SIGKILL)

    def spawn_children(self):
        """Fork tracker, schedulers and detokenizer; wait until every scheduler has loaded."""
        plan = self.plan
        signal.signal(signal.SIGQUIT, self.child_failed)
        alive_read, alive_write = os.pipe()
        self.own_fds.append(alive_write)

        def tracker():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            self.close_own_fds()
            while os.read(alive_read, 1):
                pass

        def detokenizer():
            self.close_own_fds()
            time.sleep(plan.settings.child_import_seconds)
            processes.die_with_parent()
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            while True:
                time.sleep(3600)

        title = "%s\0-B\0-c\0from multiprocessing.resource_tracker import main;main(6)" % sys.executable
        self.others.append(Child("resource_tracker", processes.spawn(title, tracker)))
        ready = []
        for dp in range(plan.dp):
            for pp in plan.local_stages:
                for tp in plan.local_ranks:
                    ready.append(self.spawn_scheduler({"DP": dp, "PP": pp, "TP": tp, "EP": tp * plan.ep // plan.tp}))
        if not plan.node_rank:
            self.others.append(Child("detokenizer", processes.spawn("sglang::detokenizer", detokenizer)))
        os.close(alive_read)
        self.wait_ready(ready)

    def close_own_fds(self):
        """In a child: drop what belongs to the launcher."""
        for fd in self.own_fds:
            os.close(fd)

    def spawn_scheduler(self, rank):
        plan = self.plan
        ready_read, ready_write = os.pipe()
        command_read, command_write = os.pipe()
        os.set_blocking(command_write, False)
        title = "sglang::scheduler"
        for name, size in (("DP", plan.dp), ("PP", plan.pp), ("TP", plan.tp), ("EP", plan.ep)):
            if size > 1:
                title += "_%s%d" % (name, rank[name])
        self.own_fds += [ready_read, command_write]

        def run():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            self.close_own_fds()
            scheduler_process.body(plan, self.faults, rank, ready_write, command_read)

        pid = processes.spawn(title, run)
        os.close(ready_write)
        os.close(command_read)
        self.schedulers.append(Child("scheduler_%d" % len(self.schedulers), pid, command_write))
        return ready_read

    def wait_ready(self, pipes):
        """Block until each scheduler has said ready; one that died first ends the launcher."""
        waiting = dict(zip(pipes, range(len(pipes))))
        while waiting:
            for fd in select.select(list(waiting), [], [], 1.0)[0]:
                if os.read(fd, 64):
                    del waiting[fd]
                    os.close(fd)
                    continue
                self.died_during_load(waiting[fd])

    def died_during_load(self, index):
        child = self.schedulers[index]
        code = child.poll()
        while code is None:
            time.sleep(0.01)
            code = child.poll()
        frames = [
            ("sglang/launch_server.py", 67, "<module>", "run_server(server_args)"),
            ("sglang/srt/entrypoints/engine.py", 1220, "_wait_for_scheduler_ready", "raise RuntimeError("),
        ]
        if self.release.since("0.5.11"):
            message = "Rank %d scheduler died during initialization (exit code: %d). " % (index, code)
            message += "If exit code is -9 (SIGKILL), a common cause is the OS OOM killer."
        else:
            log_lines.error("Rank %d scheduler is dead. Please check if there are relevant logs." % index)
            log_lines.error("Exit code: %d" % code)
            message = ""
        self.log_kill(False)
        log_lines.raw(log_lines.traceback_text(frames, ("RuntimeError: " + message) if message else "EOFError"))
        self.kill_children()
        sys.exit(1)

    def shut_other_nodes_down(self):
        """From 0.5.14 on a drained server tells its schedulers, and with them those of the other nodes, to end."""
        if self.plan.nodes > 1 and self.release.since("0.5.14"):
            self.schedulers[0].print_line(scheduler_process.SHUTDOWN)
            deadline = time.monotonic() + 15
            while self.schedulers[0].poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)

    def kill_children(self):
        alive = [child for child in self.schedulers + self.others if child.poll() is None]
        # Stopped first, so that none of them sees another one go.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for child in alive:
                os.kill(child.pid, number)
        for child in alive:
            os.waitpid(child.pid, 0)
            child.code = -9

    def child_failed(self, signum, frame):
        """SIGQUIT of a child before the first request."""
        log_lines.error("Received sigquit from a child process. It usually means the child failed.")
        self.kill_tree()

    def run(self):
        self.prepare()
        if self.faults.lies("ready", "early"):
            log_lines.log("The server is fired up and ready to roll!")
        self.spawn_children()
        from sglang import follower, serving

        sys.exit((follower if self.plan.node_rank else serving).serve(self))
