# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Why a start failed, from the lines of that one invocation.

The texts are those of SGLang 0.5.6 to 0.5.23, uvicorn, PyTorch and llama.cpp. Only what ended or will end the server counts:
a traceback of the main thread or of a child that says so, never an error that a request met.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure_signatures import (
    EXCEPTION,
    FRAMES,
    LINE,
    MAIN_FRAMES,
    ORDER,
    TELLING,
    Signature,
    finding_in,
)
from ansible_collections.llmops.sglang.plugins.module_utils._journal_rows import Line
from ansible_collections.llmops.sglang.plugins.module_utils._log_text import Traceback, text_of, tracebacks

if t.TYPE_CHECKING:
    from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState

Finding = tuple[str, str]

# The entry of a process stands among the frames of what ended it; a program's own file begins with its module.
_ENTRY_FRAMES = re.compile(
    r"<frozen runpy>|runpy\.py|launch_server\.py|multiprocessing/(?:process|spawn)\.py|bin/(?:sglang|vllm)"
)
_OWN_MODULE = re.compile(r'\s*File "(?!.*(?:site|dist)-packages).*", line \d+, in <module>')
# vLLM puts the process before each line of its tracebacks, too.
_PROCESS = re.compile(r"\((?:APIServer|EngineCore|Worker)\w* pid=\d+\) ")
_CHILD_DIED = re.compile(
    r"(?P<who>Scheduler|DetokenizerManager|TokenizerManager|DataParallelController|MultiTokenizerRouter"
    r"|MultiDetokenizerRouter) hit an exception:"
)
_FRACTION = re.compile(r"\bmem_fraction_static'?(?:=|: )([\d.]+)")
_STOPPED = re.compile(r"SIGTERM received|SIGINT received|INFO: +Shutting down|Gracefully exiting")


def failure_of(lines: t.Sequence[t.Union[Line, str]], unit_state: t.Optional[UnitState] = None) -> t.Optional[Finding]:
    """The failure class and the cause in one sentence (it may hold secrets); ``None`` where no line tells of a failure.

    :arg lines: the lines of one invocation, those of the manager may be among them.
    :arg unit_state: the unit now, where known: how its main process ended counts when no line says more.
    """
    texts = [text_of(line) for line in lines]
    found: dict[str, str] = {}
    for signature, cause in findings(lines):
        # A traceback names the exception, which says more than the line of whoever noticed the death.
        if signature.failure_class == "server_crashed" and EXCEPTION in signature.where:
            found[signature.failure_class] = cause
        found.setdefault(signature.failure_class, cause)
    for failure_class in ORDER:
        if failure_class in found:
            cause = found[failure_class]
            return failure_class, _with_fraction(cause, texts) if failure_class == "out_of_memory" else cause
    return None if unit_state is None or any(map(_STOPPED.search, texts)) else _state_finding(unit_state)


def findings(lines: t.Sequence[t.Union[Line, str]]) -> t.Iterator[tuple[Signature, str]]:
    """What the lines tell, line by line, and then what their tracebacks do, each with the cause in one sentence."""
    stopped = False
    for text in map(_text, lines):
        if "server_args=" in text or not TELLING.search(text):
            continue
        stopped = stopped or bool(_STOPPED.search(text))
        found = finding_in({LINE: text})
        # Children that go because the server was told to are no crash.
        if found and not (found[0].failure_class == "server_crashed" and (stopped or found[2] == "-15")):
            yield found[:2]
    # The manager's line about the exit may stand before the exception's own.
    own = [_text(line) for line in lines if isinstance(line, str) or line.source != "manager"]
    yield from filter(None, map(_of_traceback, tracebacks(own)))


def _text(line: t.Union[Line, str]) -> str:
    text = text_of(line)
    return _PROCESS.sub("", text, count=1) if text.startswith("(") else text


def _with_fraction(cause: str, texts: t.Sequence[str]) -> str:
    """*cause* with the share of the GPU's memory that the server was given, which is what one would change."""
    if "OOM killer" in cause or "fraction" in cause:
        return cause
    for text in texts:
        match = _FRACTION.search(text) if "server_args=" in text else None
        if match:
            return f"{cause.rstrip('.')} (mem_fraction_static is {match.group(1)})."
    return cause


def _of_traceback(block: Traceback) -> t.Optional[tuple[Signature, str]]:
    """What the exception tells that ended the main thread, or a child; nothing of one that a request met."""
    child = _CHILD_DIED.search(block.header)
    main = not block.header and (_ENTRY_FRAMES.search(block.frames) or _OWN_MODULE.match(block.frames))
    if not (child or main) or not (block.kind or block.message):
        return None
    texts = {EXCEPTION: block.summary, FRAMES: block.frames, **({MAIN_FRAMES: block.frames} if main else {})}
    found = finding_in(texts, child.group("who") if child else "server", block.message or block.kind)
    return found[:2] if found and found[0].failure_class else None


def _state_finding(state: UnitState) -> t.Optional[Finding]:
    if state.result == "oom-kill":
        return "out_of_memory", "The kernel's OOM killer ended the unit: the host's memory did not suffice."
    if state.result == "watchdog":
        return "server_crashed", "systemd's watchdog ended the unit."
    if state.result in ("signal", "core-dump"):
        return (
            "server_crashed",
            f"The main process was ended by signal {state.exec_main_status}, and its lines do not say why.",
        )
    return None
