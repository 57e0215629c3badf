# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The kept configurations of one unit, one file each: a kill leaves a whole file or none, and damage costs one entry."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import stat
import time
import typing as t
from dataclasses import dataclass, field, replace

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._kept_configuration import Files, load_files

FORMAT = 1
NEWEST = 10
_LARGEST = 16 * 1024 * 1024
_ID = re.compile(r"[0-9]{8}T[0-9]{6}Z(?:-[0-9]+)?")
# Bytes that an entry may need; most need a hundredth of it.
_ROOM = 256 * 1024
_LOCK_SECONDS = 30


@dataclass(frozen=True)
class Entry:
    """One kept configuration.

    ``there`` is false for a host on which there was no unit; ``found`` marks what was there before anything was written.
    ``sequence`` orders entries, since a clock may be set back.
    """

    id: str
    files: Files = field(repr=False)
    label: str = ""
    proven: bool = False
    found: bool = False
    there: bool = True
    recorded_at: str = ""
    sequence: int = 0
    argv: list[str] = field(default_factory=list, repr=False)


class HistoryStore:
    """The directory of one unit.

    :arg directory: where its entries lie; made where it is not there, for its owner alone.
    :arg name: the unit.
    """

    def __init__(self, directory: str, name: str) -> None:
        self.directory, self.name = directory, name
        # Files that were there and could not be used, as sentences.
        self.damaged: list[str] = []

    def entries(self) -> list[Entry]:
        """What is kept, newest first.

        :raises Failure: ``no_permission`` where the directory is somebody else's or cannot be read.
        """
        self.damaged = []
        if not self.is_there():
            return []
        found = [
            self._read(one[: -len(".json")]) for one in sorted(os.listdir(self.directory)) if one.endswith(".json")
        ]
        return sorted((e for e in found if e is not None), key=lambda e: (e.sequence, e.id), reverse=True)

    def add(self, entry: Entry) -> Entry:
        """Keep *entry* as the newest one under an id of its own."""
        known = self.entries()
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        number, chosen = 1, moment
        while os.path.lexists(self._path(chosen)):
            number += 1
            chosen = f"{moment}-{number}"
        made = replace(entry, id=chosen, sequence=_next(known), recorded_at=_now())
        self._write(made)
        return made

    def renew(self, entry: Entry, **changes: t.Any) -> Entry:
        """Make *entry* the newest, with *changes* of its fields."""
        renewed = replace(entry, sequence=_next(self.entries()), recorded_at=_now(), **changes)
        self._write(renewed)
        return renewed

    def drop(self, entry: Entry) -> None:
        self._unlink(self._path(entry.id))

    def prune(self) -> None:
        """Keep the newest without a label, and all that have one."""
        for entry in [e for e in self.entries() if not e.label][NEWEST:]:
            self.drop(entry)

    def target(self) -> str:
        """The id of the configuration that a run began to put back and did not prove; empty for none."""
        try:
            with open(self._open(os.path.join(self.directory, "target")), encoding="ascii") as handle:
                text = handle.read(100).strip()
        except (OSError, ValueError):
            return ""
        return text if _ID.fullmatch(text) else ""

    def set_target(self, entry_id: str) -> None:
        path = os.path.join(self.directory, "target")
        if entry_id:
            self._replace(path, entry_id + "\n")
        else:
            self._unlink(path)

    def check_room(self) -> None:
        """See that an entry could be written now.

        :raises Failure: ``write_failed``.
        """
        with self.locked():
            path = os.path.join(self.directory, ".new-room")
            self._replace(path, " " * _ROOM)
            self._unlink(path)

    def remove(self) -> None:
        """Remove all entries and the directory, unless a foreign file lies in it."""
        if not self.is_there():
            return
        for one in os.listdir(self.directory):
            if one in ("lock", "target") or one.endswith(".json") or one.startswith(".new-"):
                self._unlink(os.path.join(self.directory, one))
        with contextlib.suppress(OSError):
            os.rmdir(self.directory)

    @contextlib.contextmanager
    def locked(self) -> t.Iterator[None]:
        """Keep other runs from writing; the lock ends with the process, however that ends.

        :raises Failure: ``write_failed`` where it cannot be had within half a minute.
        """
        path = os.path.join(self.directory, "lock")
        try:
            os.makedirs(os.path.dirname(self.directory), mode=0o700, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.mkdir(self.directory, 0o700)
            self.is_there()
            self._close_to_others()
            lock = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as exc:
            raise self._write_failed(path, exc) from exc
        try:
            self._wait_for(lock)
            for one in os.listdir(self.directory):
                if one.startswith(".new-"):
                    self._unlink(os.path.join(self.directory, one))
            yield
        finally:
            os.close(lock)

    def _wait_for(self, lock: int) -> None:
        deadline = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise Failure(
                        "write_failed",
                        f"The history '{self.directory}' is in use by another run for {_LOCK_SECONDS} s: repeat when that has ended.",
                    ) from None
            time.sleep(0.1)

    def is_there(self) -> bool:
        """Whether anything is kept. Secrets go only where nobody else can have put a link.

        :raises Failure: ``no_permission``.
        """
        try:
            status = os.lstat(self.directory)
        except FileNotFoundError:
            return False
        except OSError as exc:
            raise Failure(
                "no_permission",
                f"The history '{self.directory}' cannot be read ({exc.strerror}): run the task as its owner (become).",
            ) from exc
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            raise Failure(
                "no_permission",
                f"The history '{self.directory}' is no directory of this user: take away what is in its place, or become its owner.",
            )
        return True

    def _close_to_others(self) -> None:
        descriptor = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o077:
                os.fchmod(descriptor, 0o700)
        finally:
            os.close(descriptor)

    def _path(self, entry_id: str) -> str:
        return os.path.join(self.directory, f"{entry_id}.json")

    def _read(self, entry_id: str) -> t.Optional[Entry]:
        """The entry, or ``None`` with a sentence in :attr:`damaged`: history is a comfort that must not stop a deployment."""
        path = self._path(entry_id)
        if not _ID.fullmatch(entry_id):
            return None
        try:
            with open(self._open(path), encoding="ascii") as handle:
                text = handle.read(_LARGEST)
            digest, dummy, body = text.partition("\n")
            if hashlib.sha256(body.encode("ascii")).hexdigest() != digest:
                raise ValueError("its checksum is not that of its content")
            data = json.loads(body)
            if data.pop("format") != FORMAT:
                raise ValueError("another format")
            files = load_files(data.pop("files"), self.name)
            entry = Entry(id=entry_id, files=files, **data)
            _check_fields(entry)
            return entry
        except FileNotFoundError:
            # Dropped by another run since the directory was read.
            return None
        except OSError as exc:
            why = exc.strerror or str(exc)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as exc:
            why = str(exc)[:200]
        self.damaged.append(f"The kept configuration '{path}' is damaged and left out ({why}): remove it.")
        return None

    @staticmethod
    def _open(path: str) -> int:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)

    def _write(self, entry: Entry) -> None:
        fields = {
            k: getattr(entry, k) for k in ("label", "proven", "found", "there", "recorded_at", "sequence", "argv")
        }
        body = json.dumps({"format": FORMAT, **fields, "files": [f.dump() for f in entry.files.values()]}, indent=1)
        self._replace(self._path(entry.id), hashlib.sha256(body.encode("ascii")).hexdigest() + "\n" + body)

    def _replace(self, path: str, text: str) -> None:
        temporary = os.path.join(self.directory, f".new-{os.getpid()}")
        try:
            number = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with open(number, "w", encoding="ascii") as handle:
                handle.write(text)
                handle.flush()
                os.fsync(handle.fileno())
            os.replace(temporary, path)
            descriptor = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            os.fsync(descriptor)
            os.close(descriptor)
        except OSError as exc:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise self._write_failed(path, exc) from exc

    def _unlink(self, path: str) -> None:
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        except OSError as exc:
            raise self._write_failed(path, exc) from exc

    @staticmethod
    def _write_failed(path: str, exc: OSError) -> Failure:
        return Failure(
            "write_failed", f"The file '{path}' could not be written ({exc.strerror}): make room or become root."
        )


def _check_fields(entry: Entry) -> None:
    texts = (entry.label, entry.recorded_at, *entry.argv)
    flags = (entry.proven, entry.found, entry.there)
    if not all(isinstance(x, str) for x in texts) or not all(isinstance(x, bool) for x in flags):
        raise ValueError("a field has another type")
    if not isinstance(entry.sequence, int) or not isinstance(entry.argv, list):
        raise ValueError("a field has another type")


def _next(entries: t.Sequence[Entry]) -> int:
    return max((e.sequence for e in entries), default=0) + 1


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
