# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules' documentation says of results, and what their code returns."""

from __future__ import annotations

import importlib
import inspect
import pathlib
import re
import sys

import pytest
import yaml

from ansible_collections.llmops.sglang.plugins.module_utils import (
    _benchmark_record,
    _coding_eval,
    _compare_report,
    _generation_wait,
    _journal_result,
    _server_facts,
    _server_report,
    _service_state,
)
from ansible_collections.llmops.sglang.plugins.module_utils._adoption import Found, adopt
from ansible_collections.llmops.sglang.plugins.module_utils._built_in_tasks import BUILT_IN
from ansible_collections.llmops.sglang.plugins.module_utils._cell_run import CellRunner
from ansible_collections.llmops.sglang.plugins.module_utils._diagnosis import Diagnosis
from ansible_collections.llmops.sglang.plugins.module_utils._expectation import Expectation
from ansible_collections.llmops.sglang.plugins.module_utils._failure import FAILURE_CLASSES
from ansible_collections.llmops.sglang.plugins.module_utils._flags import table_of
from ansible_collections.llmops.sglang.plugins.module_utils._invocation_log import InvocationLog
from ansible_collections.llmops.sglang.plugins.module_utils._launch_command import Launch
from ansible_collections.llmops.sglang.plugins.module_utils._ownership import Ownership
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask
from ansible_collections.llmops.sglang.plugins.module_utils._server_history import Places, ServerHistory
from ansible_collections.llmops.sglang.plugins.module_utils._server_unit import ServerUnit
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager
from ansible_collections.llmops.sglang.plugins.modules import (
    benchmark_matrix,
    coding_eval,
    router_info,
    router_request,
    router_worker,
    server_diagnosis,
    server_unit,
)

CLONE = pathlib.Path(__file__).resolve().parents[4]
# Those without a main are documentation alone: their actions do the work on the controller, and have tests of their own.
MODULES = sorted(
    path.stem
    for path in pathlib.Path(server_unit.__file__).parent.glob("[a-z]*.py")
    if "def main(" in path.read_text(encoding="utf-8")
)
UNIT = "llm.service"
# Options without which a module does not even look at its unit's name.
NEEDED = {
    "journal_assert": {"preset": ["clean_start"]},
    "server_unit": {"python": sys.executable},
}


def module_of(name):
    return importlib.import_module(f"ansible_collections.llmops.sglang.plugins.modules.{name}")


def returned(name):
    return yaml.safe_load(module_of(name).RETURN)


def always(name):
    return {key for key, entry in returned(name).items() if entry["returned"] == "always"}


def on_success(name):
    return {key for key, entry in returned(name).items() if entry["returned"].startswith(("always", "success"))}


def run_command(argv, **dummy):
    """A host whose service manager knows no unit."""
    if argv[0] == "systemctl" and "show" in argv:
        return 0, "LoadState=not-found\nActiveState=inactive\n", ""
    return (0, "systemd 252\n", "") if argv[0] == "systemctl" else (1, "", "not there")


def manager():
    return Manager(run_command)


def benchmark_result():
    return {**benchmark_matrix.NOTHING}


def coding_result():
    return coding_eval.nothing({"sandbox": "systemd"})


def coding_task():
    return _coding_eval.TaskReport(BUILT_IN[0], [_coding_eval.Outcome("passed")]).as_result()


def journal_result():
    expectation = Expectation("a line", "text")
    log = InvocationLog(UNIT, "a" * 32)
    return _journal_result.compose(log, [expectation], [expectation.verdict()], Mask())


def info_result():
    connection = dict.fromkeys(("base_url", "api_key", "api_key_file", "ca_path", "client_cert", "client_key"))
    warnings = []
    return _server_report.report(
        manager(), UNIT, {**connection, "timeout": 1.0, "validate_certs": True}, warnings.append
    )


def service_result():
    timeouts = _service_state.Timeouts(stop=1, start=1)
    return _service_state.ServiceChange(manager(), UNIT, timeouts, lambda: 0.0, lambda seconds: None).result()


