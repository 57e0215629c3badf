# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that this collection keeps on a host, or finds there, after a lost power, a full disk or somebody's editor."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import pathlib
import tempfile

from benchmark_record import record
from hostile import (
    ANY_BYTES,
    ANY_TEXT,
    FIXTURES,
    JSON_JUNK,
    SCALARS,
    fuzz,
    goes_out,
    json_text,
    json_values,
    mutate,
    mutated_json,
    or_failure,
)
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils._benchmark_record import PartialRecord
from ansible_collections.llmops.sglang.plugins.module_utils._compare_records import mapping, read_sides, usable_number
from ansible_collections.llmops.sglang.plugins.module_utils._drafter import read_drafter
from ansible_collections.llmops.sglang.plugins.module_utils._engine import Job
from ansible_collections.llmops.sglang.plugins.module_utils._engine_guidellm import GuidellmClient
from ansible_collections.llmops.sglang.plugins.module_utils._engine_sglang import SglangClient
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._history_store import Entry, HistoryStore
from ansible_collections.llmops.sglang.plugins.module_utils._kept_configuration import (
    KeptFile,
    key_file,
    load_files,
    read_files,
)
from ansible_collections.llmops.sglang.plugins.module_utils._record_file import record_name, write_atomically
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import read_api_key
from ansible_collections.llmops.sglang.plugins.module_utils._server_inputs import Input, InputMemory, changed_inputs
from ansible_collections.llmops.sglang.plugins.module_utils._start_times import StartTimes, configuration_key

UNIT = "sglang-a.service"
PLACES = st.sampled_from(
    [
        UNIT,
        f"{UNIT}.d",
        f"{UNIT}.d/a.conf",
        f"{UNIT}.secrets",
        f"{UNIT}.secrets/config.yaml",
        f"multi-user.target.wants/{UNIT}",
        "b.service",
    ]
)
BAD_PLACES = st.sampled_from(
    [
        "..",
        "../x",
        "/etc/passwd",
        f"../{UNIT}",
        f"{UNIT}.d/../../x.conf",
        "",
        ".",
        f"a/b/{UNIT}",
        f"{UNIT}.d/\0.conf",
        f"{UNIT}.secrets/x",
        "c.service",
    ]
)


@st.composite
def good_file(draw):
    path = draw(PLACES)
    folder = path in (f"{UNIT}.d", f"{UNIT}.secrets")
    kind = "directory" if folder else "link" if path.endswith((f"wants/{UNIT}", "b.service")) else "file"
    text = draw(ANY_BYTES).decode("utf-8", "surrogateescape")
    return KeptFile(
        path, kind, draw(st.integers(0, 0o7777)), 0, 0, f"/x/{UNIT}" if kind == "link" else "" if folder else text
    )


FILES = st.lists(good_file(), max_size=4).map(lambda files: {one.path: one for one in files})


@fuzz(
    FILES,
    # The module takes no label that is not printable.
    st.text(st.characters(exclude_categories=["Cs"])),
    st.booleans(),
    st.lists(st.text(st.characters(exclude_categories=["Cs"])) | st.just("\udcff"), max_size=3),
)
def test_a_configuration_that_was_kept_is_read_back(files, label, proven, argv):
    with tempfile.TemporaryDirectory() as directory:
        store = HistoryStore(os.path.join(directory, "h"), UNIT)
        with store.locked():
            kept = store.add(Entry("", files, label, proven, argv=argv))
            store.set_target(kept.id)
        again = HistoryStore(os.path.join(directory, "h"), UNIT)
        assert (again.entries(), again.damaged, again.target()) == ([kept], [], kept.id)
        path = key_file(files, UNIT)
        assert path is None or path in files


@fuzz(st.integers(0, 2**32), st.integers(1, 4), FILES)
def test_damage_costs_one_configuration_and_never_alters_it(seed, times, files):
    with tempfile.TemporaryDirectory() as directory:
        store = HistoryStore(directory, UNIT)
        kept = [store.add(Entry("", files, label)) for label in ("a", "b")]
        path = pathlib.Path(directory, f"{kept[1].id}.json")
        whole = path.read_bytes()
        path.write_bytes(mutate(whole, seed, times))
        found = store.entries()
        assert kept[0] in found and all(one in kept for one in found)
        assert len(found) + len(store.damaged) == 2


@fuzz(
    st.dictionaries(
        st.sampled_from([f.name for f in dataclasses.fields(Entry)] + ["format", "x"]),
        json_values("path", "kind", leaves=6),
        max_size=8,
    ),
    st.booleans(),
)
def test_a_configuration_of_any_types_is_whole_or_left_out(fields, good_format):
    with tempfile.TemporaryDirectory() as directory:
        if good_format:
            fields = {"files": [], **fields, "format": 1}
        body = json_text(fields)
        path = pathlib.Path(directory, "20261129T201618Z.json")
        path.write_text(hashlib.sha256(body.encode()).hexdigest() + "\n" + body)
        store = HistoryStore(directory, UNIT)
        for one in store.entries():
            assert (
                isinstance(one.label, str)
                and isinstance(one.sequence, int)
                and all(isinstance(word, str) for word in one.argv)
            )
            assert (one.proven in (True, False)) and one.id == "20261129T201618Z"
        assert all(one.isprintable() or one for one in store.damaged)
        store.add(Entry("", {}))
        store.prune()


