# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Take secrets out of what leaves a host: known ones wherever they stand, others by where they stand or what they look like."""

from __future__ import annotations

import json
import re
import typing as t
from urllib.parse import quote

from ansible_collections.llmops.sglang.plugins.module_utils._environment_file import is_secret_variable
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import MASKED, Mask
from ansible_collections.llmops.sglang.plugins.module_utils._unit_syntax import split_words

# Whole words between dashes or underscores: --tokenizer-path, --max-total-tokens and --ssl-keyfile hold none of them.
_WORDS = r"(?:api-?key|auth|bearer|credentials?|key|passphrase|passwd|password|secret|token)"
_VALUE = r"""(?:"[^"]*"|'[^']*'|[^\s"',\]})]+)"""
_FLAG = re.compile(
    rf"""(?P<lead>(?<![\w-])--?(?:[A-Za-z0-9]+[-_])*{_WORDS}(?:=|[ \t]+|["'],[ ]?(?=["'])))(?P<value>{_VALUE})""",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"""(?P<lead>["']?\b(?:[A-Za-z0-9]+_)*(?:api_?key|[a-z]+_key|credentials?|passphrase|passwd|password|secret|token)["']?"""
    r"""(?:[ ]?[:=][ ]?(?=["'])|=))(?P<value>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|(?!(?:None|null|True|False|\d{1,6})\b)[^\s"',;)}\]]+)""",
    re.IGNORECASE,
)
# By the words of their names, as the environment of a process has them.
_VARIABLE = re.compile(r"""(?P<lead>\b(?P<name>[A-Z_][A-Z0-9_]*)=)(?P<value>'[^']*'|"(?:\\.|[^"\\])*"|[^\s;&|'",]+)""")
_HEADER = re.compile(
    r"""(?P<lead>\b(?:(?:proxy-)?authorization|(?<![\w-])x-[a-z-]*(?:key|token)|api-key|(?:set-)?cookie)["']?[ ]?[:=][ ]?["']?"""
    r"""(?:(?:basic|bearer|token)[ ]+)?)(?P<value>[^\s"',]+)""",
    re.IGNORECASE,
)
_PASSWORD_IN_URL = re.compile(r"(?P<lead>://[^/@\s:\"']*:)(?P<value>[^/@\s\"']+)(?=@)")
# How the tokens of well-known services begin.
_TOKEN = re.compile(
    r"(?P<lead>)\b(?P<value>hf_[A-Za-z0-9]{16,}|sk-[\w-]{16,}|gh[oprsu]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}"
    r"|xox[abprs]-[\w-]{10,}|A[KS]IA[0-9A-Z]{16}|nvapi-[\w-]{16,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)"
)
_PRIVATE_KEY = re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_SETTING = re.compile(r"\s*(?P<key>Environment|SetCredential|SetCredentialEncrypted)=(?P<value>.*)", re.DOTALL)

# Variables of the server, its libraries and the system, of which the values are no secrets and tell much.
_HARMLESS = re.compile(
    r"(?:SGLANG|SGL|SIM|LLMOPS_SGLANG|VLLM|CUDA|NVIDIA|NCCL|GLOO|UCX|TORCH|TORCHINDUCTOR|PYTORCH|TRITON|FLASHINFER|OMP|MKL|ROCM|HIP|HSA"
    r"|HF|HUGGINGFACE|TRANSFORMERS|TOKENIZERS|PYTHON|LD|LC|XDG|SYSTEMD|MEMORY_PRESSURE)_\w+|PYTHON\w+"
    r"|PATH|HOME|USER|LOGNAME|SHELL|PWD|LANG|TZ|TERM|HOSTNAME|INVOCATION_ID|JOURNAL_STREAM|NOTIFY_SOCKET|CREDENTIALS_DIRECTORY"
    r"|VIRTUAL_ENV|(?:NO|HTTPS?|ALL)_PROXY|(?:no|https?|all)_proxy|MANAGERPID|\w+_DIRECTORY"
)
_PLAIN = re.compile(r"/[\w./+-]*|[\d.,:-]+|true|false|yes|no|on|off", re.IGNORECASE)
# Below this, a value that nothing calls a secret would blank out ordinary text.
_SHORTEST_UNKNOWN = 8


