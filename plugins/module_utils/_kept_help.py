# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Help texts of installed servers kept in files: asking one imports it, which takes half a minute."""

from __future__ import annotations

import os
import pwd
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._server_help import HelpStore
from ansible_collections.llmops.sglang.plugins.module_utils._unit_place import Writer, read_text


def kept_help(writer: Writer, check_mode: bool) -> HelpStore:
    """The store of the user that runs the module; in check mode nothing is written to it."""
    if os.geteuid() == 0:
        directory = "/var/cache/llmops-sglang"
    else:
        directory = os.path.join(pwd.getpwuid(os.geteuid()).pw_dir, ".cache", "llmops-sglang")

    def read(key: str) -> t.Optional[str]:
        try:
            return read_text(os.path.join(directory, f"{key}.help"))
        except Failure:
            return None

    def write(key: str, text: str) -> None:
        if check_mode:
            return
        try:
            writer.make_directory(directory, "0755")
            writer.write(os.path.join(directory, f"{key}.help"), text, "0644")
        except Failure:
            # The next run asks again.
            pass

    return HelpStore(read, write)
