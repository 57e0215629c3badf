# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The speculative options as arguments of one release of SGLang, and which algorithms that release knows."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils import _flags
from ansible_collections.llmops.sglang.plugins.module_utils._drafter import Drafter
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._flags import FlagTable
from ansible_collections.llmops.sglang.plugins.module_utils._server_arguments import (
    Entry,
    direct_flag,
    related_flag,
    unknown_argument,
)
from ansible_collections.llmops.sglang.plugins.module_utils._version import at_least

# First release that takes each value of --speculative-algorithm (speculative/spec_info.py; 0.5.6 is the oldest one read).
ALGORITHMS = {
    "EAGLE": "0.5.6",
    "EAGLE3": "0.5.6",
    "NEXTN": "0.5.6",
    "STANDALONE": "0.5.6",
    "NGRAM": "0.5.6",
    "DFLASH": "0.5.11",
    "FROZEN_KV_MTP": "0.5.12",
    "DSPARK": "0.5.16",
    "UNO": "0.5.20",
}
_PREFIX = "speculative_"
# Names in which a release or a user spells what another option name already says.
_OLD_NAMES = {
    "draft_model": "draft_model_path",
    "dflash_draft_window_size": "draft_window_size",
    "dflash_block_size": "block_size",
}
_DRAFT_PATH_NAMES = ("speculative_draft_model_path", "speculative_draft_model")


def algorithm_of(speculative: t.Mapping[str, t.Any], args: t.Mapping[str, t.Any]) -> str:
    """The algorithm that is asked for, as given; empty for none."""
    return str(
        speculative.get("algorithm")
        or speculative.get("speculative_algorithm")
        or args.get("speculative_algorithm")
        or ""
    )


def one_name(algorithm: t.Any) -> str:
    """An algorithm under the one name to compare it by: NEXTN is another name of EAGLE, and the server writes all in capitals."""
    plain = str(algorithm or "NONE").upper()
    return "EAGLE" if plain == "NEXTN" else plain


def draft_path_of(speculative: t.Mapping[str, t.Any], args: t.Mapping[str, t.Any]) -> str:
    """The draft model that is asked for; empty for none."""
    given = [speculative.get("draft_model_path"), speculative.get("draft_model")]
    given += [source.get(name) for source in (speculative, args) for name in _DRAFT_PATH_NAMES]
    return str(next((g for g in given if g), ""))


def check_algorithm(algorithm: str, table: FlagTable, flag_names: t.Mapping[str, str]) -> None:
    """Refuse an algorithm that this server does not know.

    :raises Failure: ``rule_violated`` with the first release that has it.
    """
    if not algorithm or _vouched_for(algorithm, table, flag_names):
        return
    first = ALGORITHMS.get(algorithm.upper())
    if first and at_least(table.base, first):
        return
    if first:
        raise Failure(
            "rule_violated",
            f"SGLang {table.version} does not know the speculative algorithm '{algorithm}': SGLang {first} is the first that has it; "
            f"install that or choose another algorithm.",
        )
    known = ", ".join(name for name, since in ALGORITHMS.items() if at_least(table.base, since))
    raise Failure(
        "rule_violated",
        f"SGLang {table.version} does not know the speculative algorithm '{algorithm}', nor does any release up to {_flags.VERSIONS[-1]}: "
        f"it knows {known}; for a fork name its flags in 'flag_names' or set 'introspect: always'.",
    )


def _vouched_for(algorithm: str, table: FlagTable, flag_names: t.Mapping[str, str]) -> bool:
    """Whether the user or the server itself says that there is such an algorithm."""
    if {"algorithm", "speculative_algorithm", algorithm, algorithm.lower()} & set(flag_names):
        return True
    # A fork's own flags carry the name of its algorithm: --speculative-ddtree-budget.
    infix = f"-{algorithm.lower().replace('_', '-')}-"
    if any(infix in flag for flag in flag_names.values()):
        return True
    return table.origin == "help" and bool(re.search(rf"\b{re.escape(algorithm.upper())}\b", table.help_text))


