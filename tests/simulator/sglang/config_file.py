# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``--config FILE.yaml``: a mapping of flags, put before the command line, so that the command line wins.

Only what SGLang's own files hold is read: scalars, booleans, one-line and indented lists.
"""

from __future__ import annotations

import json
import os


def merge(release, argv, definitions):
    """The arguments with the file's put first. Raises ValueError as SGLang does."""
    if argv.count("--config") > 1:
        raise ValueError("Multiple config files specified! Only one allowed.")
    at = argv.index("--config")
    if at + 1 >= len(argv) or argv[at + 1].startswith("-"):
        raise ValueError("No config file specified after --config flag!")
    path = argv[at + 1]
    return file_arguments(path, release, definitions) + argv[:at] + argv[at + 2 :]


def file_arguments(path, release, definitions):
    """The words that a file stands for."""
    if not path.endswith((".yaml", ".yml")):
        raise ValueError("Config file must be YAML format, got: %s" % os.path.splitext(path)[1])
    if not os.path.exists(path):
        raise ValueError("Config file not found: %s" % path)
    with open(path, encoding="utf-8") as handle:
        mapping = parse_mapping(handle.read())
    known = {}
    for definition in definitions:
        for name in [definition["flag"]] + definition.get("aliases", []):
            known[name] = definition
    words = []
    for key, value in mapping.items():
        flag = "--" + key
        definition = known.get(flag)
        plain = definition is None or definition["action"] in ("store", "store_true")
        if not plain and release.since("0.5.10") and not release.since("0.5.23"):
            raise ValueError("Unsupported config option '%s' with action '%s'" % (key, definition["action"]))
        if isinstance(value, bool):
            if definition is not None and definition["action"] == "store":
                words += [flag, str(value).lower()]
            elif value:
                words.append(flag)
        elif isinstance(value, list):
            words += [flag] + [str(item) for item in value]
        elif isinstance(value, dict):
            words += [flag, json.dumps(value)]
        else:
            words += [flag, str(value)]
    return words


def scalar(text):
    """One YAML scalar of the plain, single-quoted, double-quoted or JSON kind."""
    text = text.strip()
    if text[:1] == '"' or text[:1] in "[{" and text:
        return json.loads(text)
    if text[:1] == "'":
        return text[1:-1].replace("''", "'")
    if " #" in text:
        text = text[: text.index(" #")].strip()
    if text in ("true", "True"):
        return True
    if text in ("false", "False"):
        return False
    if text in ("", "null", "~"):
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def parse_mapping(text):
    """The mapping of a small YAML file."""
    mapping, key = {}, None
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith("#") or stripped == "---":
            continue
        if stripped.startswith("- ") and key is not None:
            if not isinstance(mapping[key], list):
                mapping[key] = []
            mapping[key].append(scalar(stripped[2:]))
        elif ":" in stripped:
            key, _dummy, value = stripped.partition(":")
            key = key.strip().strip("'\"")
            mapping[key] = scalar(value)
        else:
            raise ValueError("The config file must be a mapping of options.")
    if not mapping and text.strip():
        raise ValueError("The config file must be a mapping of options.")
    return {name: value for name, value in mapping.items() if value is not None}
