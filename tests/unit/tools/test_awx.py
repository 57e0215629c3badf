# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/awx.yml with actions in the place of the modules of awx.awx, which refuse what those would refuse."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import yaml

CLONE = pathlib.Path(__file__).resolve().parents[3]
PLAYBOOKS = CLONE / "playbooks"
OPTIONS = CLONE / "tests" / "unit" / "fixtures" / "awx" / "modules.json"
# Of the kinds of questions that AWX has: what their defaults are.
QUESTIONS = {"text": str, "integer": int, "float": float, "multiplechoice": str}
ACTION = """
import json, pathlib
from ansible.plugins.action import ActionBase

class ActionModule(ActionBase):
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        super().run(tmp, task_vars)
        name = self._task.action.rpartition(".")[2]
        spec = json.loads(pathlib.Path({options!r}).read_text())["modules"][name]
        dummy, given = self.validate_argument_spec(argument_spec=spec)
        with open({log!r}, "a") as log:
            log.write(json.dumps([name, dict(self._task.args)]) + "\\n")
        return {{"changed": True}}
"""
GIVEN = {
    "awx_project": {"scm_url": "https://git.example.com/fleet.git"},
    "awx_execution_environment": {"image": "registry.example.com/sglang-ee:1"},
    "awx_credentials": ["fleet ssh", "fleet vault"],
}


@pytest.fixture(scope="module")
def awx_modules():
    spec = importlib.util.spec_from_file_location("awx_modules", CLONE / "tests" / "tools" / "awx_modules.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(folder, **given):
    """Run the playbook; what it said, and each call of a module with its options."""
    log, actions = folder / "calls", folder / "ansible_collections" / "awx" / "awx" / "plugins" / "action"
    actions.mkdir(parents=True, exist_ok=True)
    for name in json.loads(OPTIONS.read_text())["modules"]:
        (actions / f"{name}.py").write_text(ACTION.format(options=str(OPTIONS), log=str(log)))
    log.write_text("")
    path = f"{folder}{os.pathsep}{CLONE / '.build' / 'collections'}"
    environ = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": path, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_LOCALHOST_WARNING": "0"}
    words = [pathlib.Path(sys.executable).with_name("ansible-playbook"), "-i", "localhost,", "-e", json.dumps(given)]
    done = subprocess.run(
        [*map(str, words), "playbooks/awx.yml"], cwd=CLONE, env=environ, capture_output=True, text=True, check=False
    )
    calls = [json.loads(line) for line in log.read_text().splitlines()]
    return done, {name: [args for called, args in calls if called == name] for name, dummy in calls}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    done, calls = run(tmp_path_factory.mktemp("awx"), **GIVEN)
    assert done.returncode == 0, done.stdout + done.stderr
    return calls


def test_the_options_are_those_of_every_module_that_is_used(awx_modules, made):
    assert sorted(json.loads(OPTIONS.read_text())["modules"]) == awx_modules.used() == sorted(made)


def test_every_playbook_has_a_template(made):
    templates = {one["name"]: one for one in made["job_template"]}
    wanted = {path.stem for path in PLAYBOOKS.glob("*.yml")} - {"awx"}
    assert set(templates) == {f"SGLang {name}" for name in wanted}
    for name in wanted:
        template = templates[f"SGLang {name}"]
        assert template["playbook"] == f"playbooks/{name}.yml" and template["credentials"] == GIVEN["awx_credentials"]
        assert template["extra_vars"]["sweep_dir"] == "/var/lib/llmops-sglang-results/sweeps"
        assert not template["allow_simultaneous"] and template["ask_limit_on_launch"]


def known_variables():
    """Those that roles document and that playbooks read."""
    words = set()
    for path in [*PLAYBOOKS.glob("*.yml"), *CLONE.glob("roles/*/*/*.yml")]:
        words |= set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", path.read_text()))
    return words


def test_the_surveys_are_such_as_awx_takes(made):
    known = known_variables()
    for template in made["job_template"]:
        questions = (template["survey_spec"] or {"spec": []})["spec"]
        assert template["survey_enabled"] == bool(questions)
        assert len({one["variable"] for one in questions}) == len(questions)
        for one in questions:
            assert {"question_name", "variable", "type", "required"} <= set(one), one
            assert one["variable"] in known, one
            kind = QUESTIONS[one["type"]]
            assert isinstance(one.get("default", kind()), kind), one
            # A schedule and a workflow answer with the default.
            assert "default" in one or not one["required"], one
            if one["type"] == "multiplechoice":
                assert one["default"] in one["choices"], one
            assert all(isinstance(one.get(limit, 0), int) for limit in ("min", "max")), one


def test_the_choices_of_a_survey_are_those_of_the_role(made):
    specs = {}
    for path in CLONE.glob("roles/*/meta/argument_specs.yml"):
        specs.update(yaml.safe_load(path.read_text())["argument_specs"]["main"]["options"])
    asked = [one for template in made["job_template"] for one in (template["survey_spec"] or {"spec": []})["spec"]]
    choices = {one["variable"]: one["choices"] for one in asked if "choices" in one}
    assert choices and all(set(words) <= set(specs[name]["choices"]) for name, words in choices.items())


def test_the_workflow_goes_from_site_to_verify(made):
    (workflow,) = made["workflow_job_template"]
    templates = {one["name"] for one in made["job_template"]}
    nodes = {node["identifier"]: node for node in workflow["workflow_nodes"]}
    for node in nodes.values():
        assert (
            node["unified_job_template"]["name"] in templates and node["unified_job_template"]["type"] == "job_template"
        )
        for followers in node["related"].values():
            assert {one["identifier"] for one in followers} <= set(nodes)
    assert nodes["site"]["related"]["success_nodes"] == [{"identifier": "verify"}]


def test_the_schedules_name_what_is_there(made):
    known = {one["name"] for kind in ("job_template", "workflow_job_template") for one in made[kind]}
    assert len(made["schedule"]) == 2
    for one in made["schedule"]:
        assert one["unified_job_template"] in known
        assert re.fullmatch(r"DTSTART(;TZID=\S+)?:\d{8}T\d{6}Z? RRULE:FREQ=\w+;INTERVAL=\d+\S*", one["rrule"]), one


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({**GIVEN, "awx_project": {"scm_url": ""}}, "'awx_project.scm_url'"),
        ({**GIVEN, "awx_schedules": [{"name": "x", "template": "verifi", "rrule": ""}]}, "they name verifi"),
    ],
    ids=["no project", "unknown template"],
)
def test_what_awx_could_not_use_is_refused_before_anything_is_made(tmp_path, given, said):
    done, calls = run(tmp_path, **given)
    assert done.returncode == 2 and calls == {} and said in " ".join(done.stdout.split()), done.stdout


def test_an_option_that_a_module_has_not_is_found(tmp_path):
    """This test of the test: the stand-ins refuse what the modules would."""
    done, calls = run(tmp_path, **{**GIVEN, "awx_execution_environment": {"image": "x", "pull": "sometimes"}})
    assert done.returncode == 2 and "value of pull must be one of: always, missing, never" in done.stdout, done.stdout
