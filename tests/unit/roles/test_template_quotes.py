# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""No template of a role or playbook quotes by a backslash: Ansible doubles it, so that it would stand in what a person reads."""

from __future__ import annotations

import pathlib
import re

import pytest

CLONE = pathlib.Path(__file__).resolve().parents[3]
FILES = sorted(path for part in ("roles", "playbooks") for path in (CLONE / part).rglob("*.yml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CLONE)))
def test_a_quote_in_a_template_is_not_escaped(path):
    templates = re.findall(r"\{\{.*?\}\}|\{%.*?%\}", path.read_text(encoding="utf-8"), re.DOTALL)
    assert [one for one in templates if "\\'" in one or '\\"' in one] == []
