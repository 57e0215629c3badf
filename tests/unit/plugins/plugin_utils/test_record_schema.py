# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The schemas of records: our own check says what jsonschema says, and what the collection writes holds."""

from __future__ import annotations

import copy
import inspect
import json
import pathlib
import re

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils._acceptance import Acceptance
from ansible_collections.llmops.sglang.plugins.module_utils._cell import measures
from ansible_collections.llmops.sglang.plugins.module_utils._cell_run import CellRunner
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._load_generator import Load
from ansible_collections.llmops.sglang.plugins.plugin_utils import _json_schema
from ansible_collections.llmops.sglang.plugins.plugin_utils._json_schema import UnknownKeyword, problems
from ansible_collections.llmops.sglang.plugins.plugin_utils._record_schema import KINDS, matching, read_record, schema
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_page import MEANINGS
from ansible_collections.llmops.sglang.tests.unit.benchmark_record import HOSTILE, cell, coding_record, record

CLONE = pathlib.Path(__file__).resolve().parents[4]
MADE = {"benchmark": record, "coding": coding_record}
JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=3),
    st.lists(st.integers(), max_size=2), st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
)  # fmt: skip


def places(value, path=()):
    """Every place in a JSON value, but for the whole."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in pairs:
        yield (*path, key)
        yield from places(one, (*path, key))


def changed(value, path, change):
    value = copy.deepcopy(value)
    inner = value
    for key in path[:-1]:
        inner = inner[key]
    if change is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = change[0]
    return value


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_is_one(kind):
    jsonschema.Draft202012Validator.check_schema(schema(kind))
    assert schema(kind)["properties"]["schema_version"] == {"const": 1}


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_record_holds(kind):
    assert list(problems(MADE[kind](), schema(kind))) == []
    jsonschema.Draft202012Validator(schema(kind)).validate(MADE[kind]())


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_our_check_agrees_with_jsonschema_whatever_is_wrong(data):
    kind = data.draw(st.sampled_from(KINDS))
    whole = record([cell()]) if kind == "benchmark" else coding_record()
    path = data.draw(st.sampled_from(sorted(places(whole), key=str)))
    broken = changed(whole, path, data.draw(st.one_of(st.none(), st.tuples(JUNK))))
    rules = schema(kind)
    assert (list(problems(broken, rules)) == []) == jsonschema.Draft202012Validator(rules).is_valid(broken), path


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (("cells", 0, "ttft_ms", "mean"), "12", "cells[0].ttft_ms.mean is '12' and must be number or null"),
        (("cells", 0, "valid"), 1, "cells[0].valid is 1 and must be boolean"),
        (("cells", 0, "concurrency"), True, "cells[0].concurrency is True and must be integer or null"),
        (("cells", 0, "errors"), {"http_500": -1}, "cells[0].errors.http_500 is -1 and must be at least 0"),
        (("schema_version",), 2, "schema_version is 2 and must be 1"),
        (("schema_version",), True, "schema_version is True and must be 1"),
        (("cells",), [], "cells has 0 of at least 1 parts"),
        (("run_id",), "", "run_id has 0 of at least 1 parts"),
        (("engine", "caveats"), [HOSTILE * 9, 3], "engine.caveats[1] is 3 and must be string"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path, path, value, told):
    file = tmp_path / "r.json"
    file.write_text(json.dumps(changed(record(), path, (value,))), encoding="utf-8")
    with pytest.raises(Failure) as caught:
        read_record(str(file), "benchmark")
    assert told in caught.value.msg and str(file) in caught.value.msg
    assert caught.value.failure_class == "bad_request" and len(caught.value.msg) < 1000


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it is no JSON"),
        ('{"schema_version": 1', "it is no JSON"),
        ('{"schema_version": NaN}', "NaN is no number of JSON"),
        # It would be infinite, and no figure could be drawn beside it.
        ('{"schema_version": 1, "finished_at": 1e999}', "1e999 is no number"),
        ("[" * 100000, "it is no JSON"),
        ("[]", "the whole is [] and must be object"),
        ("null", "the whole is None and must be object"),
        (b"\xff\xfe", "it is no JSON"),
    ],
)
def test_what_is_no_record_is_refused(tmp_path, text, told):
    file = tmp_path / "r.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(Failure, match=re.escape(told)):
        read_record(str(file), "benchmark")


def test_a_record_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(Failure, match="No such file"):
        read_record(str(tmp_path / "none.json"), "benchmark")


def test_a_keyword_that_is_not_known_is_never_passed_over():
    with pytest.raises(UnknownKeyword, match="maxLength"):
        list(problems("text", {"type": "string", "maxLength": 1}))


def test_numbers_are_those_of_json():
    assert list(problems(3.0, {"type": "integer"})) == []
    assert list(problems(3.5, {"type": "integer"})) != []
    assert list(problems(float("inf"), {"type": "integer"})) != []
    assert list(_json_schema.problems({"a": 1}, {"additionalProperties": False})) == ["a is not known"]


def test_keys_may_be_added():
    """A newer release of the same version writes more."""
    made = record(more={"x": 1})
    made["cells"][0]["more"] = None
    assert list(problems(made, schema("benchmark"))) == []


def test_every_reason_of_a_cell_is_in_the_schema_and_has_its_meaning():
    said = set(re.findall(r'\("([a-z_]+)", ', inspect.getsource(CellRunner._reasons)))
    allowed = schema("benchmark")["$defs"]["cell"]["properties"]["reasons"]["items"]["enum"]
    assert set(allowed) == said == set(MEANINGS)


def test_what_is_measured_is_in_the_schema():
    made = measures(Load(), 512)
    known = schema("benchmark")["$defs"]["cell"]["properties"]
    assert set(made) - set(known) == set()
    assert vars(Acceptance())["source"] in known["acceptance_source"]["enum"]


def test_every_key_of_the_schema_is_documented():
    guide = (CLONE / "docs" / "docsite" / "rst" / "benchmark_record.rst").read_text(encoding="utf-8")
    whole = schema("benchmark")
    keys = [*whole["properties"], *whole["$defs"]["cell"]["properties"], *whole["$defs"]["distribution"]["required"]]
    assert [key for key in keys if f"``{key}``" not in guide] == []


def test_a_pattern_finds_records_and_a_path_itself(tmp_path):
    for name in ("a_1.json", "a_2.json", "a_2.md", "b[1].json"):
        (tmp_path / name).touch()
    found = matching([str(tmp_path / "a_*"), str(tmp_path / "b[1].json"), str(tmp_path / "a_1.json"), "/none"])
    assert [pathlib.Path(path).name for path in found] == ["a_1.json", "a_2.json", "b[1].json"]


@pytest.mark.parametrize("value", ["9" * 400, "[" * 900 + "]" * 900], ids=["number", "nested"])
def test_a_value_that_nobody_can_count_with_is_refused(tmp_path, value):
    path = tmp_path / "r.json"
    path.write_text('{"schema_version": ' + value + "}")
    with pytest.raises(Failure) as caught:
        read_record(str(path), "benchmark")
    assert caught.value.failure_class == "bad_request"
