# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a role makes of its variables, by Ansible's own templates and without a host."""

from __future__ import annotations

import pathlib
import typing as t

from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

ROLES = pathlib.Path(__file__).resolve().parents[2] / "roles"


def read(path: str) -> t.Any:
    """A file below ``roles`` with its templates as they are."""
    return DataLoader().load_from_file(str(ROLES / path), trusted_as_template=True)


def of_role(role: str, name: str, **given: t.Any) -> t.Any:
    """Variable *name* of the role, whose defaults and own variables are all that is known beside what is *given*."""
    own = read(f"{role}/vars/main.yml")
    return rendered(own[name], **{**read(f"{role}/defaults/main.yml"), **own, **given})


def rendered(template: t.Any, **variables: t.Any) -> t.Any:
    """A value of a task or of a variable with these variables."""
    return Templar(DataLoader(), variables=variables).template(template)
