# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The files that carry a server's secrets beside its unit: a configuration file with the keys, and an environment file."""

from __future__ import annotations

import json
import re
import secrets
import typing as t
from dataclasses import dataclass

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import SECRETS_FINGERPRINT
from ansible_collections.llmops.sglang.plugins.module_utils._unit_syntax import environment_file_line

CONFIG_FILE = "config.yaml"
ENVIRONMENT_FILE = "environment"
# LoadCredential= came with systemd 247.
CREDENTIALS_SINCE = 247


@dataclass(frozen=True)
class SecretFiles:
    """The contents of the two files without the id line; empty text stands for no file."""

    config: str = ""
    environment: str = ""

    def __bool__(self) -> bool:
        return bool(self.config or self.environment)

    def environment_text(self, identity: str) -> str:
        """The environment file: it exists wherever there is any secret, since it carries the id."""
        return f"{SECRETS_FINGERPRINT}={identity}\n{self.environment}" if self else ""


def secret_texts(environment: t.Mapping[str, t.Any]) -> dict[str, str]:
    """Secret variables as text, by the rules of the other ones: null leaves a variable out, booleans are lower case.

    :raises Failure: ``unit_invalid`` for a list or a mapping; the message never holds it.
    """
    texts = {}
    for name, value in environment.items():
        if isinstance(value, (dict, list)):
            raise Failure(
                "unit_invalid",
                f"The secret environment variable '{name}' is a {type(value).__name__}: give it as text.",
            )
        if value is not None:
            texts[str(name)] = str(value).lower() if isinstance(value, bool) else str(value)
    return texts


def secret_files(
    keys: t.Mapping[str, t.Optional[str]], environment: t.Mapping[str, str], own_config: str = ""
) -> SecretFiles:
    """The files for the server's keys (argument name to key) and secret environment variables.

    :arg own_config: the text of the user's own configuration file, see :func:`mergeable`.
    :raises Failure: ``unit_invalid`` for a secret that the files cannot carry; the message never holds it.
    """
    config = [own_config] if own_config.endswith("\n") or not own_config else [own_config, "\n"]
    for name, key in sorted(keys.items()):
        if key is None:
            continue
        _check(name, key)
        # The server hands the value to argparse as a word of its own.
        if not key or key.startswith("-"):
            raise Failure(
                "unit_invalid",
                f"The secret '{name}' is empty or begins with '-', which the server would not take: choose another.",
            )
        if not key.isprintable():
            raise Failure(
                "unit_invalid",
                f"The secret '{name}' holds a control character, which neither YAML nor an HTTP header can carry: choose another.",
            )
        # A JSON string is a YAML string in double quotes.
        config.append(f"{name.replace('_', '-')}: {json.dumps(key, ensure_ascii=False)}\n")
    lines = []
    for name, value in sorted(environment.items()):
        _check(name, value)
        try:
            lines.append(environment_file_line(name, value) + "\n")
        except Failure as exc:
            raise Failure(
                "unit_invalid", f"The secret environment variable '{name}' has a name or value that systemd ignores."
            ) from exc
    return SecretFiles("".join(config), "".join(lines))


def mergeable(path: str, text: t.Optional[str], keys: t.Mapping[str, t.Optional[str]]) -> str:
    """The *text* of the user's configuration file, to whose end lines of keys can be added.

    No YAML library is needed for that: a mapping in block style goes on with any further line ``name: value``.

    :raises Failure: ``rule_violated`` where there is no such mapping, or where it sets one of the keys itself.
    """
    if text is None:
        raise Failure(
            "rule_violated", f"The configuration file '{path}' is not there: write it first, or correct 'args.config'."
        )
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if lines and lines[0].rstrip() == "---":
        del lines[0]
    block = all(re.match(r"[\"']?[A-Za-z][\w-]*[\"']?\s*:(\s|$)|\s|- |-$", line) for line in lines)
    if not block or (lines and lines[0][0] in " \t-"):
        raise Failure(
            "rule_violated",
            f"The configuration file '{path}' is no plain YAML mapping with a 'name: value' from the first column on each line, "
            "so that the keys cannot be added: write it so, or move its settings into 'args'.",
        )
    for name, key in keys.items():
        pattern = rf"^[\"']?{name.replace('_', '[-_]')}[\"']?\s*:"
        if key is not None and re.search(pattern, text, flags=re.MULTILINE):
            raise Failure(
                "rule_violated",
                f"The configuration file '{path}' and the option '{name}' both set the key: keep one of them.",
            )
    return text


def _check(name: str, value: str) -> None:
    if re.search(r"[\r\n\0]", value):
        raise Failure(
            "unit_invalid", f"The secret '{name}' holds a line break or a NUL character: secrets may not, take it out."
        )


def identity_of(environment_text: t.Optional[str]) -> str:
    """The id in an environment file that is there; empty for none."""
    match = re.match(rf"{SECRETS_FINGERPRINT}=(\w+)$", environment_text or "", flags=re.MULTILINE)
    return match.group(1) if match else ""


def new_identity() -> str:
    return secrets.token_hex(16)
