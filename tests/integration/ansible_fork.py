# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible's programs, each run in a process of its own that has ansible imported already.

Importing ansible is a third of what a short run costs, and the tests make hundreds of them.
"""

from __future__ import annotations

import functools
import gc
import importlib
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing import forkserver

PRELOADED = ["ansible.cli.adhoc", "ansible.cli.playbook", "ansible.executor.task_queue_manager", "ansible_fork"]
SETTINGS = {
    "ANSIBLE_CALLBACK_PLUGINS": str(pathlib.Path(__file__).parent / "callback_plugins"),
    "ANSIBLE_CALLBACKS_ENABLED": "result_file,kill_at_task",
    "ANSIBLE_LOAD_CALLBACK_PLUGINS": "1",
    "ANSIBLE_DEPRECATION_WARNINGS": "0",
    "ANSIBLE_INVENTORY_UNPARSED_WARNING": "0",
    "ANSIBLE_LOCALHOST_WARNING": "0",
    "ANSIBLE_HOST_KEY_CHECKING": "1",
    "ANSIBLE_NOCOLOR": "1",
    "ANSIBLE_PIPELINING": "1",
    "ANSIBLE_RETRY_FILES_ENABLED": "0",
}


def run(
    program: str, words: Sequence[str], cwd: pathlib.Path, environ: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess:
    """Run "adhoc" or "playbook" with *environ* and SETTINGS added to this process's environment."""
    if early := [name for name in environ if name.startswith("ANSIBLE_")]:
        raise ValueError(f"{early} would come too late: ansible is imported already; put them into SETTINGS")
    context = _server()
    with tempfile.TemporaryDirectory() as folder:
        outputs = [pathlib.Path(folder, name) for name in ("stdout", "stderr")]
        whole = {**os.environ, **SETTINGS, **environ}
        process = context.Process(target=_main, args=(program, [*words], str(cwd), whole, *map(str, outputs)))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired([program, *words], timeout, *[path.read_bytes() for path in outputs])
        texts = [path.read_text(errors="replace") for path in outputs]
        return subprocess.CompletedProcess([program, *words], process.exitcode, *texts)


@functools.cache
def _server() -> multiprocessing.context.BaseContext:
    """Start the process that imports ansible, which reads its own variables at that time."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    before = dict(os.environ)
    os.environ.update(SETTINGS)
    try:
        forkserver.ensure_running()
    finally:
        os.environ.clear()
        os.environ.update(before)
    return context


def _main(program: str, words: list[str], cwd: str, environ: dict[str, str], stdout: str, stderr: str) -> None:
    for descriptor, path, mode in ((0, os.devnull, os.O_RDONLY), (1, stdout, os.O_WRONLY), (2, stderr, os.O_WRONLY)):
        file = os.open(path, mode | (os.O_CREAT if mode else 0), 0o600)
        os.dup2(file, descriptor)
        os.close(file)
    # It ends before there is anything to collect, and a look at what is shared would copy it.
    gc.disable()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    name = {"adhoc": "ansible"}.get(program, f"ansible-{program}")
    sys.argv = [name, *words]
    importlib.import_module(f"ansible.cli.{program}").main(sys.argv)