@fuzz(
    st.binary(max_size=50)
    | st.sampled_from(
        [
            b"20261129T201618Z\n",
            b"20261129T201618Z-2",
            b"../x",
            b"20261129T201618Z\n\n/x",
            "2026112\u0669T201618Z".encode(),
        ]
    )
)
def test_a_target_is_an_id_or_nothing(data):
    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory, "target").write_bytes(data)
        target = HistoryStore(directory, UNIT).target()
        assert target == "" or (target.isascii() and "/" not in target and "\n" not in target)


KEPT = st.lists(
    st.fixed_dictionaries({"path": PLACES | BAD_PLACES | SCALARS, "kind": st.sampled_from(["file", "link", "directory"]) | SCALARS},
                          optional={"mode": SCALARS, "uid": SCALARS, "gid": SCALARS, "text": ANY_TEXT | SCALARS, "x": SCALARS}), max_size=3)  # fmt: skip


@fuzz(KEPT | json_values("path", "kind", "mode"))
def test_no_file_of_another_place_is_ever_put_back(data):
    found = or_failure(
        load_files, data, UNIT, allowed=(ValueError, TypeError, KeyError, AttributeError, RecursionError)
    )
    if isinstance(found, dict):
        for path, kept in found.items():
            assert path == kept.path and ".." not in path.split("/") and not path.startswith("/") and "\0" not in path
            assert UNIT in path or (kept.kind == "link" and kept.text.endswith(UNIT))
            assert kept.kind in ("file", "link", "directory") and 0 <= kept.mode < 2**32


@fuzz(
    st.dictionaries(st.sampled_from([UNIT, "a.conf", "10-x.conf", "b.conf.orig"]), st.binary(max_size=40), max_size=4)
)
def test_files_are_kept_byte_for_byte(contents):
    with tempfile.TemporaryDirectory() as directory:
        os.mkdir(os.path.join(directory, f"{UNIT}.d"))
        for name, data in contents.items():
            pathlib.Path(directory, name if name == UNIT else f"{UNIT}.d/{name}").write_bytes(data)
        kept = read_files(directory, UNIT)
        for name, data in contents.items():
            path = name if name == UNIT else f"{UNIT}.d/{name}"
            assert (
                (kept[path].text.encode("utf-8", "surrogateescape") == data)
                if name.endswith((".conf", UNIT))
                else path not in kept
            )
        dumped = json.loads(json.dumps([one.dump() for one in kept.values()]))
        assert load_files(dumped, UNIT) == kept


ANY_FILE = (
    json_values("a", "sha256", "variables", "command", "invocation_id").map(json_text) | JSON_JUNK | ANY_TEXT
).map(lambda text: text.encode("utf-8", "surrogatepass")) | ANY_BYTES


@fuzz(
    ANY_FILE
    | st.dictionaries(ANY_TEXT, st.lists(SCALARS, max_size=12), max_size=4).map(
        lambda value: json.dumps(value).encode()
    ),
    st.floats(0.001, 9e5),
)
def test_start_times_are_a_comfort_whatever_their_file_holds(data, seconds):
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "start-times.json")
        path.write_bytes(data)
        times = StartTimes(str(path))
        for told in (times.of_host(), times.expected("a"), times.expected("x")):
            assert told is None or 0 <= told < 1e6
        key = configuration_key(UNIT, ["a", "\udcff"])
        assert times.knows(UNIT) is False
        assert times.add(key, seconds) and times.knows(UNIT)
        assert times.expected(key) == round(round(seconds, 3), 1)
        assert times.forget(UNIT) and not times.knows(UNIT)


@fuzz(ANY_FILE, st.sampled_from(["", "abc"]))
def test_what_a_process_began_with_is_known_or_not(data, invocation):
    with tempfile.TemporaryDirectory() as base:
        memory = InputMemory(UNIT, "system", base)
        path = pathlib.Path(memory.path)
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
        kept = memory.read()
        inputs = {"model": Input("ab", 1.0)}
        changed_inputs(inputs, 2.0, invocation, kept)
        assert all(isinstance(name, str) for name in kept.get("variables") or ())
        memory.write("new", inputs, "digest", ["A"])
        assert memory.read()["sha256"] == {"model": "ab"}


@fuzz(ANY_TEXT, ANY_TEXT, st.floats(0, 4e9))
def test_a_record_has_a_name_of_a_file(label, run_id, moment):
    name = record_name(label, run_id.replace("/", "").replace("\0", ""), moment)
    assert "/" not in name and "\0" not in name and not name.startswith(".") and len(name) < 150


