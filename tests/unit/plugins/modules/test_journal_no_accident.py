# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must not pass by accident: questions that ask nothing, rows of somebody else, starts of which a part is gone."""

from __future__ import annotations

import pytest

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.tests.unit.journal_host import OLD, UNIT, one


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"expect": [], "must_not_match": [], "preset": []},
        {"expect": [{"contains": ""}]},
        {"expect": [one("")]},
        {"must_not_match": [""]},
        {"expect": [one(count=1, min_count=2)]},
        {"expect": [one(count=1, max_count=0)]},
    ],
)
def test_a_question_that_asks_nothing_or_two_things_at_once(host, options):
    with pytest.raises(Failure) as failure:
        host.ask(**options)
    assert failure.value.failure_class == "rule_violated"


def test_another_name_of_the_unit(host):
    host.properties["Id"] = UNIT
    result = host.ask(name="nickname", preset=["dflash"], must_not_match=["never"])
    assert result["ok"], result["msg"]
    assert host.ask(name="nickname", invocation="previous", expect=[one()])["invocation_id"] == OLD
