# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which real servers there are, what is installed for each, and where it lies.

Needs nothing but Python's standard library, as all that installs them: it runs before any environment exists.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements"
PYTHON_VERSION = "3.11"


@dataclass(frozen=True)
class Step:
    """One run of pip (or of the maker of a model): what it is called, and its words."""

    title: str
    words: tuple[str, ...]
    requirements: tuple[str, ...] = ()

    def packages(self) -> int:
        return sum(len(requirement_lines(name)) for name in self.requirements)


@dataclass(frozen=True)
class Environment:
    """One environment: its pip steps, an import that proves it, its measured size in MB with a CPU build of torch.

    OVER names the environment whose packages it uses wherever it has none of its own.
    """

    name: str
    steps: tuple[Step, ...]
    proof: str
    fetch_mb: int
    disk_mb: int
    torch: bool = True
    over: str = ""


def pip_step(title: str, name: str, *words: str) -> Step:
    return Step(title, ("-m", "pip", "install", "--no-color", *words, "-r", str(REQUIREMENTS / f"{name}.txt")), (name,))


ENVIRONMENTS = {
    env.name: env
    for env in (
        Environment(
            "sglang-0.5.15.post1",
            (pip_step("torch", "torch"), pip_step("sglang", "sglang-0.5.15.post1", "--no-deps")),
            "import torch, triton, transformers; from importlib.metadata import version; version('sglang')",
            500,
            2300,
        ),
        Environment(
            "sglang-0.5.23",
            (
                pip_step("torch", "torch"),
                pip_step("dependencies", "sglang-0.5.23"),
                pip_step("sglang", "sglang-0.5.23-alone", "--no-deps"),
            ),
            "import torch, triton, transformers; from importlib.metadata import version; version('sglang')",
            525,
            2300,
        ),
        Environment(
            "llama-cpp",
            (
                pip_step("llama.cpp", "llama-cpp"),
                Step("model", (str(HERE / "make_gguf.py"), "{env}/model.gguf")),
            ),
            "import xllamacpp",
            60,
            200,
            torch=False,
        ),
    )
}


PATH_FILE = "import sys, sysconfig; open(sysconfig.get_path('purelib') + '/over.pth', 'w').write(sys.argv[1])"


def release(version: str, over: str, fetch_mb: int, disk_mb: int) -> Environment:
    """SGLang VERSION alone, over the packages of another environment: what it imports on the CPU is the same there."""
    # Relative, so that it holds wherever a host sees the cache.
    packages = f"../../../../{over}/lib/python{PYTHON_VERSION}/site-packages\n"
    return Environment(
        f"sglang-{version}",
        (
            Step("sglang", ("-m", "pip", "install", "--no-color", "--no-deps", f"sglang=={version}")),
            Step("packages of the other", ("-c", PATH_FILE, packages)),
        ),
        f"import torch, triton, transformers; from importlib.metadata import version; assert version('sglang') == '{version}'",
        fetch_mb,
        disk_mb,
        torch=False,
        over=over,
    )


# Further releases, for tests/long alone: nothing else installs them.
RELEASES = {
    env.name: env
    for env in (
        release("0.5.10.post1", "sglang-0.5.15.post1", 6, 80),
        release("0.5.11", "sglang-0.5.15.post1", 8, 90),
        release("0.5.12.post1", "sglang-0.5.15.post1", 8, 90),
        release("0.5.13.post1", "sglang-0.5.15.post1", 12, 110),
        release("0.5.14", "sglang-0.5.15.post1", 13, 115),
        release("0.5.18", "sglang-0.5.15.post1", 24, 165),
        release("0.5.19", "sglang-0.5.15.post1", 27, 180),
        release("0.5.20", "sglang-0.5.15.post1", 28, 190),
        release("0.5.22", "sglang-0.5.23", 35, 220),
    )
}
EVERY = {**ENVIRONMENTS, **RELEASES}


def cache_directory() -> Path:
    """The cache: $LLMOPS_SGLANG_CACHE, else llmops-sglang in the user's cache directory; the servers in real/ below."""
    base = os.environ.get("LLMOPS_SGLANG_CACHE")
    if base:
        return Path(base).expanduser().absolute() / "real"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "llmops-sglang" / "real"


def interpreter(name: str) -> Path:
    """The Python interpreter of an environment (whether it is there or not)."""
    return cache_directory() / name / "bin" / "python"


def requirement_lines(name: str) -> list[str]:
    text = (REQUIREMENTS / f"{name}.txt").read_text()
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def wanted_stamp(env: Environment) -> str:
    """The hash of all that decides what is in an environment."""
    parts = [PYTHON_VERSION, env.proof]
    for step in env.steps:
        parts.append(step.title)
        for name in step.requirements:
            parts.extend(requirement_lines(name))
    if env.over:
        parts.append(wanted_stamp(EVERY[env.over]))
    elif not env.torch:
        parts.append((HERE / "make_gguf.py").read_text())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def is_complete(env: Environment) -> bool:
    directory = cache_directory() / env.name
    if env.over and not is_complete(EVERY[env.over]):
        return False
    try:
        return (directory / "complete").read_text().strip() == wanted_stamp(env) and interpreter(env.name).exists()
    except OSError:
        return False
