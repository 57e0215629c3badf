# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write plugins/module_utils/_flag_catalogue.py from a table of SGLang's flags by release.

Run it with the path of the extracted table: a JSON mapping of release to flag to its dest, type, nargs, choices,
aliases, action and deprecation, with ``_meta.versions`` as the releases in order:

    python tests/tools/flag_catalogue.py FLAGS.json
"""

from __future__ import annotations

import argparse
import base64
import json
import pathlib
import sys
import typing as t
import zlib

TARGET = pathlib.Path(__file__).parents[2] / "plugins" / "module_utils" / "_flag_catalogue.py"

# One letter an argparse action; _flags.py reads them.
KINDS = {
    "store": "v",
    "LoRAPathAction": "v",
    "store_true": "t",
    "argparse.BooleanOptionalAction": "b",
    "DeprecatedAliasStoreAction": "d",
    "DeprecatedStoreTrueAction": "T",
    "DeprecatedStoreConstAction": "c",
    "DeprecatedAction": "x",
}
TYPES = {
    None: "str",
    "NoneType": "str",
    "nullable_str": "str",
    "parse_cuda_graph_config_arg": "json",
    "json.loads": "json",
}

HEADER = '''# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""SGLang's command line flags by release; written by tests/tools/flag_catalogue.py, read by _flags.py."""

from __future__ import annotations

VERSIONS = (
{versions}
)

# Base 85 of zlib of JSON: the flag variants with the first and last release that has each.
PACKED = """\\
{packed}
"""
'''


def note_of(entry: dict[str, t.Any]) -> str:
    """What replaces a deprecated flag: the new flag, or the server's own words; empty for a flag in good standing."""
    deprecated = entry.get("deprecated") or {}
    if deprecated.get("new_flag"):
        return str(deprecated["new_flag"])
    words = str(deprecated.get("error") or deprecated.get("help") or "")
    if entry["action"] in ("store", "store_true") and not words.lstrip("[(").startswith("Deprecated"):
        return ""
    return words


def variant(flag: str, entry: dict[str, t.Any]) -> list[t.Any]:
    """One flag of one release as a row."""
    derived = flag[2:].replace("-", "_")
    return [
        flag,
        "" if entry["dest"] == derived else entry["dest"],
        KINDS[entry["action"]],
        TYPES.get(entry["type"], entry["type"]),
        entry["nargs"] or "",
        [str(c) for c in entry["choices"]] if entry["choices"] else None,
        entry["aliases"],
        note_of(entry),
    ]


def rows(table: dict[str, t.Any], versions: list[str]) -> list[list[t.Any]]:
    """Every variant once for each run of releases that share it, with the numbers of the first and the last."""
    found: list[list[t.Any]] = []
    for flag in sorted({flag for version in versions for flag in table[version]}):
        run: list[t.Any] | None = None
        for number, version in enumerate(versions):
            entry = table[version].get(flag)
            row = variant(flag, entry) if entry else None
            if run is not None and row == run[0]:
                run[2] = number
                continue
            if run is not None:
                found.append([run[1], run[2], *run[0]])
            run = [row, number, number] if row else None
        if run is not None:
            found.append([run[1], run[2], *run[0]])
    return found


def render(table: dict[str, t.Any]) -> str:
    """The text of the data module."""
    versions = table["_meta"]["versions"]
    packed = base64.b85encode(
        zlib.compress(json.dumps(rows(table, versions), separators=(",", ":")).encode(), 9)
    ).decode()
    lines = [packed[i : i + 110] for i in range(0, len(packed), 110)]
    return HEADER.format(versions="\n".join(f'    "{v}",' for v in versions), packed="\n".join(lines))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", type=pathlib.Path, help="the extracted flags (JSON)")
    parser.add_argument("--output", type=pathlib.Path, default=TARGET)
    options = parser.parse_args()
    options.output.write_text(render(json.loads(options.table.read_text(encoding="utf-8"))), encoding="utf-8")
    print(f"{options.output}: {options.output.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
