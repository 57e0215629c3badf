# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The limit on the time of a piece of pure Python."""

from __future__ import annotations

import re
import signal
import threading
import time

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._time_limit import TimeLimitExceeded, cpu_time_limit


@pytest.fixture(autouse=True)
def untouched():
    """Nothing of a limit is left behind it."""
    before = [signal.getsignal(number) for number in (signal.SIGVTALRM, signal.SIGALRM)]
    yield
    assert [signal.getsignal(number) for number in (signal.SIGVTALRM, signal.SIGALRM)] == before
    assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] == signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_a_search_that_never_ends_is_ended():
    with pytest.raises(TimeLimitExceeded), cpu_time_limit(0.05):
        re.search("^(a+)+$", "a" * 60 + "!")


def test_waiting_takes_no_processor_time_and_counts_where_there_is_a_deadline():
    with cpu_time_limit(0.05):
        time.sleep(0.1)
    with pytest.raises(TimeLimitExceeded), cpu_time_limit(60, elapsed=0.05):
        time.sleep(60)


def test_an_error_of_the_body_is_its_own():
    with pytest.raises(ZeroDivisionError), cpu_time_limit(60, elapsed=60):
        1 / 0  # noqa: B018


def test_elsewhere_than_in_the_main_thread_there_is_no_limit():
    done = []

    def work():
        with cpu_time_limit(0.001, elapsed=0.001):
            time.sleep(0.05)
            done.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done
