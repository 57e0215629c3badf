# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys that the role hands to server_unit, and what becomes of one that is taken from a vault that is missing."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleError
from ansible.template import trust_as_template

from ansible_collections.llmops.sglang.tests.unit import role_variables

KEYS = [("server_api_key", "api_key"), ("server_admin_api_key", "admin_api_key")]


def handed(option, **variables):
    defaults, tasks = role_variables.read("server/defaults/main.yml"), role_variables.read("server/tasks/unit.yml")
    given = {name: trust_as_template(text) for name, text in variables.items()}
    (asked,) = (task["llmops.sglang.server_unit"] for task in tasks if "llmops.sglang.server_unit" in task)
    return role_variables.rendered(asked[option], **{"omit": "OMITTED", **defaults, **given})


@pytest.mark.parametrize(("variable", "option"), KEYS)
def test_a_key_is_handed_over_and_none_is_none(variable, option):
    assert handed(option, **{variable: "sk-1"}) == "sk-1"
    assert handed(option, **{variable: ""}) == handed(option) == "OMITTED"


@pytest.mark.parametrize(("variable", "option"), KEYS)
def test_a_key_whose_vault_is_missing_is_no_server_without_a_key(variable, option):
    with pytest.raises(AnsibleError, match="vault_key"):
        handed(option, **{variable: "{{ vault_key }}"})
