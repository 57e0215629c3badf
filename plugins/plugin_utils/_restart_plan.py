# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""In which order, and how many at a time, the servers of a fleet are restarted, so that enough of them serve."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._router_api import Worker, worker_key
from ansible_collections.llmops.sglang.plugins.module_utils._router_capacity import Fleet, refuse_too_few, required
from ansible_collections.llmops.sglang.plugins.module_utils._unit_name import closest

_MOST_TOLD = 50


@dataclass(frozen=True)
class Member:
    """A host of the play; without a router both URLs are empty."""

    host: str
    router_url: str = ""
    worker_url: str = ""


def members_of(hosts: t.Sequence[str], mappings: t.Mapping[str, t.Any]) -> list[Member]:
    """*hosts* with what *mappings* say of each one's router.

    :raises Failure: ``bad_request`` for a mapping that does not name both, and for two hosts behind one URL.
    """
    members, seen = [], {}
    for host in hosts:
        mapping = mappings.get(host) or {}
        urls = [str(mapping.get(key) or "") for key in ("router_url", "worker_url")]
        if mapping and not all(urls):
            raise Failure(
                "bad_request", f"'server_router' of the host '{host}' needs 'router_url' and 'worker_url': give both."
            )
        member = Member(host, *urls)
        place = (worker_key(member.router_url), worker_key(member.worker_url))
        if mapping and place in seen:
            raise Failure(
                "bad_request",
                f"The hosts '{seen[place]}' and '{host}' have the same 'worker_url' '{member.worker_url}' in 'server_router': "
                "give each its own.",
            )
        seen[place] = host
        members.append(member)
    return members


def fleets_of(members: t.Sequence[Member], told: t.Sequence[t.Mapping[str, t.Any]]) -> dict[str, Fleet]:
    """The fleet of each router, from results of router_info."""
    fleets = {}
    for result in told:
        listed = [Worker(str(w.get("id")), w["url"], w.get("healthy")) for w in result["workers"]]
        url = result["router_url"]
        fleets[url] = Fleet(listed, [m.worker_url for m in members if m.router_url == url])
    return fleets


def batches_of(
    members: t.Sequence[Member], fleets: t.Mapping[str, Fleet], serial: t.Any, canary: str | bool
) -> list[list[Member]]:
    """The hosts in the order in which they are restarted.

    Those that their router sends nothing now are first: they take nothing away from anybody, and where an earlier run was cut
    off they are what it left. With a canary the very first host goes alone, and so does the one that is named.

    :raises Failure: ``bad_request`` for a canary that is no host of the play.
    """
    named = canary if isinstance(canary, str) else ""
    if named and named not in [m.host for m in members]:
        near = closest(named, [m.host for m in members])
        raise Failure(
            "bad_request",
            f"The host '{named}' in 'restart_canary' is none of this play's{': meant is ' + ' or '.join(near) if near else ''}; "
            "name one of them, or give true for the first.",
        )
    out = [m for m in members if m.router_url and not fleets[m.router_url].serves(m.worker_url)]
    rest = [m for m in members if m not in out]
    if not named:
        order = out + rest
        alone = order[:1] if canary else []
    else:
        order = sorted(out, key=lambda m: m.host != named) + sorted(rest, key=lambda m: m.host != named)
        alone = [m for m in order if m is order[0] or m.host == named]
    return _cut(order, alone, _sizes(serial, len(members)))


def _cut(order: t.Sequence[Member], alone: t.Sequence[Member], sizes: t.Iterator[int]) -> list[list[Member]]:
    batches: list[list[Member]] = []
    room = 0
    for member in order:
        if member in alone:
            batches.append([member])
            room = 0
        elif room:
            batches[-1].append(member)
            room -= 1
        else:
            batches.append([member])
            room = next(sizes) - 1
    return batches


def _sizes(serial: t.Any, hosts: int) -> t.Iterator[int]:
    """Ansible's ``serial``: a number, a percentage of the hosts, or a list of these whose last one goes on."""
    wanted = list(serial) if isinstance(serial, (list, tuple)) else [serial]
    sizes = []
    for one in wanted or [1]:
        text = str(one).strip()
        number = text[:-1] if text.endswith("%") else text
        if not number.isdigit() or not int(number):
            raise Failure(
                "bad_request", f"'{one}' in 'restart_serial' is no number of hosts and no percentage of them."
            )
        sizes.append(max(int(number) * hosts // 100, 1) if text.endswith("%") else int(number))
    yield from sizes
    while True:
        yield sizes[-1]


def least_left(
    batches: t.Sequence[t.Sequence[Member]], fleets: t.Mapping[str, Fleet], rule: str
) -> dict[str, tuple[int, int]]:
    """For each router, how many workers serve at the worst moment, and in which batch (from 1) that is.

    Each batch is taken to be back in service when the next one begins. Marks the fleets so.

    :raises Failure: ``rule_violated`` for a batch that leaves too few.
    """
    worst: dict[str, tuple[int, int]] = {}
    for number, batch in enumerate(batches, 1):
        for url, fleet in fleets.items():
            urls = [m.worker_url for m in batch if m.router_url == url]
            if not urls:
                continue
            names = [f"'{m.host}'" for m in batch if m.router_url == url]
            left = refuse_too_few(url, fleet, urls, rule, " and ".join(names))
            if url not in worst or left < worst[url][0]:
                worst[url] = (left, number)
            fleet.back_in_service(urls)
    return worst


def in_words(
    batches: t.Sequence[t.Sequence[Member]],
    before: t.Mapping[str, tuple[int, int]],
    worst: t.Mapping[str, tuple[int, int]],
    rule: str,
    out: t.Collection[str],
) -> list[str]:
    """The plan in lines.

    :arg before: for each router, how many workers there are and how many of them serve now.
    :arg out: hosts that their router sends nothing now.
    """
    lines = []
    for url, (size, serving) in before.items():
        wanted = f"; {required(rule, size)} have to" if rule else ""
        left, number = worst.get(url, (serving, 0))
        at_worst = f", {left} at the worst moment (step {number})" if number else ""
        lines.append(f"router {url}: {serving} of {size} workers serve now{at_worst}{wanted}")
    for number, batch in enumerate(batches[:_MOST_TOLD], 1):
        names = [m.host + (" (out of its router now)" if m.host in out else "") for m in batch]
        lines.append(f"step {number}: {', '.join(names)}")
    if len(batches) > _MOST_TOLD:
        lines.append(f"and {len(batches) - _MOST_TOLD} steps more")
    return lines
