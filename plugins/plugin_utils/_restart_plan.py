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


# The hosts of one server, rank 0 first.
Server = t.Tuple[Member, ...]


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


def servers_of(members: t.Sequence[Member], nodes: t.Mapping[str, t.Sequence[str]]) -> list[Server]:
    """The servers of the play: those over several hosts stop and start together, and rank 0 alone has a worker.

    :arg nodes: by host, the hosts of its server in the order of their ranks; empty for a server on one host.
    :raises Failure: ``bad_request`` where a node of a server is no host of the play.
    """
    by_host = {m.host: m for m in members}
    servers: dict[tuple[str, ...], Server] = {}
    for member in members:
        hosts = tuple(nodes.get(member.host) or ()) or (member.host,)
        absent = [host for host in hosts if host not in by_host]
        if absent:
            raise Failure(
                "bad_request",
                f"The host '{member.host}' is one node of a server whose node '{absent[0]}' is none of this play's hosts, and "
                "all of them are restarted together: let the play have both.",
            )
        first, *others = (by_host[host] for host in hosts)
        servers.setdefault(hosts, (first, *(Member(other.host) for other in others)))
    return list(servers.values())


def batches_of(
    servers: t.Sequence[Server], fleets: t.Mapping[str, Fleet], serial: t.Any, canary: str | bool
) -> list[list[Member]]:
    """The hosts in the order in which they are restarted.

    Those that their router sends nothing now are first: they take nothing away from anybody, and where an earlier run was cut
    off they are what it left. With a canary the very first server goes alone, and so does the one that is named.

    :raises Failure: ``bad_request`` for a canary that is no host of the play.
    """
    named = canary if isinstance(canary, str) else ""
    hosts = [m.host for server in servers for m in server]
    if named and named not in hosts:
        near = closest(named, hosts)
        raise Failure(
            "bad_request",
            f"The host '{named}' in 'restart_canary' is none of this play's{': meant is ' + ' or '.join(near) if near else ''}; "
            "name one of them, or give true for the first.",
        )
    out = [server for server in servers if is_out(server[0], fleets)]
    rest = [server for server in servers if server not in out]

    def is_named(server: Server) -> bool:
        return named in [m.host for m in server]

    order = [server for part in (out, rest) for server in sorted(part, key=lambda one: not is_named(one))]
    alone = [server for server in order if is_named(server) or (canary and server is order[0])]
    return _cut(order, alone, _sizes(serial, len(servers)))


def is_out(member: Member, fleets: t.Mapping[str, Fleet]) -> bool:
    """Whether its router sends *member* nothing now."""
    return bool(member.router_url) and not fleets[member.router_url].serves(member.worker_url)


def _cut(order: t.Sequence[Server], alone: t.Sequence[Server], sizes: t.Iterator[int]) -> list[list[Member]]:
    batches: list[list[Member]] = []
    room = 0
    for server in order:
        if server in alone:
            batches.append([*server])
            room = 0
        elif room:
            batches[-1].extend(server)
            room -= 1
        else:
            batches.append([*server])
            room = next(sizes) - 1
    return batches


def _sizes(serial: t.Any, servers: int) -> t.Iterator[int]:
    """As Ansible's ``serial``: a number, a percentage of the servers, or a list of these whose last one goes on."""
    wanted = list(serial) if isinstance(serial, (list, tuple)) else [serial]
    sizes = []
    for one in wanted or [1]:
        text = str(one).strip()
        number = text[:-1] if text.endswith("%") else text
        if not number.isdigit() or not int(number):
            raise Failure(
                "bad_request", f"'{one}' in 'restart_serial' is no number of servers and no percentage of them."
            )
        sizes.append(max(int(number) * servers // 100, 1) if text.endswith("%") else int(number))
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
