# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What runs inside the sandbox: a watcher, and as its child a stranger's function that is called and prints what it returns.

Its source is handed to an interpreter of its own; nothing may be imported here but the standard library. It judges nothing,
because code beside it could turn any judgement; it does not even hold the values that are expected. What it says about a
program's attempts is for the reader's information: the containments hold without it.
"""

from __future__ import annotations

import atexit
import errno
import json
import os
import select
import signal
import sys
import time

OUTPUT_BYTES = 1 << 20
# An integer with more bits than this is no answer to anything.
_INT_BITS = 1 << 20
# Nor is what is nested deeper, or has more parts that are nested again.
_DEPTH = 40
_PARTS = 200000
# Which containment an audited event of the interpreter runs into.
_EVENTS = (
    ("socket.", "network"),
    (("os.fork", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "subprocess.", "pty."), "processes"),
    (("os.kill", "signal.pthread_kill"), "signals"),
    (("ctypes.dlopen", "resource."), "system_calls"),
    (("os.chmod", "os.chown", "os.link", "os.symlink", "os.rename", "os.remove", "os.mkdir", "os.rmdir"), "files"),
    (("os.truncate", "os.utime", "os.setxattr", "os.chflags", "shutil."), "files"),
)
# What a refusal that no event told of comes from.
_REFUSALS = {
    errno.EPERM: "system_calls",
    errno.EACCES: "files",
    errno.EROFS: "files",
    errno.EFBIG: "files",
    errno.EMFILE: "files",
    errno.EAGAIN: "processes",
}
# fcntl's F_SETOWN, F_SETSIG and F_SETOWN_EX: a signal without a kill.
_OWNERS = (8, 10, 15)


def encode(value, depth=0, left=None):
    """*value* with the exact type of each part; what is no plain data becomes the name of its type."""
    left = [_PARTS] if left is None else left
    left[0] -= 1
    kind = type(value)
    if value is None or kind is bool:
        return ["none"] if value is None else ["bool", value]
    if kind is int:
        return ["int", hex(value)] if value.bit_length() <= _INT_BITS else ["other", "an enormous int"]
    if kind is float:
        return ["float", repr(value)]
    if kind is str:
        return ["str", value]
    if kind in (bytes, bytearray):
        return [kind.__name__, value.hex()]
    if depth >= _DEPTH or left[0] < 0:
        return ["other", "a %s nested without end" % kind.__name__[:80]]
    if kind in (list, tuple):
        return [kind.__name__, [encode(one, depth + 1, left) for one in value]]
    if kind in (set, frozenset):
        return [kind.__name__, sorted((encode(one, depth + 1, left) for one in value), key=json.dumps)]
    if kind is dict:
        pairs = [[encode(key, depth + 1, left), encode(one, depth + 1, left)] for key, one in value.items()]
        return ["dict", sorted(pairs, key=json.dumps)]
    return ["other", "an object of type " + kind.__name__[:80]]


def decode(encoded):
    """The value that ``encode`` made *encoded* of."""
    kind, parts = encoded[0], encoded[1:]
    if kind in ("none", "bool", "str"):
        return parts[0] if parts else None
    if kind in ("int", "float"):
        return int(parts[0], 16) if kind == "int" else float(parts[0])
    if kind in ("bytes", "bytearray"):
        return {"bytes": bytes, "bytearray": bytearray}[kind].fromhex(parts[0])
    if kind == "dict":
        return {decode(key): decode(value) for key, value in parts[0]}
    return {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}[kind](decode(one) for one in parts[0])


def limit(memory, seconds, processes):
    """Resource limits of this process: not every host enforces those of the control group."""
    import resource

    limits = [("AS", memory), ("CPU", int(seconds) + 1), ("FSIZE", 1 << 20), ("NOFILE", 64), ("CORE", 0)]
    if processes:
        limits.append(("NPROC", processes))
    for name, most in limits:
        try:
            resource.setrlimit(getattr(resource, "RLIMIT_" + name), (most, most))
        except (ValueError, OSError):
            pass


def attempt(event, arguments):
    """The containment that an audited event runs into, else ``None``."""
    if event in ("open", "os.listdir", "os.scandir"):
        return opened(arguments[0], arguments[2] if event == "open" else 0)
    if event == "fcntl.fcntl":
        return "signals" if arguments[1] in _OWNERS else None
    return next((word for prefix, word in _EVENTS if event.startswith(prefix)), None)


def opened(path, flags=0):
    """The containment that the opening of *path* runs into."""
    if not isinstance(path, (str, bytes)):
        return None
    path = os.fsdecode(path)
    if path.startswith("/proc"):
        # Where the values that are expected might lie, if they were here.
        return "values"
    writing = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    try:
        os.stat(path)
    except FileNotFoundError:
        path = os.path.dirname(path) or "."
        return "files" if writing and not os.access(path, os.W_OK) else None
    except OSError:
        return "files"
    return None if os.access(path, os.W_OK if writing else os.R_OK) else "files"


def describe(exc):
    """An exception that a stranger may have made, as text."""
    try:
        return "%s: %s" % (type(exc).__name__, str(exc)[:200])
    except BaseException:
        return "an exception that cannot be shown"


def candidate(order, out):
    """Call the stranger's function with each case and write to *out* what it returns."""
    noted = set()

    def tell(what, dumps=json.dumps, write=os.write):
        data = (dumps(what) + "\n").encode("utf-8")
        while data:
            data = data[write(out, data) :]

    def note(word):
        if word and word not in noted:
            noted.add(word)
            tell({"tried": word})

    def hook(event, arguments):
        try:
            note(attempt(event, arguments))
        except Exception:
            pass

    def failed(exc):
        if isinstance(exc, (MemoryError, RecursionError)):
            note("memory" if isinstance(exc, MemoryError) else "recursion")
        elif isinstance(exc, OSError) and not noted:
            note(_REFUSALS.get(exc.errno))
        return describe(exc)

    def register(function, *more, **named):
        # No handler is ever called: the process ends without them.
        note("leftovers" if getattr(function, "__globals__", None) is space else None)
        return function

    space = {"__name__": "candidate", "__builtins__": __builtins__}
    limit(order["memory"], order["seconds"], order["processes"])
    atexit.register = register
    if hasattr(sys, "addaudithook"):
        sys.addaudithook(hook)
    try:
        exec(compile(order["code"], "candidate", "exec"), space)
        function = space[order["entry_point"]]
    except BaseException as exc:
        tell({"broken": failed(exc)})
        return
    for number, case in enumerate(order["cases"]):
        try:
            tell({"case": number, "value": encode(function(*decode(case["args"]), **decode(case["kwargs"])))})
        except BaseException as exc:
            tell({"case": number, "error": failed(exc)})
    note("leftovers" if len(sys._current_frames()) > 1 else None)
    tell({"end": True})


