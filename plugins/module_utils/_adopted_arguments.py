# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Read the server's words back into the options of server_unit that write them."""

from __future__ import annotations

import json
import re
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils import _flags, _speculative
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._flags import Flag, FlagTable, Use
from ansible_collections.llmops.sglang.plugins.module_utils._server_arguments import direct_flag, related_flag

SECRET_ARGUMENTS = ("api_key", "admin_api_key", "ssl_keyfile_password")
_PREFIX = "speculative_"


@dataclass
class Adopted:
    """The options, the names of secrets that were left out, and what could not be taken over, in sentences."""

    args: dict[str, t.Any] = field(default_factory=dict)
    speculative: dict[str, t.Any] = field(default_factory=dict)
    flag_names: dict[str, str] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


def adopt_arguments(words: t.Sequence[str], table: FlagTable) -> Adopted:
    """The options for a server's own *words*; the last use of a flag counts, as it does for the server."""
    adopted = Adopted()
    uses = _flags.uses(words, table)
    algorithm = next((u.values[-1] for u in reversed(uses) if _dest(u) == "speculative_algorithm" and u.values), "")
    for use in uses:
        if use.surplus:
            adopted.lost.append(f"The word '{use.surplus[0]}' belongs to no flag.")
        if use.ambiguous:
            adopted.lost.append(f"The flag {use.word} is ambiguous: {', '.join(use.ambiguous)}.")
        elif use.word:
            _take(adopted, use, table, algorithm)
    if algorithm and "algorithm" in adopted.speculative:
        try:
            _speculative.check_algorithm(algorithm, table, adopted.flag_names)
        except Failure:
            # A fork's own algorithm is taken as known where its flag is named.
            adopted.flag_names["algorithm"] = "--speculative-algorithm"
    return adopted


def _dest(use: Use) -> str:
    return use.flag.dest if use.flag else ""


def _take(adopted: Adopted, use: Use, table: FlagTable, algorithm: str) -> None:
    flag = use.flag
    if flag is None and use.word in _flags.spans():
        # Another release's spelling: server_unit says what this one has instead.
        flag = _flags.table_of(_flags.spans()[use.word][1]).get_exact(use.word)
        use = use._replace(flag=flag)
    if flag is None:
        _take_unknown(adopted, use)
        return
    if flag.dest in SECRET_ARGUMENTS:
        adopted.secrets.append(flag.dest)
        return
    if flag.takes_value and not use.values and flag.nargs not in ("*", "?"):
        adopted.lost.append(f"The flag {use.word} has no value.")
        return
    value = _value(use)
    option = _speculative_option(flag, value, table, algorithm)
    if option:
        adopted.speculative[option] = value
    else:
        adopted.args[_argument(flag, table)] = value


def _take_unknown(adopted: Adopted, use: Use) -> None:
    if not re.fullmatch(r"--[A-Za-z0-9][A-Za-z0-9_-]*", use.word):
        adopted.lost.append(f"The flag {use.word} cannot be an option.")
        return
    name = use.word[2:].replace("-", "_").lower()
    value: t.Any = True if not use.values else use.values[0] if len(use.values) == 1 else use.values
    if re.search(r"(?:^|_)(?:api_key|password|secret|token)$", name) and use.values:
        adopted.secrets.append(name)
        return
    plain = name[len(_PREFIX) :] if name.startswith(_PREFIX) else ""
    (adopted.speculative if plain else adopted.args)[plain or name] = value
    adopted.flag_names[plain or name] = use.word


def _argument(flag: Flag, table: FlagTable) -> str:
    """The newest name under which server_unit finds *flag* in this release."""
    spelled = flag.flag[2:].replace("-", "_")
    for name in (_flags.newest_dest(flag), flag.dest):
        if _same(name, flag, table):
            return name
    return spelled


def _same(name: str, flag: Flag, table: FlagTable) -> bool:
    found = direct_flag(table, name) or related_flag(table, name)
    return found is not None and found.dest == flag.dest and found.takes_value == flag.takes_value


def _speculative_option(flag: Flag, value: t.Any, table: FlagTable, algorithm: str) -> str:
    """The name of *flag* in the option 'speculative'; empty where it has none that leads back to it."""
    name = _argument(flag, table)
    if not name.startswith(_PREFIX):
        return ""
    plain = next(iter(_speculative.resolved({name: value}, [])))
    for option in dict.fromkeys((plain, name[len(_PREFIX) :])):
        try:
            (entry,) = _speculative.entries({option: value}, table, {}, algorithm, None)
        except Failure:
            continue
        if _same(entry.name, flag, table):
            return option
    return ""


def _value(use: Use) -> t.Any:
    """The value in its own type where that is written the same way again, else as it stands."""
    flag = t.cast(Flag, use.flag)
    typed = _flags.value_of(use)
    if isinstance(typed, list):
        return [_plain(text, one) for text, one in zip(use.values, typed)]
    if not use.values or isinstance(typed, bool):
        return typed
    text = use.values[0]
    if flag.is_json:
        try:
            parsed = json.loads(text)
            same = json.dumps(parsed, sort_keys=True, ensure_ascii=False) == text
        except (ValueError, RecursionError):
            return text
        return parsed if same and isinstance(parsed, (dict, list)) else text
    return _plain(text, typed)


def _plain(text: str, typed: t.Any) -> t.Any:
    return typed if (repr(typed) if isinstance(typed, float) else str(typed)) == text else text
