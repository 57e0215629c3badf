# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep plugins/module_utils/_flag_catalogue.py, the table of SGLang's flags by release, in line with the published wheels.

A new release, or an old one anew, is one command; all others stay as they are:

    python tests/tools/flag_catalogue.py 0.5.24

``--check`` compares and writes nothing; ``--wheels DIRECTORY`` takes wheels that lie there instead of fetching them by pip.
"""

from __future__ import annotations

import argparse
import base64
import json
import pathlib
import re
import runpy
import subprocess
import sys
import tempfile
import typing as t
import zlib

from sglang_wheel import flags_of

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
# Parsers whose values are plain text, or JSON; a name that is not here is kept as it is.
TYPES: dict[str | None, str] = {
    **dict.fromkeys((None, "NoneType", "nullable_str", "parse_cuda_graph_backend_arg"), "str"),
    **dict.fromkeys(("json.loads", "parse_cuda_graph_config_arg"), "json"),
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

Release = t.Dict[str, t.List[t.Any]]


def note_of(entry: dict[str, t.Any]) -> str:
    """What replaces a deprecated flag: the new flag, or the server's own words; empty for a flag in good standing."""
    deprecated = entry.get("deprecated") or {}
    if deprecated.get("new_flag"):
        return str(deprecated["new_flag"])
    words = str(deprecated.get("error") or deprecated.get("help") or "")
    if not entry["action"].startswith("Deprecated") and not words.lstrip("[(").startswith("Deprecated"):
        return ""
    return words


def variant(flag: str, entry: dict[str, t.Any]) -> list[t.Any]:
    """One flag of one release as a row: flag, dest, kind, type, nargs, choices, aliases, note."""
    derived = flag[2:].replace("-", "_")
    kind = KINDS[entry["action"]]
    return [
        flag,
        "" if entry["dest"] == derived else entry["dest"],
        kind,
        TYPES.get(entry["type"], entry["type"]) if kind in "vd" else "bool",
        entry["nargs"] or "",
        sorted(str(c) for c in entry["choices"]) if entry["choices"] else None,
        entry["aliases"],
        note_of(entry),
    ]


def release_of(wheel: pathlib.Path) -> Release:
    """The rows of the release in *wheel*, by flag."""
    return {flag: variant(flag, entry) for flag, entry in flags_of(wheel).items()}


def rows(table: dict[str, Release]) -> list[list[t.Any]]:
    """Every variant once for each run of releases that share it, with the numbers of the first and the last."""
    releases = list(table.values())
    found: list[list[t.Any]] = []
    for flag in sorted({flag for release in releases for flag in release}):
        run: list[t.Any] = []
        for number, release in enumerate(releases):
            row = release.get(flag)
            if run and row == run[2:]:
                run[1] = number
                continue
            found += [run] if run else []
            run = [number, number, *row] if row else []
        found += [run] if run else []
    return found


def read(target: pathlib.Path) -> dict[str, Release]:
    """The table that a catalogue module holds; nothing where there is no such file."""
    if not target.exists():
        return {}
    module = runpy.run_path(str(target))
    packed = json.loads(zlib.decompress(base64.b85decode("".join(module["PACKED"].split()))))
    return {
        version: {row[2]: row[2:] for row in packed if row[0] <= number <= row[1]}
        for number, version in enumerate(module["VERSIONS"])
    }


def render(table: dict[str, Release]) -> str:
    """The text of the catalogue module, releases in order."""
    table = {version: table[version] for version in sorted(table, key=order)}
    text = json.dumps(rows(table), separators=(",", ":"), ensure_ascii=False)
    packed = base64.b85encode(zlib.compress(text.encode(), 9)).decode()
    lines = [packed[i : i + 110] for i in range(0, len(packed), 110)]
    return HEADER.format(versions="\n".join(f'    "{v}",' for v in table), packed="\n".join(lines))


def order(version: str) -> list[int]:
    """A sort key for published releases, post-releases after their base."""
    return [int(part) for part in re.findall(r"\d+", version)]


def fetch(version: str, directory: pathlib.Path) -> pathlib.Path:
    """The wheel of *version* in *directory*, fetched by pip where it is not there; its Python need not be this one."""
    pattern = f"sglang-{version}-*.whl"
    if not list(directory.glob(pattern)):
        wanted = ["--no-deps", "--only-binary=:all:", "--python-version=3.11", "--platform=manylinux_2_34_x86_64"]
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            *wanted,
            "--dest",
            str(directory),
            f"sglang=={version}",
        ]
        subprocess.run(command, check=True)
    return next(directory.glob(pattern))


def differences(old: Release, new: Release) -> list[str]:
    """What differs between two readings of one release."""
    return [
        f"{flag}: {old.get(flag)} became {new.get(flag)}"
        for flag in sorted({*old, *new})
        if old.get(flag) != new.get(flag)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=t.cast(str, __doc__).splitlines()[0])
    parser.add_argument("versions", nargs="+", help="published releases to read")
    parser.add_argument("--check", action="store_true", help="only say what differs from the catalogue")
    parser.add_argument("--wheels", type=pathlib.Path, help="directory with wheels")
    options = parser.parse_args()
    table = read(TARGET)
    changed = []
    with tempfile.TemporaryDirectory() as temporary:
        for version in options.versions:
            release = release_of(fetch(version, options.wheels or pathlib.Path(temporary)))
            changed += [f"{version} {line}" for line in differences(table.get(version, {}), release)]
            table[version] = release
    print("\n".join(changed) or "no difference")
    if options.check:
        return 1 if changed else 0
    TARGET.write_text(render(table), encoding="utf-8")
    print(f"{TARGET}: {TARGET.stat().st_size} bytes, {len(table)} releases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
