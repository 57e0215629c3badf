# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The files of records: their names, and writing each in one step."""

from __future__ import annotations

import os
import re
import tempfile
import time

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure


def record_name(label: str, run_id: str, finished_at: float) -> str:
    """The name of a record without its suffix: when it ended in UTC (of seconds since 1970), its label, its run."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(finished_at))
    words = re.sub(r"[^A-Za-z0-9._-]+", "-", label).strip("-.")[:80]
    return "_".join(part for part in (stamp, words, run_id[:8]) if part)


def make_directory(path: str) -> None:
    """Make *path* with its parents; readable by its owner and group."""
    try:
        os.makedirs(path, mode=0o750, exist_ok=True)
    except OSError as exc:
        raise unwritable(path, exc) from exc


def write_atomically(path: str, data: bytes) -> None:
    """Replace *path* by *data* in one step: a reader sees the old file or the new one, whole."""
    try:
        handle, draft = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".draft-")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(draft, path)
        except BaseException:
            remove(draft)
            raise
    except OSError as exc:
        raise unwritable(path, exc) from exc


def remove(path: str) -> None:
    """Remove one file, where it is there."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def unwritable(path: str, exc: OSError) -> Failure:
    """The failure for a file that cannot be written."""
    return Failure(
        "write_failed",
        f"The record '{path}' cannot be written: {exc.strerror or exc}; choose another "
        "results_dir or make it writable for this user.",
    )
