# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m sglang.launch_server``: the entry point that a unit's ExecStart names."""

from __future__ import annotations

import sys

from sglang import log_lines
from sglang.release import installed


def main():
    release = installed()
    if release.since("0.5.10"):
        log_lines.raw(
            "%s:55: UserWarning: 'python -m sglang.launch_server' is still supported, but 'sglang serve' is the recommended "
            "entrypoint.\n  Example: sglang serve --model-path <model> [options]\n  warnings.warn(" % __file__
        )
    # After the first line, so that it comes at once.
    from sglang.launcher import Launcher

    Launcher(release, sys.argv[1:]).run()


if __name__ == "__main__":
    main()
