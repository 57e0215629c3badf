# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files on the controller that a play finds there: states of sweeps, records, tables, metrics, notes."""

from __future__ import annotations

import json
import math
import os
import pathlib
import tempfile

import pytest
from benchmark_record import coding_record, record
from hostile import (
    ANY_BYTES,
    ANY_TEXT,
    JSON_JUNK,
    SCALARS,
    assert_linear,
    fuzz,
    goes_out,
    json_text,
    json_values,
    made_of,
    mutate,
    mutated_json,
    nested,
    or_failure,
)
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.plugin_utils import _metrics_file as metrics_file
from ansible_collections.llmops.sglang.plugins.plugin_utils import _play_process as play_process
from ansible_collections.llmops.sglang.plugins.plugin_utils import _record_history as record_history
from ansible_collections.llmops.sglang.plugins.plugin_utils import _sweep_state as sweep_state
from ansible_collections.llmops.sglang.plugins.plugin_utils._json_schema import problems
from ansible_collections.llmops.sglang.plugins.plugin_utils._node_notes import FAILED, NodeNotes
from ansible_collections.llmops.sglang.plugins.plugin_utils._record_archive import let_go
from ansible_collections.llmops.sglang.plugins.plugin_utils._record_schema import read_record, schema
from ansible_collections.llmops.sglang.plugins.plugin_utils._record_summary import artifact, groups
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_text import escaped, plain
from ansible_collections.llmops.sglang.plugins.plugin_utils._shared_file import read_table, write_shared, write_table
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_expressions import Expression, number_of, unmet
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_points import points_of, valid_alone, worst
from ansible_collections.llmops.sglang.plugins.plugin_utils._sweep_resume import take_over

RUN = {
    "repeat": 1,
    "status": "measured",
    "failure_class": None,
    "msg": "",
    "log_tail": [],
    "record_path": "r.json",
    "start_elapsed": 1.0,
    "coding": {"passed": 1, "total": 2},
}
EVIDENCE = {
    "argv": ["a"],
    "environment_sha256": "e",
    "sglang_version": "0.5.23",
    "benchmark_sha256": "b",
    "inputs_sha256": {"model": "m"},
}
STATE = {
    "format": 1, "name": "s", "host": "h", "repeats": 1, "interleave": False, "owner": {"pid": 1, "started": "x"}, "former": [],
    "points": [{"name": name, "kind": kind, "status": "measured", "overrides": {"args": {}}, "parameters": {"a": 1}, "argv": ["a"],
                "same_as": same, "runs": [RUN], "evidence": EVIDENCE}
               for name, kind, same in (("linear", "baseline_linear", None), ("p", "grid", None), ("q", "grid", "p"))],
}  # fmt: skip
KEYS = (
    "format",
    "points",
    "name",
    "kind",
    "status",
    "runs",
    "repeat",
    "record_path",
    "overrides",
    "parameters",
    "argv",
    "same_as",
    "evidence",
    "coding",
    "passed",
    "total",
    "cells",
    "log_tail",
)
STATES = (
    mutated_json([STATE])
    | json_values(*KEYS)
    | st.fixed_dictionaries({"format": st.just(1), "points": st.lists(json_values(*KEYS, leaves=8), max_size=4)})
)
RECORD = record([record()["cells"][0]])
ANY_FILE = (json_values(*KEYS).map(json_text) | JSON_JUNK | ANY_TEXT).map(
    lambda text: text.encode("utf-8", "surrogatepass")
) | ANY_BYTES


@pytest.fixture(scope="module")
def folder():
    """A directory with a record that is whole."""
    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory, "r.json").write_text(json.dumps(RECORD))
        yield directory


@fuzz(STATES.map(json_text).map(str.encode) | ANY_FILE)
def test_any_state_of_a_sweep_is_read_or_refused(folder, data):
    path = os.path.join(folder, "state.json")
    pathlib.Path(path).write_bytes(data)
    state = or_failure(sweep_state.load, path)
    if isinstance(state, Failure):
        assert state.failure_class == "bad_request"
        goes_out(state.msg)
        return
    for point in points_of(state, folder):
        assert point.status in ("measured", "failed", "rejected", "not_run")
        goes_out([plain(point.name), plain(point.msg), point.log_tail, [plain(problem) for problem in point.problems]])
        # Nothing counts that was not measured.
        assert point.records or all(
            figure is None for figure in (worst(point)["output_tokens_per_second"], worst(point)["ttft_ms"]["p99"])
        )
        assert point.coding is None or point.coding["passed"] >= 0
    entry = {**STATE["points"][1], "runs": [], "same_as": None}
    left, told = take_over([entry], state["points"], folder, False)
    assert all(run["status"] in ("measured", "failed") or isinstance(run["status"], str) for run in entry["runs"])
    assert all(isinstance(sentence, str) for sentence in told) and isinstance(left, list)
    assert play_process.still_runs(state.get("owner")) in (True, False)


