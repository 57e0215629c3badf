# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Put pip into an empty virtual environment from the wheel that Python itself brings along.

ansible-test runs it in place of the script that it would fetch; the wanted version then comes from the package index.
"""

from __future__ import annotations

import ensurepip
import pathlib
import runpy
import sys

wheel = next(pathlib.Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl"))
words = [word for word in sys.argv[1:] if word not in ("--no-setuptools", "--no-wheel")]
sys.path.insert(0, str(wheel))
sys.argv = ["pip", "install", "--no-deps", *words]
runpy.run_module("pip", run_name="__main__", alter_sys=True)
