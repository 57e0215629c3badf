# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Who changes a unit: a play holds it from its first change until its process on the controller has ended.

Nothing has to be let go, so that a play that was killed keeps nobody waiting. Whether a play goes on is known best by the
controller that runs it; of a play of another controller it is told by its connection to this host.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import stat
import time
import types
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._unit_name import unit_name

Play = t.Mapping[str, t.Any]
# What tells one play from another.
_WHO = ("machine", "pid", "started")
# Seconds after its last change, where neither the controller nor a connection tells whether a play goes on.
_QUIET_SECONDS = 600.0
# Seconds to wait for another module that changes the same unit just now.
_LOCK_SECONDS = 60.0
# Seconds to wait for the end of another controller's play: its connection is kept open for a minute after it by ControlPersist.
_CONNECTION_SECONDS = 75.0
_POLL_SECONDS = 0.05
_KNOWN_BY_CONNECTION = " (of a play of another controller that is known by its connection to this host)"


class Claimed(t.NamedTuple):
    """What a module tells of other plays: warnings, and for its result ``claimed_by``, with ``claimed_warning`` for the action
    plugin, which may know better.
    """

    warnings: tuple[str, ...] = ()
    result: t.Mapping[str, t.Any] = types.MappingProxyType({})


@contextlib.contextmanager
def claimed_unit(params: t.Mapping[str, t.Any], look_only: bool, runtime: str = "") -> t.Iterator[Claimed]:
    """Take the unit for the play that asks, or refuse where another one that goes on has it.

    Within it no other module changes the unit, not even one of a play that was killed and that is still at work here.

    :arg params: ``name`` and ``scope`` of the unit, and ``play`` as the action plugin tells it; without a play nothing is taken.
    :arg look_only: take nothing, and say in a warning what would be refused.
    :arg runtime: the directory below which claims lie, which the next boot finds empty.
    :raises Failure: ``unit_invalid``; ``condition_not_met``, with the other play in ``claimed_by`` where one is known; ``write_failed``.
    """
    unit, play = unit_name(params["name"]), params["play"]
    runtime = runtime or (f"/run/user/{os.getuid()}" if params["scope"] == "user" else "/run")
    path = os.path.join(runtime, "llmops-sglang", f"{unit}.play")
    number, writable = _open(path, bool(play) and not look_only)
    unheld = Claimed((_not_held(unit, path),)) if play and not look_only and not writable else Claimed()
    if number < 0:
        yield unheld
        return
    # Without a buffer, which would be written once more at the end where that has failed.
    with os.fdopen(number, "r+b" if writable else "rb", buffering=0) as handle:
        if look_only:
            claim = _read(handle)
            yield _seen(unit, claim, play) if claim and _goes_on(claim, play) else Claimed()
            return
        with _lock_file(f"{path}.lock") or contextlib.nullcontext() as lock:
            claim = _wait_for_it(handle, lock, unit, path, play)
            if writable and play:
                since = claim.get("since") if claim and _same(claim, play) else None
                _write(handle, path, play, since or time.strftime("%H:%M:%S UTC", time.gmtime()))
            yield unheld


def _wait_for_it(
    handle: t.IO[bytes], lock: t.Optional[t.IO[bytes]], unit: str, path: str, play: t.Optional[Play]
) -> t.Optional[dict[str, t.Any]]:
    """The last claim, once its play has ended and no other module is at work; the *lock* is held then."""
    began = held = time.monotonic()
    while True:
        locked = lock is None or _lock(lock)
        claim = _read(handle)
        now = time.monotonic()
        if _goes_on(claim, play):
            if _of_this_controller(claim, play) or now - began > _CONNECTION_SECONDS:
                raise _refusal(unit, claim, play)
            if lock:
                fcntl.flock(lock, fcntl.LOCK_UN)
            held = now
        elif locked:
            return claim
        elif now - held > _LOCK_SECONDS:
            raise _still_at_work(unit, path)
        time.sleep(_POLL_SECONDS)


def _open(path: str, write: bool) -> tuple[int, bool]:
    """The open file and whether it may be written; -1 where there is none and none can be made."""
    try:
        if write:
            _make_directory(os.path.dirname(path))
            number = _open_file(path, os.O_RDWR | os.O_CREAT)
            os.fchmod(number, 0o644)
            return number, True
    except (PermissionError, FileNotFoundError):
        # Who may change a unit without being its owner can only look.
        pass
    except OSError as exc:
        raise _write_failed(path, exc) from exc
    try:
        return _open_file(path, os.O_RDONLY), False
    except OSError:
        return -1, False


def _lock_file(path: str) -> t.Optional[t.IO[bytes]]:
    """A file of its own, which nobody else can open: who may read one can hold its lock. ``None`` where none can be made."""
    try:
        number = _open_file(path, os.O_RDWR | os.O_CREAT, 0o600)
    except (PermissionError, FileNotFoundError):
        return None
    except OSError as exc:
        raise _write_failed(path, exc) from exc
    return os.fdopen(number, "r+b", buffering=0)


def _open_file(path: str, flags: int, mode: int = 0o644) -> int:
    # A pipe would be waited for.
    number = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, mode)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "it is no file")
    return number


