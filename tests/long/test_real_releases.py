# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The main job, and the way back from a failed start, on real releases from before changes of DFLASH's flags.

``make test-real`` has 0.5.15.post1 and the newest one; ``tests/real/README.md`` tells which releases can run here.
"""

from __future__ import annotations

import dataclasses
import time

import pytest
from lane import DFLASH, HOST, PLAIN, SERVERS_IN_HOST
from real_host import real_host

OLD, NEW = "--speculative-dflash-draft-window-size", "--speculative-draft-window-size"
FEW = {
    "benchmark_matrix": {
        "contexts": [60],
        "concurrency": [1],
        "requests": 2,
        "warmup": 0,
        # 17 tokens are one of the prefill and 4 whole blocks of 4.
        "max_tokens": 17,
        "max_cached_share": 0.1,
    },
    "benchmark_coding": {"task_names": ["fib"], "max_tokens": 16},
}
NOT_MEASURED = {"benchmark_matrix": False, "benchmark_coding": False}
SPECULATION = {"algorithm": "DFLASH", "draft_model_path": "{{ models }}/draft", "draft_window_size": 2048}


@dataclasses.dataclass(frozen=True)
class Release:
    """One release: the flag of DFLASH's window in its unit, where it runs that here, and flags of others, which it refuses."""

    version: str
    window: str
    refused: tuple[str, ...]
    # Whether its counters tell of verify steps, from which the benchmark knows the acceptance.
    counts: bool = True

    @property
    def unit(self):
        return f"sglang-{self.version}"

    def play(self, lane, name, **variables):
        return lane.play(
            name,
            DFLASH if self.window else PLAIN,
            server_name=self.unit,
            server_python=f"{SERVERS_IN_HOST}/sglang-{self.version}/bin/python",
            stand_ins="torchvision,IPython,sgl_kernel",
            **variables,
        )


# Of each: what came with a later release, or was gone by then.
RELEASES = (
    Release("0.5.10.post1", "", (OLD, "--speculative-dflash-block-size")),
    Release("0.5.11", OLD, (NEW,), counts=False),
    Release("0.5.12.post1", NEW, ("--speculative-use-rejection-sampling",), counts=False),
    Release("0.5.13.post1", NEW, ("--speculative-use-rejection-sampling",)),
    Release("0.5.14", NEW, ("--speculative-dspark-block-size",)),
    Release("0.5.18", "", ("--speculative-domino-candidate-pool-size",)),
    Release("0.5.19", "", ("--speculative-domino-candidate-pool-size",)),
    Release("0.5.20", "", (OLD, "--speculative-draft-sink-size")),
    Release("0.5.22", "", (OLD,)),
)


@pytest.fixture(scope="module")
def lane(tmp_path_factory):
    with real_host(tmp_path_factory.mktemp("real"), [f"sglang-{release.version}" for release in RELEASES]) as made:
        yield made


@pytest.fixture(params=RELEASES, ids=lambda release: release.version)
def release(request, lane):
    yield request.param
    play = request.param.play(lane, "site", server_state="absent")
    assert play.returncode == 0, play.text
    assert lane.processes(request.param.unit) == {}


def proved(lane, release, play):
    """A play proved and measured a server with DFLASH, or one without."""
    assert play.of("wait_for_generation")["ok"] and play.of("journal_assert")["ok"]
    (cell,) = play.of("benchmark_matrix")["cells"]
    assert (cell["valid"], cell["succeeded"]) == (True, 2)
    asked = {"name": release.unit, "api": "generate", "max_tokens": 17, "successes": 1, "degenerate_output": "ignore"}
    told = lane.module("wait_for_generation", **asked)
    assert told["ok"]
    if not release.window:
        assert (cell["acceptance_length"], told["acceptance_length"]) == (None, None)
        return
    (proof,) = (one for one in play.of("journal_assert")["results"] if one["title"] == "draft runner")
    assert "Initialized DFLASH draft runner." in proof["line"]
    assert (proof["fields"]["draft_window_size"], proof["fields"]["compact_cache"]) == (2048, True)
    assert (cell["acceptance_length"], told["acceptance_length"]) == (4.0 if release.counts else None, 4.0)


def deployed(lane, release):
    play = release.play(lane, "site", **FEW)
    assert play.returncode == 0, play.text
    assert play.of("server_unit")["sglang_version"] == release.version
    command = lane.shell(f"systemctl cat {release.unit}")
    assert [flag for flag in (OLD, NEW) if f"{flag} 2048" in command] == [release.window] * bool(release.window)
    proved(lane, release, play)
    again = release.play(lane, "site", **NOT_MEASURED)
    assert (again.returncode, again.recap()["changed"]) == (0, 0), again.text


def refused(lane, release):
    """Nothing that another release takes, and nothing that this one takes on a GPU alone, reaches the server."""
    changes = [({"server_extra_args": [flag, "2048"]}, "unknown_flag", flag) for flag in release.refused]
    if not release.window:
        changes.append(({"server_speculative": {**SPECULATION, "draft_model_path": "/srv"}}, "rule_violated", "DFLASH"))
    before = lane.show(release.unit, "InvocationID"), lane.shell(f"systemctl cat {release.unit}")
    for change, failure_class, word in changes:
        play = release.play(lane, "site", **change)
        assert play.returncode != 0 and play.failure["failure_class"] == failure_class, play.text
        assert word in play.failure["msg"] and release.version in play.failure["msg"]
    assert before == (lane.show(release.unit, "InvocationID"), lane.shell(f"systemctl cat {release.unit}"))


def failed_and_back(lane, release):
    """Its scheduler dies over a model that no release has, which each says in words of its own; then the way back."""
    change = ["--json-model-override-args", '{"architectures": ["NoSuchModel"]}']
    play = release.play(lane, "site", server_extra_args=change, server_rollback=False)
    assert play.returncode != 0 and play.failure["failure_class"] == "model_load_failed", play.text
    back = release.play(lane, "rollback")
    assert back.returncode == 0 and back.of("wait_for_generation")["ok"], back.text
    assert "NoSuchModel" not in lane.shell(f"systemctl cat {release.unit}")


def test_the_main_job_and_the_way_back(lane, release):
    begun = time.monotonic()
    deployed(lane, release)
    refused(lane, release)
    failed_and_back(lane, release)
    for name in ("verify", "restart", "diagnose"):
        play = release.play(lane, name)
        assert play.returncode == 0, play.text
    play = release.play(lane, "benchmark", **FEW)
    assert play.returncode == 0, play.text
    proved(lane, release, play)
    print(f"{release.version} on {HOST}: {time.monotonic() - begun:.0f} s")
