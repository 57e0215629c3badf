# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What a start or restart of a unit costs now: how long it usually takes, and which requests it ends."""

from __future__ import annotations

import time
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._http_client import HttpClient, HttpError
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import expand_words
from ansible_collections.llmops.sglang.plugins.module_utils._running_requests import of_get_load, of_loads, of_metrics
from ansible_collections.llmops.sglang.plugins.module_utils._start_times import StartTimes, configuration_key
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager


class RunningRequests(t.NamedTuple):
    """Requests that run or wait; ``None`` with the reason where that could not be read.

    answered: whether it answered and yet told nothing; to ask again is in vain then.
    """

    count: t.Optional[int]
    unknown_because: str = ""
    answered: bool = False


def next_command_line(manager: Manager, name: str, running: t.Sequence[str], up_to_date: bool) -> list[str]:
    """What the unit's next process will be started with.

    :arg running: the command line of the process that runs; it stays the same where that is *up_to_date*.
    """
    if running and up_to_date:
        return list(running)
    return expand_words(manager.exec_start(name), manager.environment(name))


def ask_running(client: HttpClient, timeout: float, clock: t.Callable[[], float] = time.monotonic) -> RunningRequests:
    """Ask the routes one after the other, together for no longer than *timeout* seconds."""
    deadline = clock() + timeout
    reason, answered = "", False
    for path, read in (("/v1/loads", of_loads), ("/get_load", of_get_load), ("/metrics", None)):
        left = deadline - clock()
        if left <= 0:
            break
        try:
            answer = client.send("GET", path, timeout=left)
            answered = answered or answer.status < 500
            if answer.ok:
                count = read(answer.json()) if read else of_metrics(answer.body.decode("utf-8", "replace"))
                if count is not None:
                    return RunningRequests(count)
            elif answer.status in (401, 403):
                reason = reason or "it wants a key: give 'api_key' or 'api_key_file'"
        except HttpError as exc:
            if exc.kind != "bad_answer":
                return RunningRequests(None, _why(exc, client.base_url, timeout))
    return RunningRequests(None, reason or "none of its routes tells it", answered)


def _why(exc: HttpError, url: str, timeout: float) -> str:
    if exc.kind == "refused":
        return f"nothing listens at {url}"
    if exc.kind == "timeout":
        return f"it did not answer within {timeout:g} s"
    return f"its answer failed ({exc.kind})"


def restart_cost(
    name: str, argv: t.Sequence[str], times: StartTimes, runs: bool, requests: RunningRequests
) -> dict[str, t.Any]:
    """``usual_elapsed`` in seconds, ``usual_from``, ``running_requests``, and all of it in one sentence.

    :arg argv: see :func:`next_command_line`; empty where there is no unit yet.
    :arg runs: whether the unit has a process now; without one no request is lost.
    """
    usual = times.expected(configuration_key(name, argv)) if argv else None
    source: t.Optional[str] = "this configuration" if usual is not None else None
    if usual is None:
        usual = times.of_host()
        source = "this host" if usual is not None else None
    count = requests.count if runs else 0
    return {
        "usual_elapsed": usual,
        "usual_from": source,
        "running_requests": count,
        "msg": f"a {'restart' if runs else 'start'} follows, {_duration(usual, source)}; {_requests(runs, requests)}",
    }


def _duration(usual: t.Optional[float], source: t.Optional[str]) -> str:
    if usual is None:
        return "and no start on this host was timed yet"
    text = f"{usual:.0f}" if usual >= 10 else f"{usual:g}"
    return f"usually {text} s" + (" (by all starts on this host)" if source == "this host" else "")


def _requests(runs: bool, requests: RunningRequests) -> str:
    if not runs:
        return "nothing runs now"
    if requests.count is None:
        return f"how many requests are running could not be read: {requests.unknown_because}"
    one = requests.count == 1
    return f"{requests.count or 'no'} request{'' if one else 's'} {'is' if one else 'are'} running now"