def _make_directory(path: str) -> None:
    """Make *path*, readable for all, where what it lies in is there."""
    try:
        os.mkdir(path)
    except FileExistsError:
        return
    os.chmod(path, 0o755)


def _lock(handle: t.IO[bytes]) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _read(handle: t.IO[bytes]) -> t.Optional[dict[str, t.Any]]:
    """The claim; ``None`` where there is none, also where its writer was killed in the middle."""
    try:
        handle.seek(0)
        claim = json.loads(handle.read(1 << 16).decode())
    except (ValueError, RecursionError):
        return None
    whole = (
        isinstance(claim, dict)
        and isinstance(claim.get("play"), dict)
        and isinstance(claim["play"].get("machine"), str)
    )
    return claim if whole else None


def _write(handle: t.IO[bytes], path: str, play: Play, since: str) -> None:
    told = {key: play.get(key) for key in (*_WHO, "user", "controller", "asked", "named")}
    claim = {"play": told, "session": _session(os.getppid()), "since": since, "renewed": _since_boot()}
    try:
        handle.seek(0)
        handle.write(json.dumps(claim).encode())
        handle.truncate()
    except OSError as exc:
        raise _write_failed(path, exc) from exc


def _same(claim: Play, play: Play) -> bool:
    return all(claim["play"].get(key) == play.get(key) for key in _WHO)


def _of_this_controller(claim: t.Optional[Play], play: t.Optional[Play]) -> bool:
    return bool(claim and play) and claim["play"].get("machine") == play.get("machine")


def _goes_on(claim: t.Optional[Play], play: t.Optional[Play]) -> bool:
    """Whether the play of *claim* is another one than *play*, and has not ended as far as can be known."""
    if not claim:
        return False
    holder, play = claim["play"], play or {}
    ended = play.get("ended")
    if _same(claim, play) or (isinstance(ended, dict) and _same(claim, ended)):
        return False
    if _of_this_controller(claim, play):
        others, began = play.get("others"), holder.get("asked")
        timely = isinstance(began, float) and began < play.get("asked", 0.0)
        listed = timely and holder.get("named") and isinstance(others, list)
        # Where the list does not tell, the action plugin looks at that very process and asks again.
        return not listed or [holder.get("pid"), holder.get("started")] in others
    session = claim.get("session")
    if isinstance(session, list) and len(session) == 2:
        return _stat(session[0])[1] == session[1]
    renewed = claim.get("renewed")
    # Written as such; a number of a thousand digits is none that can be subtracted.
    return isinstance(renewed, float) and 0 <= _since_boot() - renewed < _QUIET_SECONDS


def _session(pid: int) -> t.Optional[list[t.Any]]:
    """Process id and start of the sshd behind this module, which ends with the connection; ``None`` without one."""
    for dummy in range(64):
        name, started, parent = _stat(pid)
        if name.startswith("sshd"):
            return [pid, started]
        if parent <= 1:
            return None
        pid = parent
    return None


def _stat(pid: t.Any) -> tuple[str, t.Optional[str], int]:
    """Name, start in ticks since boot, and parent of a process; ``("", None, 0)`` for one that is not there."""
    try:
        with open(f"/proc/{int(pid)}/stat", encoding="utf-8", errors="replace") as handle:
            before, dummy, after = handle.read().rpartition(")")
        fields = after.split()
        return before.partition("(")[2], fields[19], int(fields[1])
    except (OSError, TypeError, ValueError, OverflowError, IndexError):
        return "", None, 0


def _since_boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _who(unit: str, claim: t.Optional[Play]) -> str:
    play = (claim or {"play": {}})["play"]
    return (
        f"Another play changes the unit '{unit}' now (process {play.get('pid')} of '{play.get('user')}' on "
        f"'{play.get('controller')}', since {(claim or {}).get('since')})"
    )


def _seen(unit: str, claim: Play, play: t.Optional[Play]) -> Claimed:
    ended = "" if _of_this_controller(claim, play) else f", unless it ended a moment ago{_KNOWN_BY_CONNECTION}"
    warning = f"{_who(unit, claim)}: what is told here may be half of its change{ended}."
    return Claimed(result={"claimed_by": claim["play"], "claimed_warning": warning})


def _refusal(unit: str, claim: t.Optional[Play], play: t.Optional[Play]) -> Failure:
    holder = (claim or {"play": {}})["play"]
    known = "" if _of_this_controller(claim, play) else _KNOWN_BY_CONNECTION
    return Failure(
        "condition_not_met",
        f"{_who(unit, claim)}: wait until it has ended{known}, and run this again.",
        claimed_by=holder,
    )


def _not_held(unit: str, path: str) -> str:
    return (
        f"The unit '{unit}' is not held for this play, since this user may not write '{path}': another play may change it at the "
        "same time; use become where that has to be kept out."
    )


def _still_at_work(unit: str, path: str) -> Failure:
    return Failure(
        "condition_not_met",
        f"Another task, of this play or of one that has ended, is still changing the unit '{unit}' after {_LOCK_SECONDS:.0f} s: "
        f"see which process it is with 'fuser {path}.lock', and run this again when that has ended.",
    )


def _write_failed(path: str, exc: OSError) -> Failure:
    return Failure(
        "write_failed",
        f"The file '{path}', which says who changes the unit, could not be written ({exc.strerror}): make room, or remove what "
        "is in its place.",
    )
