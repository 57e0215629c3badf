# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What a server's own log lines say: its draft runner, how far a start has come, and the last line worth showing."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._journal_rows import Line
from ansible_collections.llmops.sglang.plugins.module_utils._log_failures import failure_of
from ansible_collections.llmops.sglang.plugins.module_utils._log_fields import parse_fields
from ansible_collections.llmops.sglang.plugins.module_utils._log_text import message_of, text_of

__all__ = ["DRAFT_RUNNER", "draft_runner", "failure_of", "is_draft_runner", "last_telling", "stage_of"]

# The sentence is the same in 0.5.11 to 0.5.23; forks print the name of their own algorithm. What stands behind a quotation
# mark is somebody's prompt in a logged request.
DRAFT_RUNNER = r"^[^'\"]*\bInitialized ([\w.+-]+) draft runner\."

_DRAFT_RUNNER = re.compile(DRAFT_RUNNER)
# In the order of a start, as recorded; the second entry is the stage in a person's words.
_STAGES: tuple[tuple[t.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), stage)
    for pattern, stage in (
        (r"server_args=|loading model '", "arguments accepted"),
        (r"Init (?:torch distributed|parallel) (?:begin|ends)", "ranks connecting"),
        (r"Load weight begin|[Ll]oading [\w ]{0,80}shards", "loading weights"),
        (r"Load weight end", "weights loaded"),
        (r"KV Cache is allocated|Memory pool end", "memory allocated"),
        (_DRAFT_RUNNER.pattern, "draft runner made"),
        (r"Capturing batches|Capture [\w ]{0,80}graph begin|Compiling num tokens", "capturing graphs"),
        (r"Capture [\w ]{0,80}graph end", "graphs captured"),
        (r"max_total_num_tokens=", "engine ready"),
        (r"Application startup complete|model loaded$", "binding the port"),
        (r"Uvicorn running on|listening on http", "listening"),
        (r"The server is fired up and ready to roll!", "says that it is ready"),
    )
)
_NOISE = re.compile(
    r'HTTP/1\.\d"|Ignore import error|UserWarning|DeprecationWarning|^\s|^$|warnings\.warn|^Traceback|\^\^\^|server_args='
    # Remarks of each start, which tell nobody how far it has come or why it ends.
    r"|Fail to set RLIMIT_|nvidia-smi not found|kill_process_tree called|generation config for|is deprecated and will be"
    r"|Auto-detected template|chat template with detected content|is disabled because of|will fallback to|print_info:"
    r"|above exception was the direct cause|handling of the above exception|^usage: |security: no API key"
)
_BAR = re.compile(r"\|[\s#▏▎▍▌▋▊▉█]*\|")
_RATE = re.compile(r" ?\[[\d:?]{1,20}<[^\]]{0,80}\]")
_LONGEST_SHOWN = 160


def draft_runner(lines: t.Iterable[t.Union[Line, str]]) -> t.Optional[dict[str, t.Any]]:
    """The fields of the first draft-runner line, with the ``algorithm`` that it names; ``None`` where there is none.

    Only rank 0 of each tensor-parallel group prints it, and data-parallel replicas print the same.
    """
    for line in lines:
        text = text_of(line)
        match = _DRAFT_RUNNER.search(text)
        if match:
            return {"algorithm": match.group(1), **parse_fields(text[match.end() :])}
    return None


def is_draft_runner(line: t.Union[Line, str]) -> bool:
    """Whether *line* is one that :func:`draft_runner` reads."""
    return bool(_DRAFT_RUNNER.search(text_of(line)))


def stage_of(lines: t.Sequence[t.Union[Line, str]]) -> str:
    """How far the start has come by the last line that tells; empty where none does."""
    for line in reversed(lines):
        for pattern, stage in _STAGES:
            if pattern.search(text_of(line)):
                return stage
    return ""


def last_telling(lines: t.Sequence[t.Union[Line, str]]) -> str:
    """The last line worth showing to somebody who waits, without its time and without the bar's drawing.

    That is a line of a stage of the start, else the last one that is no access line, warning or stack frame; at most 160
    characters, empty where there is none. It may hold secrets.
    """
    other = ""
    for line in reversed(lines):
        text = text_of(line)
        if _NOISE.search(text):
            continue
        if any(pattern.search(text) for pattern, dummy in _STAGES):
            return _shown(text)
        other = other or text
    return _shown(other)


def _shown(text: str) -> str:
    plain = " ".join(_RATE.sub("", _BAR.sub("|", message_of(text))).split())
    # Between words: who masks it later does not know half a secret.
    return plain if len(plain) <= _LONGEST_SHOWN else plain[: plain.rfind(" ", 0, _LONGEST_SHOWN) + 1].rstrip()