def unit_result(tmp_path, state="present"):
    params = {name: option.get("default") for name, option in server_unit.ARGUMENT_SPEC.items()}
    params.update(name="llm", python=sys.executable, sglang_version="0.5.15", verify=False, dest_dir=str(tmp_path))
    params.update(args={"model_path": "org/model"}, state=state)
    unit = ServerUnit(params, run_command, None, True, str(tmp_path), [])
    return unit.present() if state == "present" else unit.absent()


def history_result():
    places = Places("/nowhere/units", "/nowhere/state", "/nowhere/times.json")
    history = ServerHistory(manager(), UNIT, places, lambda temporary, path: None, check_mode=True)
    return history.listed()


RESULTS = {
    "benchmark_compare": _compare_report.nothing,
    "benchmark_matrix": benchmark_result,
    "coding_eval": coding_result,
    "journal_assert": journal_result,
    "router_info": lambda: router_info.nothing({}),
    "router_request": lambda: {**router_request.NOTHING},
    "router_worker": lambda: router_worker.nothing({"worker_url": ""}),
    "server_diagnosis": lambda: server_diagnosis.archived(Diagnosis("x", "", {"a": ""}), "/x")[1],
    "server_history": history_result,
    "server_info": info_result,
    "server_service": service_result,
    "wait_for_generation": lambda: _generation_wait.skipped({}, run_command),
}


def test_every_module_is_looked_at():
    assert sorted([*RESULTS, "server_unit"]) == MODULES


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_the_result_has_the_documented_keys_and_no_other(name):
    assert set(RESULTS[name]()) - {"changed"} == on_success(name)


@pytest.mark.parametrize("state", ["present", "absent"])
def test_the_result_of_a_unit_has_the_documented_keys_and_no_other(state, tmp_path):
    assert set(unit_result(tmp_path, state)) - {"changed"} == on_success("server_unit")


@pytest.mark.parametrize("name", [name for name in MODULES if "llmops.sglang._unit\n" in module_of(name).DOCUMENTATION])
def test_a_failure_has_its_class_its_log_and_every_key_that_is_always_there(name, run_module):
    result = run_module(module_of(name), {"name": "no/unit", **NEEDED.get(name, {})})
    assert result["failed"] and result["failure_class"] == "unit_invalid" and "'no/unit'" in result["msg"]
    assert result["log_tail"] == []
    assert always(name) <= set(result)


@pytest.mark.parametrize(
    ("name", "key", "entry"),
    [
        ("benchmark_matrix", "cells", lambda: _benchmark_record.result_cell({})),
        ("coding_eval", "tasks", coding_task),
        ("journal_assert", "results", lambda: journal_result()["results"][0]),
        ("server_info", "unit", lambda: info_result()["unit"]),
        ("server_info", "server", lambda: info_result()["server"]),
        ("server_info", "listener", lambda: _server_facts.listener_facts(Ownership(), "http://x")),
        ("server_info", "adoption", lambda: adopt(Found(UNIT, "system", Launch(), {}), table_of(None))),
        ("server_info", "journal", lambda: info_result()["journal"]),
        ("wait_for_generation", "listener", lambda: _generation_wait.skipped({}, run_command)["listener"]),
    ],
)
def test_parts_of_results_have_the_documented_keys_and_no_other(name, key, entry):
    assert set(entry()) == set(returned(name)[key]["contains"])


@pytest.mark.parametrize("name", MODULES)
def test_failure_classes_in_the_documentation_exist(name):
    """A misspelt class in RV(failure_class=...) would be looked for in vain."""
    text = module_of(name).DOCUMENTATION + module_of(name).RETURN
    for part in text.split("RV(failure_class=")[1:]:
        assert part.split(")", 1)[0] in FAILURE_CLASSES


def test_every_reason_of_an_invalid_cell_is_documented():
    said = set(re.findall(r'\("([a-z_]+)", ', inspect.getsource(CellRunner._reasons)))
    guide = (CLONE / "docs" / "docsite" / "rst" / "benchmark_record.rst").read_text(encoding="utf-8")
    section = guide.split("Why a cell is invalid", 1)[1]
    documented = returned("benchmark_matrix")["cells"]["contains"]["reasons"]["description"]
    assert set(re.findall(r"^``([a-z_]+)``$", section, re.MULTILINE)) == said
    assert set(re.findall(r"V\(([a-z_]+)\)", str(documented))) == said