@fuzz(
    st.dictionaries(
        st.text(max_size=5), json_values("a", leaves=5).filter(lambda value: "NaN" not in json_text(value)), max_size=3
    )
)
def test_a_state_that_was_written_is_read_back(more):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "n", "state.json")
        sweep_state.begin(path, {**STATE, "more": more})
        found = sweep_state.load(path)
        assert found is not None and found["points"] == STATE["points"]
        with sweep_state.changing(path) as state:
            state["points"][0]["status"] = "failed"
        assert sweep_state.load(path)["points"][0]["status"] == "failed"


@fuzz(ANY_TEXT, ANY_TEXT)
def test_a_state_lies_below_its_folder(name, host):
    path = or_failure(sweep_state.state_path, "/sweeps", name, host)
    assert isinstance(path, Failure) or (
        os.path.normpath(path) == path and path.startswith("/sweeps/") and path.count("/") == 4
    )


@fuzz(
    mutated_json([RECORD, coding_record()]).map(json_text).map(str.encode) | ANY_FILE,
    st.sampled_from(["benchmark", "coding"]),
)
def test_a_record_holds_or_is_refused(folder, data, kind):
    path = os.path.join(folder, "any.json")
    pathlib.Path(path).write_bytes(data)
    found = or_failure(read_record, path, kind)
    if isinstance(found, Failure):
        assert found.failure_class == "bad_request" and len(found.msg) < 3000
        return
    assert not list(problems(found, schema(kind)))
    json.dumps(found, allow_nan=False)
    if kind == "benchmark":
        assert len(json.dumps(artifact(found, path))) < 20_000
        for group in groups(found):
            assert all(
                math.isfinite(number) for figure in ("ttft_ms", "acceptance_length") for number in group.runs(figure)
            )
        valid_alone(found)


@fuzz(
    st.sampled_from([(), ("cells", 0), ("cells", 0, "ttft_ms"), ("options",), ("evidence_after",)]),
    st.sampled_from(["x", "mean", "valid", "run_id", "label"]),
    SCALARS | nested(),
)
def test_a_value_of_another_type_never_holds(place, key, value):
    """Where the schema knows the key."""
    made = json.loads(json.dumps(RECORD))
    one = made
    for step in place:
        one = one[step]
    before = one.get(key) if isinstance(one, dict) else None
    one[key] = value
    wrong = list(problems(made, schema("benchmark")))
    if isinstance(before, bool) and not isinstance(value, bool):
        assert wrong
    if isinstance(before, str) and not isinstance(value, str):
        assert wrong


TABLE = made_of("a,b\n", "1,2\n", "1", ",", '"', "\n", "\r", "\0", "a", "b", "=1", "é") | ANY_TEXT


@fuzz(TABLE, st.lists(st.fixed_dictionaries({"a": SCALARS, "b": SCALARS}), max_size=4))
def test_tables_are_read_and_no_cell_becomes_a_formula(text, rows):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "t.csv")
        pathlib.Path(path).write_bytes(text.encode("utf-8", "surrogatepass"))
        for row in read_table(path, ["a", "b"]):
            assert set(row) == {"a", "b"} and all(isinstance(cell, str) for cell in row.values())
        write_table(path, ["a", "b"], rows)
        found = read_table(path, ["a", "b"])
        assert len(found) == len(rows)
        for row, told in zip(rows, found):
            for name in row:
                assert not isinstance(row[name], str) or not told[name].startswith(("=", "+", "-", "@", "\t", "\r"))


@fuzz(st.lists(st.sampled_from(["0.5", "nan", "inf", "-1", "", "x", "1e999", "²"]), min_size=1, max_size=3))
def test_a_start_whose_time_is_no_number_was_not_seen(words):
    with tempfile.TemporaryDirectory() as directory:
        rows = [
            {**dict.fromkeys(record_history.STARTS_COLUMNS, ""), "ready": word, "unit": "a", "time": "2026"}
            for word in words
        ]
        write_table(os.path.join(directory, record_history.STARTS_FILE), record_history.STARTS_COLUMNS, rows)
        for one in record_history.starts(directory, "a"):
            assert math.isfinite(one["ready"]) and (one["port_bound"] is None or math.isfinite(one["port_bound"]))


