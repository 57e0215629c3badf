# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A review tells in words what would change and what it costs, and writes nothing; tests/long has every playbook and more hosts."""

from __future__ import annotations

from reviewed_server import ReviewedServer


def test_a_drifted_host_is_reviewed_in_words_and_left_as_it_is(hosts, tmp_path):
    server = ReviewedServer(
        hosts, tmp_path, server_name="sglang-review", server_args={"model_path": "org/model", "port": 4331}
    )
    server.deploy()
    wanted = {**server.vars["server_args"], "max_running_requests": 6}
    done = server.review("site", server_args=wanted)
    assert done.returncode == 0, done.said
    assert "  max_running_requests: 6 is new\n  What runs was started otherwise: a restart is needed." in done.stdout
    assert "sglang-review.service: would be restarted: an earlier task would change its unit" in done.stdout
    assert "sglang-review: a restart follows, " in done.stdout and "no requests are running now" in done.stdout
    assert done.changed == "2"
