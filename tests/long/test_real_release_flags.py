# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The catalogue of flags beside the parser of each installed release: the same flags, arguments and choices."""

from __future__ import annotations

import pytest
from ask_server import ask
from real_host import installed
from real_servers import EVERY

from ansible_collections.llmops.sglang.plugins.module_utils._flags import table_of

VERSIONS = [name.removeprefix("sglang-") for name in EVERY if name.startswith("sglang-")]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_catalogue_has_the_flags_of_the_servers_own_parser(version):
    installed([f"sglang-{version}"])
    own = ask(version, "server_flags.py")
    table = table_of(version)
    known = {word: table.get_exact(word) for word in table.words()}
    assert sorted(known) == sorted(own)
    differ = {
        word: (dest, choices, known[word])
        for word, (dest, choices) in own.items()
        if (known[word].dest, sorted(known[word].choices or ())) != (dest, choices or [])
    }
    assert differ == {}
