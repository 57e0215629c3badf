# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What check mode tells of kept configurations, in words and without a write."""

from __future__ import annotations

import json

import kept_host
import pytest
from kept_host import KEY

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure

host = kept_host.host


def test_check_mode_tells_and_writes_nothing(host):
    host.old()
    assert host.history(True).recorded(True, "")["changed"]
    assert not host.state.exists()
    host.history().recorded(True, "")
    new = host.new()
    kept = sorted((p, p.lstat().st_mtime_ns) for p in host.state.rglob("*"))
    told = host.history(True).restored("last_good")
    assert told["changed"] and told["restored"] and "ExecStart=/bin/new" in json.dumps(told["diff"])
    assert host.history(True).recorded(True, "x")["changed"]
    assert host.history(True).absent("")["changed"]
    assert host.tree() == new and host.manager.reloads == 0
    assert sorted((p, p.lstat().st_mtime_ns) for p in host.state.rglob("*")) == kept


def test_a_review_goes_on_where_nothing_is_kept_and_not_over_a_name_that_is_wrong(host):
    host.old()
    for to in ("last_good", "previous"):
        reviewed = host.history(True)
        told = reviewed.restored(to)
        assert not told["changed"] and told["restored"] is None
        assert "configuration that worked is kept" in reviewed.warnings[0] and "this fails" in reviewed.warnings[0]
        with pytest.raises(Failure, match="configuration that worked is kept"):
            host.history().restored(to)
    with pytest.raises(Failure, match="no kept configuration 'befor'"):
        host.history(True).restored("befor")


def test_what_a_restore_means_is_told_in_words(host):
    host.old()
    host.history().recorded(True, "")
    host.new()
    host.manager.exec_start = lambda name: ["python", "-m", "sglang.launch_server", "--port", "1", "--tp-size", "2"]
    (said,) = [
        one["prepared"]
        for one in host.history(True).restored("last_good")["diff"]
        if "In words" in one.get("prepared", "")
    ]
    assert "  port: 1 becomes 4711\n  tp_size: 2 goes\n" in said and KEY not in said, said
