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

from ansible_collections.llmops.sglang.plugins.module_utils._journal_rows import Line
from ansible_collections.llmops.sglang.plugins.module_utils._log_text import Traceback, message_of, text_of, tracebacks

if t.TYPE_CHECKING:
    from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState

Finding = tuple[str, str]

# The cause comes before its consequence: a child that ran out of memory is reported as a crash, too.
_ORDER = ("bad_arguments", "out_of_memory", "port_in_use", "model_load_failed", "server_crashed")

_USAGE_ERROR = re.compile(
    r"(?:[\w./-]+ ){0,3}?(?:[\w./-]+: )?error: "
    r"(?P<what>unrecognized arguments|ambiguous option|argument|the following arguments are required|invalid argument)"
    r"(?P<rest>.*)"
)
_FLAG = re.compile(r"--?[A-Za-z][\w-]*")
_OUT_OF_MEMORY = re.compile(
    r"OutOfMemoryError|(?:CUDA|HIP|XPU) out of memory|Not enough memory\. Please try|leave no GPU memory for the KV cache"
    r"|Cannot allocate memory|std::bad_alloc|can't allocate memory|CUBLAS_STATUS_ALLOC_FAILED|MemoryError"
    r"|[Oo]ut of memory"
)
_PORT = re.compile(
    r"\[Errno 98\] (?:error while attempting to bind on address \((?P<address>[^)]*)\)|Address already in use)"
    r"|(?P<name>\w+) at (?P<port>\d+) is not available in \d+ seconds|couldn't bind (?:HTTP server|to server) socket"
)
_MODEL = re.compile(
    r"Cannot find any model weights|does not appear to have a file named|Repo id must be in the form"
    r"|is not a local folder and is not a valid model identifier|Can't load (?:the )?(?:tokenizer|config|model|image processor)"
    r"|Unrecognized (?:model|configuration class)|Model architectures? .* (?:are|is) not supported|Incorrect path_or_model_id"
    r"|safetensors|Error while deserializing header|No such file or directory: '[^']*(?:config|tokenizer|model)"
)
_MODEL_KIND = re.compile(
    r"(?:RepositoryNotFound|LocalEntryNotFound|EntryNotFound|GatedRepo|HFValidation|Safetensor|OfflineModeIsEnabled)\w*"
)
_LOADING_FRAMES = re.compile(r"in (?:load_model|load_weights|_get_weights_iterator|get_tokenizer|get_config)\b")
# Rules about the arguments that the scheduler checks only after it has loaded the weights.
_LATE_RULE = re.compile(
    r"required for DFLASH|DFLASH with a quantized target lm_head|DFLASH mask_token_id|DFLASH requires tokenizer"
    r"|unsupported with DFLASH|does not yet support DFLASH|Unknown speculative algorithm name"
)
_ARGUMENT_FRAMES = re.compile(r'File "[^"]*(?:server_args|arg_groups|argparse)')
# The entry of a process stands among the frames of what ended it; a program's own file begins with its module.
_ENTRY_FRAMES = re.compile(
    r"<frozen runpy>|runpy\.py|launch_server\.py|multiprocessing/(?:process|spawn)\.py|bin/sglang"
)
_OWN_MODULE = re.compile(r'\s*File "(?!.*(?:site|dist)-packages).*", line \d+, in <module>')
_CHILD_DIED = re.compile(
    r"(?P<who>Scheduler|DetokenizerManager|TokenizerManager|DataParallelController|MultiTokenizerRouter"
    r"|MultiDetokenizerRouter) hit an exception:"
)
# What a process meets when another one died first.
_SECONDARY = re.compile(r"BrokenPipeError|EOFError|ConnectionResetError|KeyboardInterrupt|SystemExit")