def is_harmless(name: str, value: str) -> bool:
    """Whether a variable may be shown with its value."""
    return not is_secret_variable(name, value) and bool(_HARMLESS.fullmatch(name) or _PLAIN.fullmatch(value))


def secret_values(environment: t.Mapping[str, str]) -> list[str]:
    """The values among variables that must not be shown anywhere; of a URL only the password."""
    found = []
    for name, value in environment.items():
        passwords = [match.group("value") for match in _PASSWORD_IN_URL.finditer(value)]
        if passwords:
            found += passwords
        elif is_secret_variable(name, value) or (not is_harmless(name, value) and len(value) >= _SHORTEST_UNKNOWN):
            found.append(value)
    return found


def secret_words(argv: t.Sequence[str]) -> list[str]:
    """The values of flags that name a secret, in any server's style, and of variables that a word sets."""
    found = []
    for index, word in enumerate(argv):
        following = argv[index + 1] if index + 1 < len(argv) else ""
        for text in (word, f"{word} {following}") if word.startswith("-") and "=" not in word else (word,):
            found += [match.group("value").strip("'\"") for match in _FLAG.finditer(text)]
        name, sep, value = word.partition("=")
        if sep and name.isidentifier() and is_secret_variable(name, value):
            found.append(value)
    return found


class Redaction(Mask):
    """Knows *secrets* also as a program may have quoted them, and finds others by their surroundings."""

    def __init__(self, secrets: t.Iterable[t.Optional[str]] = ()) -> None:
        known = [secret for secret in secrets if secret]
        quoted = [one for s in known for one in (json.dumps(s)[1:-1], repr(s)[1:-1], quote(s, safe=""))]
        super().__init__([*known, *quoted])

    def known(self, text: str) -> str:
        """*text* without the secrets that are known, which is quick also for a long one."""
        for secret in self._known:
            text = text.replace(secret, MASKED)
        return text

    def text(self, text: str) -> str:
        text = super().text(text)
        for pattern in (_FLAG, _FIELD, _HEADER, _PASSWORD_IN_URL, _TOKEN):
            text = pattern.sub(_masked, text)
        text = _VARIABLE.sub(_masked_variable, text)
        return _PRIVATE_KEY.sub(rf"\1{MASKED}\2", text)

    def words(self, argv: t.Sequence[str]) -> list[str]:
        """A command line, word by word: the value of a flag may be the next word."""
        shown, hide = [], False
        for word in argv:
            shown.append(MASKED if hide else self.text(word))
            hide = not hide and "=" not in word and bool(_FLAG.fullmatch(f"{word} x"))
        return shown

    def environment(self, environment: t.Mapping[str, str]) -> list[str]:
        """Variables by name, and those that may be shown with their values."""
        return [
            f"{name}={self.text(value) if is_harmless(name, value) else MASKED}"
            for name, value in sorted(environment.items())
        ]

    def unit_text(self, text: str) -> str:
        """The text of a unit file, or the properties of a unit: each variable is judged by its name."""
        return "\n".join(self._setting(line) for line in re.sub(r"\\\n", " ", text).split("\n"))

    def _setting(self, line: str) -> str:
        match = _SETTING.match(line)
        if not match:
            return self.text(line)
        key, value = match.group("key", "value")
        if key != "Environment":
            return f"{key}={value.partition(':')[0]}:{MASKED}"
        try:
            pairs = [word.partition("=") for word in split_words(value)]
        except Failure:
            return f"{key}={MASKED}"
        return f"{key}=" + " ".join(json.dumps(one) for one in self.environment({n: v for n, dummy, v in pairs}))


def _masked(match: t.Match[str]) -> str:
    value = match.group("value")
    around = value[0] if value[:1] in "\"'" and value[-1:] == value[:1] and len(value) > 1 else ""
    return f"{match.group('lead')}{around}{MASKED}{around}"


def _masked_variable(match: t.Match[str]) -> str:
    return _masked(match) if is_secret_variable(match.group("name"), match.group("value")) else match.group()
