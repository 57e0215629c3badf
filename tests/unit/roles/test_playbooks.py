# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all playbooks have in common."""

from __future__ import annotations

import pathlib

import pytest
import yaml

# Nobody runs awx.yml on a schedule, and no server is in it.
PLAYBOOKS = sorted(
    path for path in (pathlib.Path(__file__).resolve().parents[3] / "playbooks").glob("*.yml") if path.stem != "awx"
)


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_every_play_tells_its_failure_and_fails(path):
    """All that a play does is in blocks, or a failure could pass the hook by."""
    plays = [play for play in yaml.safe_load(path.read_text()) if "ansible.builtin.import_playbook" not in play]
    for play in plays:
        assert not {"roles", "pre_tasks", "post_tasks"} & set(play)
        # Where a play ends is no failure.
        for block in [task for task in play["tasks"] if "ansible.builtin.meta" not in task]:
            told = block["rescue"][-1]
            assert told["ansible.builtin.include_role"]["tasks_from"] == "failed.yml"
            assert told["vars"] == {"server_failure_playbook": path.name}
    assert not plays or "tasks_from: reach.yml" in path.read_text()
