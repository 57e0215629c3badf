# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Keep keys out of whatever a server or its log may echo."""

from __future__ import annotations

import json
import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure

MASKED = "********"
# Shorter secrets would blank out ordinary text; and these words stand for "no key" in many examples.
_SHORTEST = 4
_NO_SECRETS = frozenset(("EMPTY", "None", "none", "null", "dummy"))

_CONFIG_OF_UNIT = r"\.service\.secrets/config\.yaml$"
_LARGEST_CONFIG = 1024 * 1024

_KEY_NAMES = (
    r"(?:admin_api_key|api_key|ssl_keyfile_password|admin-api-key|api-key|ssl-keyfile-password|api_key_file_content)"
)
# As Python prints them (api_key='x', 'api_key': 'x'), as JSON has them, and as a command line has them.
_ECHOED = (
    re.compile(
        # Where the quote stays open, the line was cut: the value is half a secret. No character fits in two ways: a search
        # could try them all.
        r"""(?P<lead>["']?\b%s["']?\s*[=:]\s*)(?P<quote>["'])(?P<value>(?:\\.|(?!(?P=quote))[^\\\n])*)(?:(?P=quote)|\\?$)"""
        % _KEY_NAMES,
        re.MULTILINE,
    ),
    re.compile(r"""(?P<lead>--%s[= ])(?P<value>[^\s"']+)""" % _KEY_NAMES),
    re.compile(r"""(?P<lead>\b[Bb]earer\s+)(?P<value>[^\s"',;]+)"""),
)


class Mask:
    """Replaces known secrets, and values that stand where SGLang prints its keys, by ``********``.

    :arg secrets: the secrets that are known; ``None`` and very short ones are passed over.
    """

    def __init__(self, secrets: t.Iterable[t.Optional[str]] = ()) -> None:
        known = {s for s in secrets if s and len(s) >= _SHORTEST and s not in _NO_SECRETS}
        # The longest first: a secret may hold another one.
        self._known = sorted(known, key=len, reverse=True)

    def text(self, text: str) -> str:
        """*text* without secrets."""
        for secret in self._known:
            text = text.replace(secret, MASKED)
        for pattern in _ECHOED:
            text = pattern.sub(_masked_match, text)
        return text

    def value(self, value: t.Any) -> t.Any:
        """A copy of *value* (of any JSON shape) with every string masked, keys of mappings included."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.value(k): self._entry(k, v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(v) for v in value]
        return value

    def _entry(self, key: t.Any, value: t.Any) -> t.Any:
        if isinstance(key, str) and isinstance(value, str) and value and re.fullmatch(_KEY_NAMES, key):
            return MASKED
        return self.value(value)


def _masked_match(match: t.Match[str]) -> str:
    quote = match.groupdict().get("quote") or ""
    return f"{match.group('lead')}{quote}{MASKED}{quote}"


def read_api_key(api_key: t.Optional[str], api_key_file: t.Optional[str]) -> t.Optional[str]:
    """The key from the option or from the first line of the file; ``None`` where neither is given.

    Of a server's configuration file, as server_unit writes it beside a unit, it is the value of ``api-key``.

    :raises Failure: ``unauthorized`` if the file cannot be read or is empty.
    """
    if api_key:
        return api_key
    if not api_key_file:
        return None
    try:
        with open(api_key_file, encoding="utf-8") as handle:
            key = handle.readline().strip()
            if re.search(_CONFIG_OF_UNIT, api_key_file):
                key = _key_in_config(key + "\n" + handle.read(_LARGEST_CONFIG))
    except (OSError, UnicodeDecodeError) as exc:
        raise Failure(
            "unauthorized",
            f"The key file '{api_key_file}' cannot be read on this host: {exc}; check its path and mode.",
        ) from exc
    if not key:
        raise Failure("unauthorized", f"The key file '{api_key_file}' has an empty first line; write the key there.")
    return key


def _key_in_config(text: str) -> str:
    """The key in the lines that server_unit adds to a configuration: each a name and a JSON string."""
    for line in text.splitlines():
        name, dummy, value = line.partition(": ")
        if name == "api-key":
            try:
                return str(json.loads(value))
            except ValueError:
                return value.strip()
    return ""


def check_api_key(api_key: t.Optional[str]) -> None:
    """Refuse a key that no HTTP header can carry.

    :raises Failure: ``unauthorized``.
    """
    if api_key and not api_key.isprintable():
        raise Failure("unauthorized", "The API key holds a control character; check the file that it comes from.")
