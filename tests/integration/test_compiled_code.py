# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts that keep compiled code run the code that was sent, whatever was kept before."""

from __future__ import annotations

KEPT = "/run/test-host-code"


def ping(hosts, **options):
    return hosts.run_module("host2", "ansible.builtin.ping", {"data": "pong"}, **options)["ping"]


def names(hosts):
    return hosts.ssh("host2", f"ls {KEPT}").stdout.split()


def test_what_is_kept_is_used_and_what_is_damaged_is_not(hosts):
    # Other tests on this host had other modules.
    hosts.ssh("host2", f"rm -rf {KEPT}")
    assert ping(hosts) == "pong"
    before = names(hosts)
    assert len(before) > 5 and not [name for name in before if "." in name]
    times = f"cd {KEPT} && stat -c %Y {' '.join(before)}"
    written = hosts.ssh("host2", times).stdout
    assert ping(hosts) == "pong" and ping(hosts, user="operator") == "pong"
    assert hosts.ssh("host2", times).stdout == written
    hosts.ssh("host2", f"cd {KEPT} && for file in *; do head -c 40 $file > cut && mv cut $file; done")
    assert ping(hosts) == "pong"
    assert min(int(size) for size in hosts.ssh("host2", f"cd {KEPT} && stat -c %s *").stdout.split()) > 40
