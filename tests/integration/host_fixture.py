# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One set of real hosts for a whole session of tests."""

from __future__ import annotations

import os

import pytest
from host_set import HostSet


def two_hosts(tmp_path_factory, **settings):
    """Two hosts, host1 and host2, that go with this pytest process, however it ends."""
    made = HostSet(f"t{os.getpid()}", ["host1", "host2"], tmp_path_factory.mktemp("hosts"), owner_pid=os.getpid())
    created = made.create(**settings)
    if created.returncode:
        pytest.fail(f"the test hosts could not be made:\n{created.stdout}\n{created.stderr}")
    yield made
    made.destroy()


@pytest.fixture(scope="session")
def hosts(tmp_path_factory):
    # A host sees this machine's files, except for homes.
    places = [os.environ.get("LLMOPS_SGLANG_CACHE", ""), os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))]
    homes = [place for place in places if place.startswith("/home/") and os.path.isdir(place)]
    binds = [{"source": place, "target": place, "read_only": True} for place in homes]
    yield from two_hosts(tmp_path_factory, hosts_keep_compiled=True, binds=binds)