def entries(
    speculative: t.Mapping[str, t.Any],
    table: FlagTable,
    flag_names: t.Mapping[str, str],
    algorithm: str,
    drafter: t.Optional[Drafter],
) -> list[Entry]:
    """The speculative options as arguments.

    :raises Failure: ``unknown_flag`` for an option that this server has no flag for; ``rule_violated`` where the trained
        window is asked for and not known.
    """
    found = []
    for key, value in speculative.items():
        option = f"speculative.{key}"
        plain = key[len("speculative_") :] if key.startswith("speculative_") else key
        if plain == "algorithm" and str(value).upper() in ALGORITHMS:
            value = str(value).upper()
        if plain == "draft_window_size" and value == "trained":
            value = trained_window(drafter)
        flag = flag_names.get(key) or flag_names.get(plain) or flag_names.get(f"speculative_{plain}") or ""
        if flag or value is None:
            found.append(Entry(option, plain, value, flag))
            continue
        names = _names(plain, algorithm)
        name = next((n for n in names if direct_flag(table, n) or related_flag(table, n)), "") or _only_like(
            plain, table
        )
        if not name:
            raise _no_flag(Entry(option, names[0], value), plain, table)
        found.append(Entry(option, name, value))
    return found


def resolved(arguments: t.Mapping[str, t.Any], given: t.Sequence[Entry]) -> dict[str, t.Any]:
    """What a command line says of speculation: one spelling for all releases, the options' own names without their prefix.

    :arg arguments: the command line by the newest names; it counts before the options that were *given*, which tell
        under which option a fork's own flag stands.
    """
    found = {name[len(_PREFIX) :]: value for name, value in arguments.items() if name.startswith(_PREFIX)}
    for old, name in _OLD_NAMES.items():
        if old in found:
            found[name] = found.pop(old)
    for entry in given:
        option = entry.option.partition(".")[2]
        plain = option[len(_PREFIX) :] if option.startswith(_PREFIX) else option
        if entry.value is not None:
            found.setdefault(_OLD_NAMES.get(plain, plain), entry.value)
    return found


def _names(plain: str, algorithm: str) -> list[str]:
    """Argument names that an option may have, the likeliest first."""
    family = algorithm.lower().replace("-", "_")
    names = [f"speculative_{plain}"]
    if family:
        names.append(f"speculative_{family}_{plain}")
        if plain.startswith("tree_") and family.endswith("tree"):
            names.append(f"speculative_{family}_{plain[len('tree_') :]}")
    if family and family.upper() not in ALGORITHMS:
        names.append(f"speculative_dflash_{plain}")
    return names


def _only_like(plain: str, table: FlagTable) -> str:
    """The argument of the one flag, of those that the server itself named, that ends like the option."""
    if table.origin != "help":
        return ""
    ending = "-" + plain.replace("_", "-")
    fits = [f for f in table.flags if f.flag.startswith("--speculative-") and f.flag.endswith(ending)]
    return fits[0].dest if len(fits) == 1 else ""


def _no_flag(entry: Entry, plain: str, table: FlagTable) -> Failure:
    if plain.startswith("tree_"):
        return Failure(
            "unknown_flag",
            f"The option '{entry.option}' has no flag in SGLang {table.version}: no release up to {_flags.VERSIONS[-1]} verifies a tree of its own "
            f"budget; for a fork write 'flag_names: {{{plain}: --its-flag}}' or set 'introspect: always'.",
        )
    return unknown_argument(entry, "--" + entry.name.replace("_", "-"), table)


def trained_window(drafter: t.Optional[Drafter]) -> int:
    """The window that the drafter was trained with.

    :raises Failure: ``rule_violated`` where there is none or it cannot be read.
    """
    if drafter is None:
        why = "'speculative.draft_model_path' is not set: set it"
    elif not drafter.known:
        why = f"{drafter.reason}: give the window as a number"
    elif drafter.sliding_window is None:
        why = f"the drafter '{drafter.path}' was trained without a window: leave the option out"
    else:
        return drafter.sliding_window
    raise Failure("rule_violated", f"The trained window for 'speculative.draft_window_size' is not known, since {why}.")
