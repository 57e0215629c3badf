# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make a directory that looks like a Python environment with SGLang in it.

    python install.py DEST --version 0.5.15 [--fork ddtree] [--python /usr/bin/python3]

DEST/bin/python runs `-m sglang.launch_server`, and importlib.metadata finds `sglang` there.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def base_python(asked):
    """(real interpreter, its major.minor). The system's is preferred: units may not see a home directory."""
    path = asked or ("/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable)
    real = os.path.realpath(path)
    if real == os.path.realpath(sys.executable):
        return real, "%d.%d" % sys.version_info[:2]
    code = "import sys; print('%d.%d' % sys.version_info[:2]); print(getattr(sys, '_base_executable', '') or sys.executable)"
    lines = subprocess.run([real, "-I", "-S", "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout.split(
        "\n"
    )
    return os.path.realpath(lines[1]), lines[0]


def compile_package(real, package):
    """Compile the package now, because the server's user may not write there."""
    if real == os.path.realpath(sys.executable):
        compileall.compile_dir(package, quiet=2)
    else:
        subprocess.run([real, "-I", "-S", "-m", "compileall", "-q", package], check=True)


def install(dest, version, fork="", python=None):
    """Create DEST (an existing one is replaced where files collide); returns the interpreter's path."""
    real, number = base_python(python)
    dest = os.path.abspath(dest)
    site = os.path.join(dest, "lib", "python" + number, "site-packages")
    os.makedirs(os.path.join(dest, "bin"), exist_ok=True)
    os.makedirs(site, exist_ok=True)
    with open(os.path.join(dest, "pyvenv.cfg"), "w", encoding="utf-8") as handle:
        handle.write(
            "home = %s\ninclude-system-site-packages = false\nversion = %s\n" % (os.path.dirname(real), number)
        )
    for name in ("python", "python3", "python" + number):
        link = os.path.join(dest, "bin", name)
        if os.path.lexists(link):
            os.unlink(link)
        os.symlink(real if name == "python" else "python", link)
    package = os.path.join(site, "sglang")
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(
        os.path.join(HERE, "sglang"), package, ignore=shutil.ignore_patterns("__pycache__", "installed.json")
    )
    with open(os.path.join(package, "installed.json"), "w", encoding="utf-8") as handle:
        json.dump({"version": version, "fork": fork}, handle)
    compile_package(real, package)
    for name in os.listdir(site):
        if name.startswith("sglang-") and name.endswith(".dist-info"):
            shutil.rmtree(os.path.join(site, name))
    info = os.path.join(site, "sglang-%s.dist-info" % version)
    os.makedirs(info)
    with open(os.path.join(info, "METADATA"), "w", encoding="utf-8") as handle:
        handle.write("Metadata-Version: 2.1\nName: sglang\nVersion: %s\nSummary: stand-in for tests\n" % version)
    with open(os.path.join(info, "INSTALLER"), "w", encoding="utf-8") as handle:
        handle.write("llmops-sglang-simulator\n")
    with open(os.path.join(info, "RECORD"), "w", encoding="utf-8") as handle:
        handle.write("sglang/__init__.py,,\n")
    return os.path.join(dest, "bin", "python")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("dest")
    parser.add_argument("--version", default="0.5.15.post1")
    parser.add_argument("--fork", default="", help="lower-case word of a tree-verification fork, e.g. ddtree")
    parser.add_argument("--python", help="interpreter to build on")
    options = parser.parse_args()
    print(install(options.dest, options.version, options.fork, options.python))


if __name__ == "__main__":
    main()
