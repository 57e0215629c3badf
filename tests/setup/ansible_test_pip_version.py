# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print the version of pip that the installed ansible-test bootstraps."""

from __future__ import annotations

import pathlib
import re

import ansible_test

source = pathlib.Path(ansible_test.__path__[0], "_internal", "python_requirements.py").read_text(encoding="utf-8")
match = re.search(r"def get_venv_packages\(.*?\bpip=['\"]([0-9.]+)['\"]", source, re.DOTALL)
if not match:
    raise SystemExit("The pip version of ansible-test was not found in its python_requirements.py: adapt this script.")
print(match.group(1))
