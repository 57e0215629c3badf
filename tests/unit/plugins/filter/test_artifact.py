# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing that a job hands on is a template in the next one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.filter.artifact import FilterModule, artifact

BRACES = st.text(alphabet="{%#}a ", max_size=12)
TOLD = st.recursive(
    BRACES | st.none() | st.booleans() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(BRACES, inner, max_size=3),
    max_leaves=8,
)


def texts(value):
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.items() for part in item for text in texts(part)]
    return [text for item in value for text in texts(item)] if isinstance(value, list) else []


@given(TOLD)
def test_no_text_opens_a_template_and_only_spaces_are_added(value):
    told = artifact(value, "host1")["host1"]
    assert not [text for text in texts(told) for opening in ("{{", "{%", "{#") if opening in text]
    before, after = texts(value), texts(told)
    # Keys that become equal are one key.
    if len(before) == len(after):
        assert [text.replace(" ", "") for text in before] == [text.replace(" ", "") for text in after]


@pytest.mark.parametrize("value", [None, 3, 2.5, True, [], {}, "plain { text }", {"a": [1, {"b": "c"}]}])
def test_what_is_no_template_stays_as_it_is(value):
    assert FilterModule().filters()["artifact"](value, "host1") == {"host1": value}


def test_three_braces_are_parted_as_well():
    assert artifact("{{{ x }}}", "h") == {"h": "{ { { x }}}"}