@fuzz(
    made_of(
        "llmops_sglang_benchmark_",
        'llmops_sglang_other_a{host="h"} 1\n',
        "# HELP ",
        "{",
        "}",
        "\n",
        "host=",
        '"',
        " 1",
        "\0",
    )
    | ANY_TEXT,
    st.dictionaries(st.sampled_from(["host", "unit"]), ANY_TEXT, min_size=1),
    st.floats(allow_nan=False),
)
def test_metrics_of_others_stay_as_they_are(text, subject, number):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "m.prom")
        pathlib.Path(path).write_bytes(text.encode("utf-8", "surrogatepass"))
        subject = {"host": "h", **subject}
        for dummy in range(2):
            metrics_file.replace(path, "llmops_sglang_benchmark_", {"rate": "tokens"}, subject, [("rate", {}, number)])
        found = pathlib.Path(path).read_bytes().decode()
        own = [line for line in found.split("\n") if line.startswith("llmops_sglang_benchmark_rate{")]
        assert len([line for line in own if line.endswith(f" {number!r}")]) >= 1
        assert found.endswith("\n") and found.count("# TYPE llmops_sglang_benchmark_rate ") == 1


@fuzz(
    ANY_FILE
    | mutated_json([{"state": FAILED, "failure_class": "bad_request", "msg": "x", "log_tail": ["a"]}])
    .map(json_text)
    .map(str.encode)
)
def test_a_note_of_another_node_is_a_failure_or_nothing(data):
    with tempfile.TemporaryDirectory() as directory:
        notes = NodeNotes(directory, {"a": "1f", "b": "2f"}, "a")
        notes.write("waiting")
        pathlib.Path(directory, "llmops-sglang-nodes", "2f").write_bytes(data)
        other = notes.failed()
        assert other is None or (
            other.host == "b" and isinstance(other.msg, str) and all(isinstance(line, str) for line in other.log_tail)
        )
        assert notes.first() == "waiting"


@fuzz(st.lists(ANY_TEXT.map(lambda text: text.replace("/", "").replace("\0", "")[:40].encode("utf-8", "replace").decode())
               | st.sampled_from(["20261129T201618Z_a.json", "20261329T201618Z_a.json", "2026112\u0669T201618Z_a.json", "20261129T201618Z_a.md"]),
               max_size=5), st.integers(0, 2) | st.none(), st.floats(0, 1e5) | st.none())  # fmt: skip
def test_only_records_are_let_go(names, count, days):
    with tempfile.TemporaryDirectory() as directory:
        for name in names:
            if name.strip(".") and not os.path.lexists(os.path.join(directory, name)):
                write_shared(os.path.join(directory, name), b"")
        before = set(os.listdir(directory))
        gone = let_go(directory, count, days, [])
        for name in before - set(os.listdir(directory)):
            assert any(name.startswith(stem) for stem in gone)


@fuzz(
    json_values(*KEYS),
    made_of(
        "a",
        "cells",
        "[]",
        "[0]",
        ".",
        "max(",
        "min(",
        ")",
        "*",
        "|",
        "@",
        "&",
        "`1`",
        "`",
        "'x'",
        "length(",
        "==",
        "<",
        "?",
        "[?",
        "]",
        "sum(",
        "avg(",
    ),
)
def test_any_expression_has_a_number_or_a_reason(document, text):
    expression = or_failure(Expression, text, "sweep_objective")
    if isinstance(expression, Failure):
        assert expression.failure_class == "bad_request"
        return
    value, why = expression.of(document)
    number, reason = number_of(value)
    assert (number is None) == bool(reason) and (number is None or math.isfinite(number))
    # A constraint that cannot be told is not met.
    assert bool(unmet([expression], document)) == (value is not True)
    assert not why or value is None


@fuzz(SCALARS | json_values("a") | nested())
def test_any_value_is_one_plain_line(value):
    text = plain(value)
    text.encode("utf-8")
    assert "\n" not in text and len(text) <= 600
    assert "<" not in escaped(value)


@fuzz(st.integers(0, 2**32), st.integers(1, 3))
def test_a_record_that_was_damaged_is_the_same_or_refused(folder, seed, times):
    path = os.path.join(folder, "damaged.json")
    pathlib.Path(path).write_bytes(mutate(json.dumps(RECORD).encode(), seed, times))
    found = or_failure(read_record, path, "benchmark")
    assert isinstance(found, Failure) or set(RECORD) <= set(found) | {"label"} or found["cells"]


def test_time_grows_with_the_length():
    for piece in ("a", "\u202e", "<", "\n", "&"):
        assert_linear(plain, "", piece)
        assert_linear(escaped, "", piece)
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "t.csv")
        for piece in ("a,b\n", ",", '"', "a"):
            assert_linear(lambda text: (path.write_text(text), read_table(str(path), ["a", "b"])), "a,b\n", piece)
