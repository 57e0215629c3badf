# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hardening that docs' page of security proposes, as variables for an inventory of this directory."""

from __future__ import annotations

import pathlib
import re
import textwrap
from typing import Any

import yaml
from host_set import REPOSITORY

PAGE = REPOSITORY / "docs" / "docsite" / "rst" / "security.rst"


def hardened(inventory: pathlib.Path) -> dict[str, Any]:
    """What the page sets, with the environment of INVENTORY beside it."""
    blocks = re.findall(r"^\.\. code-block:: yaml\n\n((?:    .*\n|\n)+)", PAGE.read_text(), re.MULTILINE)
    (found,) = [yaml.safe_load(textwrap.dedent(block)) for block in blocks if "ProtectSystem" in block]
    environment = yaml.safe_load(inventory.read_text())["sglang"]["vars"]["server_environment"]
    return {**found, "server_environment": {**environment, **found["server_environment"]}}
