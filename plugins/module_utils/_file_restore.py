# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Bring the files of one unit to what they were, one step a file, so that a kill leaves each the old or the new one."""

from __future__ import annotations

import glob
import os
import secrets
import stat
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._kept_configuration import Files, KeptFile, is_secret

# Gives a file that has no name yet the SELinux context of the path that it will get.
SetContext = t.Callable[[str, str], None]


def restore_files(directory: str, now: Files, wanted: Files, set_context: SetContext) -> None:
    """Bring the files below *directory* from *now* to *wanted*.

    Secrets come first and go last: no unit that systemd may read meanwhile names one that is not there.

    :raises Failure: ``write_failed``; what was done until then stays, and the same call does the rest.
    """
    path = directory
    try:
        for kept in sorted(wanted.values(), key=_order):
            path = os.path.join(directory, kept.path)
            _sweep(path)
            if now.get(kept.path) != kept:
                _make(path, kept, now.get(kept.path), set_context)
        for kept in sorted((now[p] for p in now if p not in wanted), key=_order, reverse=True):
            path = os.path.join(directory, kept.path)
            _sweep(path)
            _remove(path, kept)
    except OSError as exc:
        raise Failure(
            "write_failed",
            f"The file '{path}' could not be put back ({exc.strerror}): make room or become root, and repeat.",
        ) from exc


def _order(kept: KeptFile) -> tuple[bool, bool, int, str]:
    """Secrets before all else, directories before what is in them, links last: they enable what is there by then."""
    secret = is_secret(kept.path) or kept.path.endswith(".secrets")
    return (not secret, kept.kind == "link", kept.path.count("/"), kept.path)


def _make(path: str, kept: KeptFile, before: t.Optional[KeptFile], set_context: SetContext) -> None:
    parent, base = os.path.split(path)
    os.makedirs(parent, mode=0o755, exist_ok=True)
    if kept.kind == "directory":
        if before is not None and before.kind != "directory":
            os.unlink(path)
        if not os.path.isdir(path):
            os.mkdir(path, 0o700)
            set_context(path, path)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            _set_owner_and_mode(descriptor, kept)
        finally:
            os.close(descriptor)
        return
    temporary = os.path.join(parent, f".{base}.{secrets.token_hex(4)}")
    try:
        if kept.kind == "link":
            os.symlink(kept.text, temporary)
        else:
            _write(temporary, kept)
        set_context(temporary, path)
        if before is not None and before.kind == "directory":
            os.rmdir(path)
        os.replace(temporary, path)
    except OSError:
        if os.path.lexists(temporary):
            os.unlink(temporary)
        raise


def _write(temporary: str, kept: KeptFile) -> None:
    number = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(number, "w", encoding="utf-8", errors="surrogateescape", newline="") as handle:
        handle.write(kept.text)
        handle.flush()
        _set_owner_and_mode(handle.fileno(), kept)
        os.fsync(handle.fileno())


def _set_owner_and_mode(descriptor: int, kept: KeptFile) -> None:
    status = os.fstat(descriptor)
    if (status.st_uid, status.st_gid) != (kept.uid, kept.gid):
        os.fchown(descriptor, kept.uid, kept.gid)
    if stat.S_IMODE(os.fstat(descriptor).st_mode) != kept.mode:
        os.fchmod(descriptor, kept.mode)


def _remove(path: str, kept: KeptFile) -> None:
    if kept.kind != "directory":
        os.unlink(path)
        return
    try:
        os.rmdir(path)
    except OSError:
        # Something that is no part of a configuration lies in it.
        pass


def _sweep(path: str) -> None:
    """Remove what a run that was killed left beside *path*."""
    directory, base = os.path.split(path)
    for left in glob.glob(os.path.join(glob.escape(directory), f".{glob.escape(base)}.????????")):
        if not os.path.isdir(left):
            os.unlink(left)
