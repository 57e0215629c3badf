# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The signatures by which an engine's log tells why a start failed: one table, and the sentence for each of its rows.

The texts are those of SGLang 0.5.6 to 0.5.23, uvicorn, PyTorch, systemd, llama.cpp and vLLM. Each row has a line in the tests.
"""

from __future__ import annotations

import re
import typing as t

# Where a row is looked for: in any line; in the "kind: message" of the exception that ended the main thread or a child; in the
# frames of such an exception; in those of the main thread alone.
LINE, EXCEPTION, FRAMES, MAIN_FRAMES = "line", "exception", "frames", "main frames"
BAD, MEMORY, PORT, MODEL, CRASH = "bad_arguments", "out_of_memory", "port_in_use", "model_load_failed", "server_crashed"


class Signature(t.NamedTuple):
    """One row. failure_class: empty for what is only the consequence of another death.

    sentence: the cause, with the pattern's groups and the fields that explain() adds.
    """

    name: str
    where: t.Tuple[str, ...]
    failure_class: str
    pattern: t.Pattern[str]
    sentence: str


_USAGE = r"^(?:[\w./-]+ ){0,3}?(?:[\w./-]+: )?error: "
_VLLM = r"^(?:ERROR [^\]]*\] )?"
_UNFIT = "The server refused its configuration: {message}."
_NO_MEMORY = "Memory did not suffice: {summary}."
_NO_MODEL = "The model could not be loaded: {summary}."
_LOST = "The ranks lost each other: {what}."
_BOUND = "The server could not bind its port{address}: it is already in use."

# The first row of a kind that matches a line, or an exception, tells what that is.
SIGNATURES: t.Tuple[Signature, ...] = tuple(
    Signature(name, tuple(where.split(", ")), failure_class, re.compile(pattern), sentence)
    for name, where, failure_class, pattern, sentence in (
        # The command line, by argparse and by llama.cpp.
        ("unknown argument", LINE, BAD, _USAGE + "unrecognized arguments(?P<rest>.*)",
         "The server does not know the argument {quoted_flags}."),
        ("ambiguous argument", LINE, BAD, _USAGE + "ambiguous option(?P<rest>.*)",
         "The server finds the argument '{flag}' ambiguous: it may stand for {other_flags}."),
        ("missing argument", LINE, BAD, _USAGE + "the following arguments are required(?P<rest>.*)",
         "The server misses the argument {flags}."),
        ("refused argument", LINE, BAD, _USAGE + "(?:argument|(?P<invalid>invalid argument))(?P<rest>.*)",
         "The server refused the argument '{flag}'{reason}."),
        # Memory of the host and of the GPU.
        ("OOM killer", LINE, MEMORY, "killed by the OOM killer",
         "The kernel's OOM killer ended a process of the unit: the host's memory did not suffice."),
        ("GPU memory", EXCEPTION, MEMORY, "OutOfMemoryError|[Oo]ut of memory|CUBLAS_STATUS_ALLOC_FAILED", _NO_MEMORY),
        ("memory fraction", EXCEPTION, MEMORY, r"Not enough memory\. Please try|leave no GPU memory for the KV cache", _NO_MEMORY),
        ("host memory", EXCEPTION, MEMORY, "[Cc](?:annot|an't) allocate memory|std::bad_alloc|MemoryError", _NO_MEMORY),
        ("memory of vLLM", LINE, MEMORY,
         _VLLM + "ValueError: (?P<what>No available memory for the cache blocks.*|Free memory on device .* is less than desired.*"
         "|To serve at least one request .* larger than the available KV cache memory.*)", "Memory did not suffice: {what}."),
        # Ports; who holds one is told by whoever knows the sockets.
        ("port", f"{LINE}, {EXCEPTION}", PORT,
         r"^(?! ).*\[Errno 98\] (?:error while attempting to bind on address \((?P<where>[^)]{0,200})\)|Address already in use)", _BOUND),
        ("inner port", f"{LINE}, {EXCEPTION}", PORT, r"^(?! ).*\b\w+ at (?P<where>\d+) is not available in \d+ seconds", _BOUND),
        ("port of llama.cpp", LINE, PORT, "^(?! ).*couldn't bind (?:HTTP server|to server) socket", _BOUND),
        # Rules about the arguments that the scheduler checks only after it has loaded the weights.
        ("late rule", EXCEPTION, BAD,
         "required for DFLASH|DFLASH with a quantized target lm_head|DFLASH mask_token_id|DFLASH requires tokenizer"
         "|unsupported with DFLASH|does not yet support DFLASH|Unknown speculative algorithm name", _UNFIT),
        # Weights, tokenizer and configuration.
        ("weights of llama.cpp", LINE, MODEL,
         r"^[\d.]+ E \w.{0,200}?: (?P<what>.*?(?:error loading model|failed to load model|failed to open GGUF file|model loading error).*)",
         "The model could not be loaded: {what}."),
        ("missing weights", EXCEPTION, MODEL,
         r"Cannot find any model weights|does not appear to have a file named|No such file or directory: '[^']*(?:config|tokenizer|model)",
         _NO_MODEL),
        ("unknown model", EXCEPTION, MODEL,
         "Repo id must be in the form|is not a local folder and is not a valid model identifier|Incorrect path_or_model_id"
         r"|^[\w.]*(?:RepositoryNotFound|LocalEntryNotFound|EntryNotFound|GatedRepo|HFValidation|OfflineModeIsEnabled)\w*", _NO_MODEL),
        ("unknown architecture", EXCEPTION, MODEL,
         "Unrecognized (?:model|configuration class)|Model architectures? .{1,300} (?:are|is) not supported|Cannot find model module",
         _NO_MODEL),
        ("unreadable weights", EXCEPTION, MODEL,
         "[Ss]afetensor|Error while deserializing header|Can't load (?:the )?(?:tokenizer|config|model|image processor)", _NO_MODEL),
        ("while it loaded", FRAMES, MODEL, r"in (?:load_model|load_weights|_get_weights_iterator|get_tokenizer|get_config)\b", _NO_MODEL),
        # A missing library shows among the frames of the arguments, too.
        ("library", EXCEPTION, CRASH, r"^[\w.]*(?:ImportError|ModuleNotFoundError)\b", "The {who} raised {summary}."),
        ("rule", MAIN_FRAMES, BAD, 'File "[^"]*(?:server_args|arg_groups|argparse)', _UNFIT),
        # What a process meets when another one died first.
        ("consequence", EXCEPTION, "", r"^[\w.]*(?:BrokenPipeError|EOFError|ConnectionResetError|KeyboardInterrupt|SystemExit)", ""),
        ("lost node", EXCEPTION, CRASH, r"\bgloo\b.{0,400}Connection (?:closed|reset) by peer \[(?P<what>[^\]]+)\]",
         "A scheduler on the node at {what} went away: the log of that node tells why."),
        ("ranks", f"{LINE}, {EXCEPTION}", CRASH, "DistBackendError: (?P<what>.*)|(?P<what2>NCCL error in: .*)", _LOST),
        ("collective", f"{LINE}, {EXCEPTION}", CRASH, "(?P<what>Watchdog caught collective operation timeout)", _LOST),
        ("exception", EXCEPTION, CRASH, "", "The {who} raised {summary}."),
        # Deaths that another process tells of.
        ("child", LINE, CRASH, r"Subprocess (?P<what>\S+) \(pid=\d+\) crashed with exit code (?P<code>-?\d+)",
         "The server's process '{what}' ended with exit code {code}{signal}."),
        ("rank", LINE, CRASH, r"Rank (?P<what>\d+) scheduler (?:died during initialization \(exit code: (?P<code>-?\d+)\)|is dead)",
         "The scheduler of rank {what} died while it started, with exit code {code}{signal}."),
        ("node", LINE, CRASH, r"Scheduler or DataParallelController (?P<what>\d+) terminated with (?P<code>-?[1-9]\d*)",
         "The scheduler process {what} ended with exit code {code}{signal}."),
        ("watchdog", LINE, CRASH, r"(?:(?<!\w)(?P<what>[A-Za-z]\w*) )?[Ww]atchdog timeout \(",
         "The {what} watchdog found a batch that never ended."),
        ("warm-up", LINE, CRASH, r"Initialization failed\. warmup error:", "The server's own warm-up request failed."),
        ("abort", LINE, CRASH, "(?P<what>Fatal Python error: .*|terminate called after throwing .*)", "The server crashed: {what}."),
        ("SIGQUIT", LINE, CRASH, r"Received sigquit from a child process|SIGQUIT received\.",
         "A child process failed and took the server down; its own lines say no more."),
        ("engine of vLLM", LINE, CRASH, _VLLM + "RuntimeError: (?P<what>Engine core initialization failed.*)",
         "The server crashed: {what}."),
    )
)  # fmt: skip
# The cause comes before its consequence: a child that ran out of memory is reported as a crash, too.
ORDER = (BAD, MEMORY, PORT, MODEL, CRASH)
# A line without any of these is none of the table's, which spares a long log most of the search.
TELLING = re.compile(
    r"error: |Error: |Errno 98|is not available in|couldn't bind|Traceback \(most|crashed with exit|died during|is dead"
    r"|terminated with|atchdog|warmup error|NCCL error|Fatal Python|terminate called|igquit|SIGQUIT|load|GGUF"
    r"|OOM killer|SIGTERM|SIGINT|Shutting down|Gracefully|out of memory"
)
_FLAG = re.compile(r"--?[A-Za-z][\w-]*")
_SIGNALS = {
    "-9": " (killed, by the kernel's OOM killer or by hand)",
    "-11": " (segmentation fault)",
    "-6": " (aborted)",
}


def finding_in(
    texts: t.Mapping[str, str], who: str = "", message: str = ""
) -> t.Optional[t.Tuple[Signature, str, str]]:
    """The first row that matches one of *texts*, by where they are from, with the cause in one sentence and the exit code.

    :arg who: the process whose exception it is; *message*: the exception's message.
    """
    for signature in SIGNATURES:
        for where in signature.where:
            match = signature.pattern.search(texts[where]) if where in texts else None
            if match:
                groups = {name: value or "" for name, value in match.groupdict().items()}
                fields = {"who": who, "message": short(message), "summary": short(texts.get(EXCEPTION, ""))}
                return signature, _sentence(signature, groups, fields), groups.get("code", "")
    return None


def _sentence(signature: Signature, groups: t.Mapping[str, str], fields: t.Mapping[str, str]) -> str:
    address = groups.get("where", "").replace("'", "").replace(", ", ":")
    code = groups.get("code", "")
    said = signature.sentence.format(
        **_usage_fields(groups.get("rest", ""), bool(groups.get("invalid"))),
        what=short(groups.get("what") or groups.get("what2") or ""),
        address=f" {address}" if address else "",
        code=code or "unknown",
        signal=_SIGNALS.get(code, ""),
        **fields,
    )
    return " ".join(said.split())


def _usage_fields(rest: str, invalid: bool) -> dict[str, str]:
    """What a sentence says of the flags in *rest*, the end of a usage error; values may be secrets and are left out."""
    flags = list(dict.fromkeys(_FLAG.findall(rest)))
    bare = short(rest.strip(" :"), 40)
    reason = "" if invalid else short(rest.partition(": ")[2].partition(" (choose from")[0], 120)
    return {
        "flag": flags[0] if flags else bare,
        "flags": ", ".join(flags) or bare,
        "quoted_flags": ", ".join(f"'{flag}'" for flag in flags) or f"'{bare}'",
        "other_flags": ", ".join(flags[1:]) or "several",
        "reason": f": {reason}" if reason else "",
    }


def short(text: str, length: int = 240) -> str:
    """*text* on one line and cut between words: who masks it later does not know half a secret."""
    text = " ".join(text.split()).rstrip(".")
    return text if len(text) <= length else text[: text.rfind(" ", 0, length - 3) + 1].rstrip(" .") + " (…)"
