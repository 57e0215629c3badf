# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The archives of diagnoses: where they lie, writing one in one step, and the newest few that stay."""

from __future__ import annotations

import contextlib
import glob
import io
import os
import tarfile
import tempfile
import time
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._start_times import default_path

KEPT = 5


def default_directory() -> str:
    """Beside what else is kept for this user: below /var/lib for root, else in the user's state directory."""
    return os.path.join(os.path.dirname(default_path()), "diagnoses")


def pack(stem: str, parts: t.Mapping[str, str]) -> tuple[bytes, list[dict[str, t.Any]]]:
    """The archive, whose files are those *parts* in a directory of that name; and their names and sizes in bytes."""
    contents = []
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in sorted(parts.items()):
            data = text.encode("utf-8", "replace")
            entry = tarfile.TarInfo(f"{stem}/{name}")
            entry.size, entry.mode, entry.mtime = len(data), 0o600, int(time.time())
            archive.addfile(entry, io.BytesIO(data))
            contents.append({"name": name, "size": len(data)})
    return packed.getvalue(), contents


def write(path: str, data: bytes, set_context: t.Callable[[str, str], None]) -> None:
    """Write *data* to *path* for its owner alone, whole or not at all.

    :arg set_context: gives a file the SELinux context of the path that it will get.
    :raises Failure: ``write_failed``.
    """
    directory, base = os.path.split(path)
    temporary = ""
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        number, temporary = tempfile.mkstemp(prefix=f".{base}.", dir=directory)
        with open(number, "wb") as handle:
            handle.write(data)
        set_context(temporary, path)
        os.replace(temporary, path)
    except OSError as exc:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise Failure(
            "write_failed",
            f"The diagnosis could not be written to '{path}' ({exc.strerror}): make room, name another 'dest', or become root.",
        ) from exc


def drop_oldest(directory: str, unit: str) -> None:
    """Keep the newest archives of *unit*, and no file that a killed run left."""
    pattern = os.path.join(glob.escape(directory), f"{glob.escape(unit)}-*.tar.gz")
    for path in sorted(glob.glob(pattern), key=_written, reverse=True)[KEPT:]:
        with contextlib.suppress(OSError):
            os.unlink(path)
    for path in glob.glob(os.path.join(glob.escape(directory), f".{glob.escape(unit)}-*.tar.gz.????????")):
        # Another run may be writing it.
        if time.time() - _written(path) > 3600:
            with contextlib.suppress(OSError):
                os.unlink(path)


def _written(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0
