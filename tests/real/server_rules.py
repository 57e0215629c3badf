# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ask an installed SGLang's own code what it says of command lines: its start-up rules for speculation, without a start.

Runs in that server's environment. Standard input is a JSON list of [environment, words]; standard output ends with a line of
JSON, for each of them [what was raised or null, the warnings].
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys

from sglang.srt.arg_groups import speculative_hook
from sglang.srt.server_args import ServerArgs

try:
    from sglang.srt.arg_groups import parallel_hook, validation_hook
except ImportError:
    parallel_hook = validation_hook = None

HOOKS = (
    (validation_hook, "handle_aux_hidden_state_capture"),
    (parallel_hook, "handle_deprecated_dp_attention"),
    (speculative_hook, "handle_speculative_decoding"),
)


class Kept(logging.Handler):
    """Keeps the texts of warnings."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


def asked(parser, words, kept):
    server_args = ServerArgs.from_cli_args(parser.parse_args(words))
    kept.texts.clear()
    try:
        for module, name in HOOKS:
            hook = getattr(module, name, None)
            if hook:
                hook(server_args)
    except (ValueError, AssertionError) as exc:
        return [str(exc), kept.texts[:]]
    return [None, kept.texts[:]]


def main():
    # Up to 0.5.18 the arguments resolve themselves when they are made, by GPUs and the model among others.
    if not hasattr(ServerArgs, "resolve_once"):
        ServerArgs.__post_init__ = lambda self: None
    parser, kept = argparse.ArgumentParser(), Kept()
    ServerArgs.add_cli_args(parser)
    logging.getLogger().addHandler(kept)
    before, answers = dict(os.environ), []
    for environ, words in json.load(sys.stdin):
        os.environ.update(environ)
        answers.append(asked(parser, words, kept))
        os.environ.clear()
        os.environ.update(before)
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
