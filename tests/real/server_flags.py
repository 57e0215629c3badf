# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ask an installed SGLang's own parser which flags it has.

Runs in that server's environment. Standard output ends with a line of JSON: for each flag its argument and its choices or null.
"""

from __future__ import annotations

import argparse
import json

from sglang.srt.server_args import ServerArgs


def main():
    parser = argparse.ArgumentParser(add_help=False)
    ServerArgs.add_cli_args(parser)
    flags = {
        word: [action.dest, sorted(map(str, action.choices)) if action.choices else None]
        for action in parser._actions
        for word in action.option_strings
    }
    print(json.dumps(flags))


if __name__ == "__main__":
    main()
