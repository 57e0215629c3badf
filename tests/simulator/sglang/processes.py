# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Child processes as SGLang has them: real ones, with its titles, that die with their parent."""

from __future__ import annotations

import ctypes
import os
import signal

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15


def set_title(title):
    """Set comm and the command line, as setproctitle does, by writing over the argument memory."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_NAME, ctypes.c_char_p(title.encode()[:15]), 0, 0, 0)
    with open("/proc/self/stat", encoding="ascii", errors="replace") as handle:
        fields = handle.read().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    if end - start > 1:
        data = title.encode()[: end - start - 1]
        ctypes.memmove(start, data + b"\0" * (end - start - len(data)), end - start)


def die_with_parent():
    """Get SIGKILL when the parent dies, as SGLang's children ask for once they are imported."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def spawn(title, body, keep=()):
    """Fork a child that runs ``body()`` under a title and exits; returns its pid.

    Signals are back to their defaults in the child. ``keep`` is unused by the body but documents open pipes.
    """
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, signal.SIG_DFL)
        if title:
            set_title(title)
        body()
        status = 0
    except KeyboardInterrupt:
        status = 130
    except BrokenPipeError:
        from sglang import log_lines

        log_lines.raw("BrokenPipeError: [Errno 32] Broken pipe")
    finally:
        os._exit(status)


def state(pid):
    """The letter of /proc/PID/stat ("T" when stopped), or "" when the process is gone."""
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as handle:
            return handle.read().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def exit_code(status):
    """A wait status the way SGLang prints it: -9 for a process killed by signal 9."""
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
