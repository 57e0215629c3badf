# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""restart.yml over two hosts behind a real router; tests/long has eight of them, and the ways to fail."""

from __future__ import annotations

from load_client import LoadClient
from rolling_fleet import Fleet, strict_router


def test_a_rolling_restart_loses_no_request(hosts, tmp_path):
    """The first run brings the servers up and into the router, the second one restarts them under load."""
    with strict_router(tmp_path) as router:
        fleet = Fleet(hosts, tmp_path, router)
        first = fleet.restart(restart_serial=2)
        assert first.returncode == 0, first.said
        assert fleet.in_service() == hosts.names
        # Given by hand, and to be found there again.
        preferred = fleet.worker("host1")
        router.put(tmp_path, preferred, "absent")
        router.put(tmp_path, preferred, "present", registration={"priority": 70})
        before = fleet.invocations()
        with LoadClient(router.url, streams=4) as client:
            second = fleet.restart(restart_min_available=1, restart_canary="host2")
        assert second.returncode == 0, second.said
        assert client.lost == []
        assert client.whole["stream"] > 0 and client.whole["answer"] > 0
        assert router.worker(preferred)["priority"] == 70
        after = fleet.invocations()
        assert all(after[host] != before[host] for host in hosts.names)
        assert fleet.in_service() == hosts.names
        assert second.said.index("step 1: host2") < second.said.index("step 2: host1")