_CRASHES: tuple[tuple[t.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), sentence)
    for pattern, sentence in (
        (
            r"Subprocess (?P<a>\S+) \(pid=\d+\) crashed with exit code (?P<b>-?\d+)",
            "The server's process '{a}' ended with exit code {b}{signal}.",
        ),
        (
            r"Rank (?P<a>\d+) scheduler (?:died during initialization \(exit code: (?P<b>-?\d+)\)|is dead)",
            "The scheduler of rank {a} died while it started, with exit code {b}{signal}.",
        ),
        (
            r"Scheduler or DataParallelController (?P<a>\d+) terminated with (?P<b>-?[1-9]\d*)",
            "The scheduler process {a} ended with exit code {b}{signal}.",
        ),
        (r"(?P<a>\S+ )?[Ww]atchdog timeout \(", "The {a}watchdog found a batch that never ended."),
        (r"Initialization failed\. warmup error:", "The server's own warm-up request failed."),
        (r"DistBackendError: (?P<a>.*)|(?P<b>NCCL error in: .*)", "The ranks lost each other: {a}{b}."),
        (r"(?P<a>Watchdog caught collective operation timeout)", "The ranks lost each other: {a}."),
        (r"(?P<a>Fatal Python error: .*|terminate called after throwing .*)", "The server crashed: {a}."),
        (
            r"Received sigquit from a child process|SIGQUIT received\.",
            "A child process failed and took the server down; its own lines say no more.",
        ),
    )
)
_LLAMA_LOAD = re.compile(
    r"[\d.]+ E \w.*?: .*?(?:error loading model|failed to load model|failed to open GGUF file|model loading error)"
)
_FRACTION = re.compile(r"\bmem_fraction_static'?(?:=|: )([\d.]+)")
_STOPPED = re.compile(r"SIGTERM received|SIGINT received|INFO: +Shutting down|Gracefully exiting")
_INTERESTING = re.compile(
    r"error: |Errno 98|is not available in|couldn't bind|Traceback \(most|crashed with exit|died during|is dead|terminated with"
    r"|atchdog|warmup error|DistBackendError|NCCL error|Fatal Python|terminate called|igquit|SIGQUIT|load|GGUF"
    r"|OOM killer|SIGTERM|SIGINT|Shutting down|Gracefully|out of memory"
)


def failure_of(lines: t.Sequence[t.Union[Line, str]], unit_state: t.Optional[UnitState] = None) -> t.Optional[Finding]:
    """The failure class and the cause in one sentence (it may hold secrets); ``None`` where no line tells of a failure.

    :arg lines: the lines of one invocation, those of the manager may be among them.
    :arg unit_state: the unit now, where known: how its main process ended counts when no line says more.
    """
    texts = [text_of(line) for line in lines]
    found: dict[str, str] = {}
    stopped = False
    for text in texts:
        if "server_args=" in text or not _INTERESTING.search(text):
            continue
        stopped = stopped or bool(_STOPPED.search(text))
        finding = _line_finding(message_of(text), text, stopped)
        if finding:
            found.setdefault(*finding)
    # The manager's line about the exit may stand before the exception's own.
    own = [text_of(line) for line in lines if isinstance(line, str) or line.source != "manager"]
    for block in tracebacks(own):
        finding = _traceback_finding(block)
        if finding:
            # A traceback names the exception, which says more than the line of whoever noticed the death.
            found[finding[0]] = finding[1] if finding[0] == "server_crashed" else found.get(finding[0], finding[1])
    for failure_class in _ORDER:
        if failure_class in found:
            cause = found[failure_class]
            return failure_class, _with_fraction(cause, texts) if failure_class == "out_of_memory" else cause
    return None if stopped or unit_state is None else _state_finding(unit_state)


def _with_fraction(cause: str, texts: t.Sequence[str]) -> str:
    """*cause* with the share of the GPU's memory that the server was given, which is what one would change."""
    if "OOM killer" in cause or "fraction" in cause:
        return cause
    for text in texts:
        match = _FRACTION.search(text) if "server_args=" in text else None
        if match:
            return f"{cause.rstrip('.')} (mem_fraction_static is {match.group(1)})."
    return cause


