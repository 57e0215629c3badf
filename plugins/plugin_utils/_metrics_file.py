# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Files for the textfile collector of Prometheus' node exporter, which several hosts and kinds of results share."""

from __future__ import annotations

import contextlib
import re
import typing as t

from ansible_collections.llmops.sglang.plugins.plugin_utils._shared_file import write_shared

_LONGEST_LABEL = 200
# What any of this collection's metrics begins with; lines of others are not kept.
_FAMILY = re.compile(r"(?:# (?:HELP|TYPE) )?(llmops_sglang_[a-z]+_)")
# Name without its prefix, labels, value.
Sample = tuple[str, dict[str, t.Any], float]


def replace(
    path: str,
    prefix: str,
    helps: t.Mapping[str, str],
    subject: t.Mapping[str, t.Any],
    samples: t.Sequence[Sample],
) -> None:
    """Replace what *path* says of a subject; what it says of others, and by metrics of another prefix, stays.

    :arg helps: of each name that there is without its prefix what it means, in the order of the file.
    :arg subject: the labels that all of its samples have.
    """
    own = "{" + _labels(subject)
    others, same = _lines(path, prefix)
    kept = [line for line in same if not line[line.index("{") :].startswith((f"{own},", f"{own}}}"))]
    new = [f"{prefix}{name}{{{_labels({**subject, **labels})}}} {float(number)!r}" for name, labels, number in samples]
    write_shared(path, "".join(f"{line}\n" for line in others + _in_order(prefix, helps, [*kept, *new])).encode())


def _lines(path: str, prefix: str) -> tuple[list[str], list[str]]:
    """What is in the file now: lines of other kinds of results as they are, and the samples of this one."""
    others, same = [], []
    with contextlib.suppress(OSError, ValueError), open(path, encoding="utf-8", newline="\n") as handle:
        for line in (line.rstrip("\n") for line in handle):
            found = _FAMILY.match(line)
            if found and found.group(1) != prefix:
                others.append(line)
            elif found and re.match(rf"{prefix}[a-z_]+{{host=", line):
                same.append(line)
    return others, same


def _in_order(prefix: str, helps: t.Mapping[str, str], lines: t.Sequence[str]) -> list[str]:
    """All samples of a name stand together below its help, as the format wants it."""
    found = []
    for name, text in helps.items():
        own = [line for line in lines if line.startswith(f"{prefix}{name}{{")]
        if own:
            found += [f"# HELP {prefix}{name} {text}", f"# TYPE {prefix}{name} gauge", *own]
    return found


def _labels(labels: t.Mapping[str, t.Any]) -> str:
    return ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())


def _escaped(text: t.Any) -> str:
    plain = "" if text is None else str(text)[:_LONGEST_LABEL].encode("utf-8", "replace").decode()
    return plain.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"').replace("\r", " ").replace("\0", " ")
