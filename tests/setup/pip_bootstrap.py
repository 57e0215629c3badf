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
import sysconfig

# Debian keeps the wheels that ensurepip takes in a folder of the system.
folders = [pathlib.Path(ensurepip.__file__).parent / "_bundled", sysconfig.get_config_var("WHEEL_PKG_DIR")]
wheels = [wheel for folder in filter(None, folders) for wheel in sorted(pathlib.Path(folder).glob("pip-*.whl"))]
if not wheels:
    sys.exit(f"{sys.executable} has no wheel of pip in {' or '.join(map(str, folders))}: install python3-venv.")
words = [word for word in sys.argv[1:] if word not in ("--no-setuptools", "--no-wheel")]
sys.path.insert(0, str(wheels[0]))
sys.argv = ["pip", "install", "--no-deps", *words]
runpy.run_module("pip", run_name="__main__", alter_sys=True)
