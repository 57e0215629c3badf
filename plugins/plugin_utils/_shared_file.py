# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Files on the controller that others read: written in one step, readable as the umask has it, changed by one at a time."""

from __future__ import annotations

import contextlib
import csv
import fcntl
import io
import os
import typing as t
import uuid

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure

# A text that begins with one of these is a formula to a spreadsheet.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_shared(path: str, data: bytes) -> None:
    """Replace *path* by *data*: a reader sees the old file or the new one, whole.

    :raises Failure: ``write_failed``.
    """
    draft = os.path.join(os.path.dirname(path) or ".", f".{uuid.uuid4().hex}.draft")
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        # Of its own name, so that it is nobody's: two processes may write the same file.
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(draft, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(draft)
            raise
    except OSError as exc:
        raise unwritable(path, exc) from exc


@contextlib.contextmanager
def locked(directory: str, name: str = ".lock") -> t.Iterator[None]:
    """Be the only one that changes what lies in *directory*; hosts and jobs write there at the same time."""
    path = os.path.join(directory, name)
    try:
        os.makedirs(directory, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as exc:
        raise unwritable(path, exc) from exc
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def read_table(path: str, columns: t.Sequence[str]) -> list[dict[str, str]]:
    """The rows of a CSV file with these *columns*; none where it is not there or is another file.

    :raises Failure: ``write_failed`` where it is there and cannot be read: what is written next would replace it.
    """
    return _rows(path, columns) or []


def _rows(path: str, columns: t.Sequence[str]) -> t.Optional[list[dict[str, str]]]:
    """The rows; ``None`` for another file."""
    try:
        with open(path, encoding="utf-8", newline="") as handle:
            reader = csv.DictReader(handle)
            if list(reader.fieldnames or []) != list(columns):
                return None
            return [row for row in reader if None not in row and None not in row.values()]
    except FileNotFoundError:
        return []
    except OSError as exc:
        raise unwritable(path, exc) from exc
    except (ValueError, csv.Error):
        return None


def write_table(path: str, columns: t.Sequence[str], rows: t.Iterable[t.Mapping[str, t.Any]]) -> None:
    """Replace a CSV file; what is None is empty, and no text becomes a formula. Another file in its place is put aside."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({column: _cell(row.get(column)) for column in columns} for row in rows)
    if _rows(path, columns) is None:
        try:
            os.replace(path, f"{path}.{uuid.uuid4().hex[:8]}.old")
        except OSError as exc:
            raise unwritable(path, exc) from exc
    write_shared(path, text.getvalue().encode("utf-8", "replace"))


def _cell(value: t.Any) -> t.Any:
    if not isinstance(value, str):
        return value
    line = " ".join(value.replace("\0", " ").splitlines())
    return f"'{line}" if line.startswith(_FORMULA) else line


def unwritable(path: str, exc: OSError) -> Failure:
    """The failure for a file on the controller that cannot be read or written."""
    return Failure(
        "write_failed",
        f"The file '{path}' cannot be changed on the controller: {exc.strerror or exc}; choose another directory or make it "
        "writable for the user that runs Ansible.",
    )