def _line_finding(message: str, text: str, stopped: bool) -> t.Optional[Finding]:
    usage = _USAGE_ERROR.fullmatch(text)
    if usage:
        return "bad_arguments", _usage_sentence(usage.group("what"), usage.group("rest"))
    port = _PORT.search(message)
    if port and not message.startswith(" "):
        return "port_in_use", _port_sentence(port)
    if _LLAMA_LOAD.match(text):
        return "model_load_failed", f"The model could not be loaded: {_short(message.partition(': ')[2] or message)}."
    if "killed by the OOM killer" in message:
        return (
            "out_of_memory",
            "The kernel's OOM killer ended a process of the unit: the host's memory did not suffice.",
        )
    for pattern, sentence in _CRASHES:
        match = pattern.search(message)
        if match:
            groups = {"a": "", "b": "", **{k: v or "" for k, v in match.groupdict().items()}}
            if stopped or groups["b"] == "-15":
                return None
            return "server_crashed", sentence.format(signal=_signal(groups["b"]), **groups)
    return None


def _traceback_finding(block: Traceback) -> t.Optional[Finding]:
    child = _CHILD_DIED.search(block.header)
    main = not block.header and (_ENTRY_FRAMES.search(block.frames) or _OWN_MODULE.match(block.frames))
    if not (child or main) or not (block.kind or block.message):
        return None
    what = _short(block.summary)
    if _OUT_OF_MEMORY.search(block.summary):
        return "out_of_memory", f"Memory did not suffice: {what}."
    port = _PORT.search(block.message)
    if port:
        return "port_in_use", _port_sentence(port)
    if _LATE_RULE.search(block.message):
        return "bad_arguments", f"The server refused its configuration: {_short(block.message)}."
    if _MODEL_KIND.search(block.kind) or _MODEL.search(block.message) or _LOADING_FRAMES.search(block.frames):
        return "model_load_failed", f"The model could not be loaded: {what}."
    if (
        main
        and _ARGUMENT_FRAMES.search(block.frames)
        and not block.kind.endswith(("ImportError", "ModuleNotFoundError"))
    ):
        return "bad_arguments", f"The server refused its configuration: {_short(block.message or block.kind)}."
    if _SECONDARY.search(block.kind):
        return None
    return "server_crashed", f"The {child.group('who') if child else 'server'} raised {what}."


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


def _usage_sentence(what: str, rest: str) -> str:
    flags = _FLAG.findall(rest)
    if what == "unrecognized arguments":
        named = ", ".join(f"'{flag}'" for flag in dict.fromkeys(flags)) or f"'{_short(rest.strip(' :'), 80)}'"
        return f"The server does not know the argument {named}."
    if what == "ambiguous option" and flags:
        return f"The server finds the argument '{flags[0]}' ambiguous: it may stand for {', '.join(flags[1:]) or 'several'}."
    if what == "the following arguments are required":
        return f"The server misses the argument {', '.join(flags) or _short(rest.strip(' :'), 80)}."
    flag = flags[0] if flags else _short(rest.strip(" :"), 40)
    reason = rest.partition(": ")[2].partition(" (choose from")[0]
    return f"The server refused the argument '{flag}'{': ' + _short(reason, 120) if reason and what == 'argument' else ''}."


def _port_sentence(match: t.Match[str]) -> str:
    address = (match.groupdict().get("address") or "").replace("'", "").replace(", ", ":")
    where = address or match.groupdict().get("port") or ""
    return f"The server could not bind its port{' ' + where if where else ''}: it is already in use."


def _signal(code: str) -> str:
    names = {
        "-9": " (killed, by the kernel's OOM killer or by hand)",
        "-11": " (segmentation fault)",
        "-6": " (aborted)",
    }
    return names.get(code, "")


def _short(text: str, length: int = 240) -> str:
    text = " ".join(text.split()).rstrip(".")
    return text if len(text) <= length else text[: length - 3].rstrip(" .") + " (…)"
