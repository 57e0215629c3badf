# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The directory on the controller that keeps the records of a host: taking one in, and letting old ones go."""

from __future__ import annotations

import calendar
import contextlib
import os
import re
import time
import typing as t

from ansible_collections.llmops.sglang.plugins.plugin_utils._shared_file import unwritable

FIGURE_NAMES = ("throughput", "ttft", "speedup", "acceptance", "starts")
# Where the role lets records arrive; a folder of another name is somebody's own.
INCOMING = ".incoming"
# What may lie beside a record, first what must be there before it and last the record itself.
_BESIDE = (".jsonl.gz", ".md")
_MADE_OF_IT = (".html", *(f"-{name}.png" for name in FIGURE_NAMES))
_SUFFIXES = (".json", *_BESIDE, *_MADE_OF_IT)
_STEM = re.compile(r"(\d{8}T\d{6}Z)_[A-Za-z0-9._-]+")


def take_in(source: str, directory: str) -> str:
    """Move a checked record with what lies beside it into *directory*; the path of the record.

    The record comes last, in one step: one that is seen is whole, and so is what it names.

    :raises Failure: ``write_failed``.
    """
    stem, target = _stem(source), os.path.join(directory, os.path.basename(source))
    try:
        os.makedirs(directory, exist_ok=True)
        for suffix in _BESIDE:
            if os.path.exists(stem + suffix):
                _move(stem + suffix, _stem(target) + suffix)
        _move(source, target)
    except OSError as exc:
        raise unwritable(target, exc) from exc
    if os.path.basename(os.path.dirname(source)) == INCOMING:
        # Only where nothing else waits there.
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(source))
    return target


def _move(source: str, target: str) -> None:
    with open(source, "rb") as handle:
        os.fsync(handle.fileno())
    os.replace(source, target)


def let_go(
    directory: str,
    count: t.Optional[int],
    days: t.Optional[float],
    keep: t.Collection[str],
    now: t.Optional[float] = None,
) -> list[str]:
    """Remove old records with their raw rows and reports; the records that are gone.

    :arg count: so many of the newest stay; None for all.
    :arg days: what ended longer ago goes; None for never.
    :arg keep: paths of records that stay whatever their age, the one that was just taken in among them.
    """
    moment = time.time() if now is None else now
    kept = {_real_stem(path) for path in keep}
    found = _records(directory)
    gone = []
    for place, stem in enumerate(sorted(found, key=lambda one: (found[one], one), reverse=True)):
        old = days is not None and moment - found[stem] > days * 86400
        surplus = count is not None and place >= count
        if (old or surplus) and _real_stem(os.path.join(directory, f"{stem}.json")) not in kept:
            _remove(os.path.join(directory, stem))
            gone.append(stem)
    return gone


def _records(directory: str) -> dict[str, float]:
    """When each record ended, by its name without suffix; also of one whose removal was cut short."""
    found = {}
    for name in os.listdir(directory):
        for suffix in _SUFFIXES:
            match = _STEM.fullmatch(name[: -len(suffix)]) if name.endswith(suffix) else None
            if match:
                with contextlib.suppress(ValueError):
                    found[match.group(0)] = calendar.timegm(time.strptime(match.group(1), "%Y%m%dT%H%M%SZ"))
                break
    return found


def _remove(stem: str) -> None:
    # The record first: one that is seen has what it names.
    for suffix in _SUFFIXES:
        try:
            os.unlink(stem + suffix)
        except FileNotFoundError:
            pass
        except OSError as exc:
            raise unwritable(stem + suffix, exc) from exc


def _real_stem(path: str) -> str:
    """Where a record lies that *path* names, which may be a link of another name."""
    return _stem(os.path.realpath(path))


def _stem(path: str) -> str:
    return path[: -len(".json")] if path.endswith(".json") else path


def beside(record_path: str, suffix: str, directory: t.Optional[str] = None) -> str:
    """The path of a file that is made of a record: beside it, or in *directory*."""
    stem = _stem(record_path)
    return (os.path.join(directory, os.path.basename(stem)) if directory else stem) + suffix