def control_group(pid):
    """What tells the processes of this unit from others."""
    with open("/proc/%s/cgroup" % pid, "rb") as handle:
        return handle.read()


def anonymous_memory(own):
    """Bytes that all processes of the control group *own* hold: not every host enforces its limit."""
    pages = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and control_group(name) == own:
                with open("/proc/%s/statm" % name, "rb") as handle:
                    numbers = handle.read().split()
                pages += int(numbers[1]) - int(numbers[2])
        except (OSError, IndexError):
            continue
    return pages * os.sysconf("SC_PAGE_SIZE")


def watch(child, pipe, seconds, full):
    """What *child* and its children wrote until it ended or came to a limit, and what its end was.

    *full* tells whether they hold more memory than they may.
    """
    said, started, writers, status = bytearray(), time.monotonic(), True, None
    looked = started
    while time.monotonic() < started + seconds:
        if time.monotonic() > looked + 0.05:
            if full():
                return said, "memory"
            looked = time.monotonic()
        if writers and select.select([pipe], [], [], 0.02 if status is None else 0)[0]:
            data = os.read(pipe, 65536)
            said += data
            writers = bool(data)
            if len(said) > OUTPUT_BYTES:
                return said[:OUTPUT_BYTES], "output"
        elif status is not None:
            return said, "signal %d" % os.WTERMSIG(status) if os.WIFSIGNALED(status) else "exit"
        else:
            ended, found = os.waitpid(child, os.WNOHANG)
            status = found if ended else None
            if not ended and not writers:
                time.sleep(0.01)
    return said, "time"


def main():
    order = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    nothing = os.open(os.devnull, os.O_RDWR)
    out = os.dup(1)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.write(out, b'{"ready": true}\n')
    pipe, end = os.pipe()
    child = os.fork()
    if not child:
        os.close(out)
        os.close(pipe)
        os.setsid()
        try:
            candidate(order, end)
        finally:
            os._exit(0)
    os.close(end)
    alone = order["processes"] is not None
    own = control_group("self") if alone else b""
    said, ended = watch(child, pipe, order["seconds"], lambda: alone and anonymous_memory(own) > order["memory"])
    if not alone:
        # Nothing else ends them where there is no sandbox; in one, all of it ends with this process.
        try:
            os.killpg(child, signal.SIGKILL)
        except OSError:
            pass
    last = {"ended": ended, "said": said.decode("utf-8", "replace")}
    data = ("\n%s\n" % json.dumps(last)).encode("utf-8")
    while data:
        data = data[os.write(out, data) :]


if __name__ == "__main__":
    main()
