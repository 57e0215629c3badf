# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The looks at a node of rank 1 or more, which never generates: whether its ranks are loaded.

SGLang serves its health route there, which is always 200, once all schedulers of the host are ready (engine.py,
_launch_subprocesses; the same from 0.5.6 to 0.5.23). That its process answers is therefore what tells.
"""

from __future__ import annotations

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._wait_options import Verdict
from ansible_collections.llmops.sglang.plugins.module_utils._wait_probes import HEALTH_TIMEOUT, SHORTEST_GAP, Probes


class NodeProbes(Probes):
    """Asks the health route where the others generate."""

    def step(self, now: float, deadline: float) -> None:
        """Begin the next look when it is due, or take what the one under way was told. Raises Verdict at the end."""
        memory = self.memory
        if self._health is not None:
            said = self._health.wait(0)
            if said is not None:
                self._health = None
                self._told(said, now)
        elif not memory.listening:
            if now >= memory.next_probe:
                self._failed("refused", "connection_refused", self.looks.host.nobody(), now)
        elif now >= memory.next_probe and now < deadline and self.looks.may_probe():
            self._health = self.prober.start_health(self.options.health_path or "/health", HEALTH_TIMEOUT)

    def health(self, now: float) -> None:
        """The step itself looks at that route."""

    def _told(self, said: str, now: float) -> None:
        memory = self.memory
        memory.health = said
        if said != "200":
            self._failed("not_ready", "server_error", f"Its health route said {said}.", now)
            memory.next_probe, memory.stage = now + SHORTEST_GAP, f"listening, its health route said {said}"
            return
        before = (memory.invocation_id, memory.main_pid)
        memory.reach("first_http_answer", now)
        self.looks.unit(now, force=True)
        self.looks.port(now, force=True)
        if (memory.invocation_id, memory.main_pid) != before or not self.looks.may_probe():
            self._failed("not_ready", "foreign_listener", "An answer came from a process that is not the unit's.", now)
            return
        memory.last_class = ""
        memory.reach("ready", now)
        memory.stage, memory.detail = "ranks loaded", ""
        raise Verdict("")


def refuse_other_rank(name: str, until: str, rank: int | None, nodes: int) -> None:
    """Refuse to take one kind of node for the other.

    :arg rank: of the unit's command line; ``None`` where there is none to read.
    :raises Failure: ``route_not_found`` for a node that never generates, ``bad_request`` for one that has to.
    """
    if rank is None:
        return
    if until == "generation" and rank > 0:
        raise Failure(
            "route_not_found",
            f"The unit '{name}' is node rank {rank} of {nodes} of its server, which has no generation route: wait on the host of "
            "rank 0, or with 'until: node' until the ranks of this host are loaded.",
        )
    if until == "node" and rank == 0:
        raise Failure(
            "bad_request",
            f"The unit '{name}' is rank 0 of its server or alone, and only a generation proves it: leave 'until' out.",
        )
