# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The two configurations that the points of a sweep are held against: no speculation, and plain DFLASH."""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_definition import PARTS, Parameter, Point
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_points import DFLASH, LINEAR

NAMES = {LINEAR: "baseline-linear", DFLASH: "baseline-dflash"}
# What SGLang sets where speculation is on and nothing else is said (server_args.py, 0.5.6 to 0.5.23).
SPECULATIVE_REQUESTS = 48
# These draft with something else than a drafter of DFLASH.
_OTHERS = ("EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM", "FROZEN_KV_MTP", "DSPARK", "UNO")
_PREFIX = "speculative_"
_REQUESTS = "max_running_requests"
Server = t.Mapping[str, t.Mapping[str, t.Any]]


def baselines(server: Server, points: t.Sequence[Point], flag_names: t.Iterable[str] = ()) -> list[Point]:
    """The baselines of *points*, the one with DFLASH only where there is a drafter for it.

    Both are the inventory's server without what the points vary. The one without speculation may run as many requests as
    the others, which SGLang limits where nothing is said.

    :arg server: what the inventory sets, by part.
    :arg flag_names: options that only a fork has.
    """
    swept = {(part, name) for point in points for part in PARTS for name in point["overrides"][part]}
    every = [server, *(_merged(server, point) for point in points)]
    drafting = next((one for one in every if _drafts(one)), None)
    found = [_linear(server, any(map(_speculates, every)))]
    if drafting is not None:
        found.append(_dflash(server, drafting, swept, {_plain(name) for name in flag_names}))
    return found


def refuse_hidden_speculation(extra_args: t.Sequence[t.Any]) -> None:
    """Refuse words of the command line with which no point could be without speculation.

    :raises Failure: ``bad_request``.
    """
    flags = [str(word) for word in extra_args if str(word).startswith("--spec")]
    if flags:
        raise Failure(
            "bad_request",
            f"The sweep cannot take '{flags[0]}' out of 'server_extra_args' for the baseline without speculation: move it to "
            "'server_speculative', or set 'sweep_baselines: false'.",
        )


def _linear(server: Server, limited: bool) -> Point:
    args = {name: None for name, value in server["args"].items() if name.startswith(_PREFIX) and value is not None}
    if limited and server["args"].get(_REQUESTS) is None:
        args[_REQUESTS] = SPECULATIVE_REQUESTS
    speculative = {name: None for name, value in server["speculative"].items() if value is not None}
    return _baseline(LINEAR, speculative, args)


def _dflash(server: Server, drafting: Server, swept: t.Container[Parameter], fork: t.Container[str]) -> Point:
    now, wanted = server["speculative"], drafting["speculative"]
    speculative: dict[str, t.Any] = {}
    for name, value in now.items():
        own = _plain(name) in fork or _plain(name).startswith(("tree_", "ddtree_"))
        if value is not None and ((PARTS[0], name) in swept or own) and _plain(name) not in _NEEDED:
            speculative[name] = None
    if str(now.get("algorithm") or "").upper() != "DFLASH":
        speculative["algorithm"] = "DFLASH"
    for name in _DRAFTER:
        if wanted.get(name) is not None and now.get(name) != wanted[name]:
            speculative[name] = wanted[name]
    return _baseline(DFLASH, speculative, {})


_DRAFTER = ("draft_model_path", "draft_model_revision")
_NEEDED = ("algorithm", *_DRAFTER)


def _baseline(kind: str, speculative: dict[str, t.Any], args: dict[str, t.Any]) -> Point:
    overrides = {"speculative": speculative, "args": args, "environment": {}}
    return {"name": NAMES[kind], "kind": kind, "overrides": overrides, "parameters": {}}


def _merged(server: Server, point: Point) -> dict[str, dict[str, t.Any]]:
    return {part: {**server[part], **point["overrides"][part]} for part in PARTS}


def _algorithm(server: Server) -> str:
    return str(server["speculative"].get("algorithm") or server["args"].get("speculative_algorithm") or "").upper()


def _speculates(server: Server) -> bool:
    return bool(_algorithm(server) or server["speculative"].get("draft_model_path"))


def _drafts(server: Server) -> bool:
    """Whether it has a drafter that is one of DFLASH, as a fork's is, too."""
    return bool(server["speculative"].get("draft_model_path")) and _algorithm(server) not in _OTHERS


def _plain(name: str) -> str:
    return name[len(_PREFIX) :] if name.startswith(_PREFIX) else name
