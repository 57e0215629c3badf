# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server whose playbooks are only reviewed: run with --check --diff, which may write nothing anywhere."""

from __future__ import annotations

import host_snapshot
from deployed_server import DeployedServer
from host_set import REPOSITORY

# Sets up AWX and no host.
PLAYBOOKS = sorted(path.stem for path in (REPOSITORY / "playbooks").glob("*.yml") if path.stem != "awx")


class ReviewedServer(DeployedServer):
    """With all that each playbook wants; what they write to on the controller lies where it does by default."""

    LONGEST = 3600

    def __init__(self, hosts, folder, **more):
        matrix = {"contexts": [60], "concurrency": [1], "max_tokens": 16, "requests": 2}
        points = [{"name": "fewer", "args": {"max_running_requests": 4}}]
        super().__init__(hosts, folder, **{"benchmark_matrix": matrix, "sweep_points": points, **more})
        # Here, so that a snapshot before the first review has it.
        (folder / "inventory.yml").touch()
        self.seen = None

    def look(self):
        """All that is there; what the tests themselves write is left out."""
        found = host_snapshot.snapshot(self.hosts, "host1", self.folder, self.hosts.inventory.parent)
        for path in (self.folder / "inventory.yml", self.folder):
            found["controller"].pop(str(path), None)
        # Where a play that knows no inventory's directory writes.
        found["controller"]["playbooks"] = sorted(path.name for path in (REPOSITORY / "playbooks").iterdir())
        return found

    def review(self, playbook, *words, **changed):
        """Review with *changed* variables, and see that nothing is another thing afterwards."""
        before = self.look()
        done = self.run(playbook, "--check", "--diff", *words, **changed)
        written = host_snapshot.differences(before, self.look())
        assert written == [], written
        return done

    def reviews(self, playbooks=tuple(PLAYBOOKS), *words, **changed):
        """Review with several playbooks; what each of them said, by its name. None may fail."""
        before, said = self.look(), {}
        for playbook in playbooks:
            done = self.run(playbook, "--check", "--diff", *words, **changed)
            assert done.returncode == 0, done.said
            after = self.look()
            written = host_snapshot.differences(before, after)
            assert written == [], (playbook, written)
            before, said[playbook] = after, done
        return said
