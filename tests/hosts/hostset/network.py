# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The set's network: one interface on this machine whose other end, the bridge and all hosts vanish with the set.

The bridge lives in the set's own network namespace. The machine only sees one leg of a veth pair, which the kernel
removes together with that namespace, however the set ends.
"""

from __future__ import annotations

import ipaddress
import json
from typing import Dict, List

from .command import run
from .settings import HostsError

BRIDGE = "hosts"
UPLINK = "machine"
# RFC 2544's range for tests between devices: no site and no VPN routes it.
NETWORKS = [ipaddress.IPv4Network(f"198.18.{third}.0/24") for third in range(256)]


def interface_of(network: ipaddress.IPv4Network) -> str:
    return f"hosts-{network.network_address.packed[2]}"


def noted_interface(network: ipaddress.IPv4Network) -> str:
    """ "NAME INDEX": the index tells this interface from a later one of the same name."""
    name = interface_of(network)
    with open(f"/sys/class/net/{name}/ifindex", encoding="utf-8") as index:
        return f"{name} {index.read().strip()}"


def gateway_of(network: ipaddress.IPv4Network) -> str:
    return str(network.network_address + 1)


def addresses(network: ipaddress.IPv4Network, hosts: List[str]) -> Dict[str, str]:
    return {host: str(network.network_address + 10 + index) for index, host in enumerate(hosts)}


def connect_machine(namespace_pid: int) -> ipaddress.IPv4Network:
    """Take the first free network and lay its leg from here to the network namespace of NAMESPACE_PID."""
    used = _networks_in_use()
    for network in NETWORKS:
        if any(network.overlaps(other) for other in used):
            continue
        leg = interface_of(network)
        added = run(
            ["ip", "link", "add", leg, "type", "veth", "peer", "name", UPLINK, "netns", str(namespace_pid)], check=False
        )
        if added.returncode == 0:
            run(["ip", "address", "add", f"{gateway_of(network)}/{network.prefixlen}", "dev", leg])
            # A machine that forwards (docker makes it so) must not let sets meet or hosts out.
            with open(f"/proc/sys/net/ipv4/conf/{leg}/forwarding", "w", encoding="ascii") as forwarding:
                forwarding.write("0")
            run(["ip", "link", "set", leg, "up"])
            return network
        # Another set took the name in the same moment: go on with the next network.
        if "File exists" not in added.stderr:
            raise HostsError(f"The interface {leg!r} could not be made: {' '.join(added.stderr.split())}.")
    raise HostsError(f"No network in 198.18.0.0/16 is free for the hosts: remove one of the {len(NETWORKS)} sets.")


def _networks_in_use() -> List[ipaddress.IPv4Network]:
    found = []
    for link in json.loads(run(["ip", "-json", "-4", "address"]).stdout or "[]"):
        for entry in link.get("addr_info", []):
            found.append(ipaddress.IPv4Network(f"{entry['local']}/{entry['prefixlen']}", strict=False))
    return found


def make_bridge() -> None:
    """Inside the set's network namespace: the bridge that nspawn hangs the hosts on."""
    lines = [
        "link set lo up",
        f"link add {BRIDGE} type bridge",
        f"link set {BRIDGE} up",
        f"link set {UPLINK} master {BRIDGE}",
        f"link set {UPLINK} up",
    ]
    run(["ip", "-batch", "-"], text="\n".join(lines) + "\n")


def parsed(text: str) -> ipaddress.IPv4Network:
    return ipaddress.IPv4Network(text.strip())