@fuzz(ANY_BYTES, ANY_BYTES)
def test_a_file_is_the_old_one_or_the_new_one(old, new):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "record")
        for data in (old, new):
            write_atomically(path, data)
            assert pathlib.Path(path).read_bytes() == data
        assert os.listdir(directory) == ["record"]


PARTIAL = mutated_json([{"schema_version": 1, "cells": [{"cell_id": "a", "valid": True}], "learnt": {}}]).map(json_text)
ROW = (
    st.sampled_from(['{"cell_id": "a"}', '{"cell_id": ["a"]}', "[]", "5", '"cell_id"', "null", '{"cell_id": "b"}'])
    | ANY_TEXT
    | JSON_JUNK
)


@fuzz(PARTIAL.map(str.encode) | ANY_FILE, st.lists(ROW, max_size=5), ANY_BYTES)
def test_an_interrupted_matrix_is_taken_up_or_begun_anew(state, rows, torn):
    with tempfile.TemporaryDirectory() as directory:
        partial = PartialRecord(directory, {"a": 1})
        pathlib.Path(partial.path).write_bytes(state)
        pathlib.Path(partial.rows_path).write_bytes(
            "\n".join(rows).encode("utf-8", "surrogatepass") + b"\n" + torn + b"\n"
        )
        if not partial.read():
            partial.begin({"learnt": {}})
        known = len(partial.state["cells"])
        partial.add({"cell_id": "new"}, [{"cell_id": "new", "n": 1}])
        told = list(partial.rows())
        assert all(json.loads(line)["cell_id"] in {cell["cell_id"] for cell in partial.state["cells"]} for line in told)
        assert json.loads(told[-1]) == {"cell_id": "new", "n": 1} and all(line.endswith("\n") for line in told)
        again = PartialRecord(directory, {"a": 1})
        assert again.read() and len(again.state["cells"]) == known + 1


WHOLE = json.loads(json.dumps(record()))
WHOLE["cells"] = WHOLE["cells"][:4]


@fuzz(mutated_json([WHOLE]).map(json_text).map(str.encode) | ANY_FILE, share=15)
def test_records_are_compared_or_refused_and_garbage_never_passes(data):
    with tempfile.TemporaryDirectory() as directory:
        paths = [os.path.join(directory, name) for name in ("a.json", "b.json")]
        pathlib.Path(paths[0]).write_bytes(data)
        other = {
            **WHOLE,
            "run_id": "0" * 32,
            "cells": [{**cell, "cell_id": f"b{number}"} for number, cell in enumerate(WHOLE["cells"])],
        }
        pathlib.Path(paths[1]).write_text(json.dumps(other))
        for sides in (paths, paths[::-1]):
            found = or_failure(read_sides, sides[:1], sides[1:])
            assert isinstance(found, (tuple, Failure))
            goes_out(found.msg if isinstance(found, Failure) else "")


@fuzz(SCALARS | json_values("a"))
def test_a_figure_is_a_number_that_can_be_counted_with(value):
    assert not usable_number(value) or float(value) / 3 < 1e16
    assert mapping(value) == (value if isinstance(value, dict) else {})


CONFIG = mutated_json([{"sliding_window": 2048, "block_size": 16, "layer_types": ["sliding_attention"] * 4, "architectures": ["A"], "num_hidden_layers": 4,
                        "dflash_config": {"block_size": 8, "mask_token_id": 3, "swa_window_size": 5}, "text_config": {"is_causal": True}}])  # fmt: skip


@fuzz(CONFIG.map(json_text).map(str.encode) | ANY_FILE)
def test_a_drafters_configuration_is_known_or_says_why_not(data):
    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory, "config.json").write_bytes(data)
        drafter = read_drafter(directory, {})
        assert drafter.known or (drafter.sliding_window is None and not drafter.sliding_throughout)
        goes_out(dataclasses.asdict(drafter)) if drafter.known else goes_out(
            drafter.reason.encode("utf-8", "replace").decode()
        )


@fuzz(ANY_FILE, st.sampled_from(["key", f"{UNIT}.secrets/config.yaml"]))
def test_a_key_file_holds_a_key_or_is_refused(data, name):
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        found = or_failure(read_api_key, None, str(path))
        assert found.failure_class == "unauthorized" if isinstance(found, Failure) else isinstance(found, str) and found


JOB = Job("chat", "m", ["a", "b"], 8, 0.0, True, 2, None, "poisson", 1, 60.0)
REPORTS = [*json.loads((FIXTURES / "engines" / "guidellm_reports.json").read_text()).values()]
RESULTS = [*json.loads((FIXTURES / "engines" / "sglang_results.json").read_text()).values()]


@fuzz(mutated_json(REPORTS + RESULTS).map(json_text).map(str.encode) | ANY_FILE)
def test_the_report_of_another_load_client_is_read_or_not(data):
    with tempfile.TemporaryDirectory() as directory:
        for client, name in ((GuidellmClient, "report.json"), (SglangClient, "result.jsonl")):
            pathlib.Path(directory, name).write_bytes(data)
            found = client.read(object.__new__(client), JOB, directory)
            assert found is None or (isinstance(found, tuple) and len(found) == 2)
