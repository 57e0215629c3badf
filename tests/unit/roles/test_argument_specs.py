# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A role's documented variables are those that it has, with the same defaults."""

from __future__ import annotations

import pathlib
import re

import pytest
import yaml

ROLES = pathlib.Path(__file__).resolve().parents[3] / "roles"
NAMES = sorted(path.name for path in ROLES.iterdir() if path.is_dir())


def read(role, path):
    return yaml.safe_load((ROLES / role / path).read_text(encoding="utf-8"))


def entry_points(role):
    return read(role, "meta/argument_specs.yml")["argument_specs"]


@pytest.mark.parametrize("role", NAMES)
def test_documented_defaults_are_the_role_s_own(role):
    defaults = read(role, "defaults/main.yml")
    for name, entry in entry_points(role).items():
        documented = {name: option["default"] for name, option in entry["options"].items() if "default" in option}
        assert documented.items() <= defaults.items()
        assert name != "main" or documented == defaults


@pytest.mark.parametrize("role", NAMES)
def test_every_documented_entry_point_is_there(role):
    assert [name for name in entry_points(role) if not (ROLES / role / "tasks" / f"{name}.yml").exists()] == []


@pytest.mark.parametrize("role", NAMES)
def test_every_variable_of_the_role_carries_its_name(role):
    for entry in entry_points(role).values():
        assert all(name.startswith(f"{role}_") for name in entry["options"])


@pytest.mark.parametrize("role", NAMES)
def test_every_documented_variable_is_used(role):
    text = "".join(
        path.read_text(encoding="utf-8") for part in ("tasks", "vars") for path in (ROLES / role / part).glob("*")
    )
    unused = [name for name in entry_points(role)["main"]["options"] if not re.search(rf"\b{name}\b", text)]
    assert unused == []
