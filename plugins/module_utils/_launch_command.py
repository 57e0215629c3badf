# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Take apart the command line that starts a server: what stands before it, its interpreter, and its own words."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._shell_script import Command, Script

_SHELLS = frozenset(("sh", "bash", "dash", "ash", "ksh", "zsh"))
_CONTAINERS = frozenset(("docker", "podman", "nerdctl", "apptainer", "singularity", "enroot"))
_CONDA = frozenset(("conda", "mamba", "micromamba"))
_PYTHON = re.compile(r"python\d*(?:\.\d+)?")
# Commands that may set variables for those after them.
_SETTERS = frozenset((".", "source", "eval", "module", "unset", "conda", "mamba", "micromamba"))
_ENTRIES = frozenset(("sglang.launch_server", "sglang.srt.entrypoints.http_server"))
Read = t.Callable[[str], t.Optional[str]]


class Launch(t.NamedTuple):
    """How a server is started.

    ``kind``: how it is wrapped: empty for not at all, ``shell``, ``env``, ``conda``, ``uv``, ``container`` or ``other``.
    ``found``: whether the server's own words were found; ``clear``: whether they are certain without a shell.
    ``sourced``: whether a script reads variables from elsewhere, so that they are not certain.
    ``interpreter``: as written, empty where none is; ``environment`` and ``directory``: what the wrapper sets.
    """

    kind: str = ""
    found: bool = False
    clear: bool = True
    interpreter: str = ""
    words: t.Tuple[str, ...] = ()
    environment: t.Mapping[str, str] = {}
    directory: str = ""
    wrapper: str = ""
    remarks: t.Tuple[str, ...] = ()
    sourced: bool = False


def _nothing(dummy: str) -> t.Optional[str]:
    return None


def read_launch(
    argv: t.Sequence[str], variables: t.Optional[t.Mapping[str, str]] = None, read: Read = _nothing
) -> Launch:
    """Take *argv* apart.

    :arg variables: the environment in which it runs, for scripts.
    :arg read: the text of a file, or ``None``: a script is read by it.
    """
    script = _script_of(argv, read)
    if script is not None:
        return _from_script(argv, script, variables or {})
    return _from_words(argv)


def _script_of(argv: t.Sequence[str], read: Read) -> t.Optional[str]:
    """The shell script that *argv* runs; ``None`` where it runs none."""
    if not argv:
        return None
    if os.path.basename(argv[0]) not in _SHELLS:
        text = read(argv[0]) if argv[0].startswith("/") else None
        first = (text or "").partition("\n")[0]
        shell = re.match(r"#!\s*(?:\S*/env\s+(?:-S\s+)?)?(\S+)", first)
        return text if shell and os.path.basename(shell.group(1)) in _SHELLS else None
    command = False
    for word in argv[1:]:
        if re.fullmatch(r"[-+][a-z]+", word):
            command = command or (word[0] == "-" and "c" in word)
        elif not word.startswith("--"):
            return word if command else (read(word) or "")
    return ""


def _from_script(argv: t.Sequence[str], text: str, variables: t.Mapping[str, str]) -> Launch:
    script = Script(text, variables)
    environment: dict[str, str] = {}
    directory = activated = ""
    sourced = False
    remarks: list[str] = []
    launch = Launch()
    for command in script.commands:
        launch = _from_command(command)
        if launch.found:
            environment.update(script.exported)
            environment.update(command.assigned)
            break
        words = command.words
        if words[:1] == ["cd"] and len(words) == 2 and command.clear:
            directory = os.path.join(directory, words[1])
        elif words[:1] in (["source"], ["."]) and len(words) == 2 and words[1].endswith("/bin/activate"):
            activated = os.path.dirname(words[1])
        elif words and words[0] not in ("export", "set", "exec"):
            sourced = sourced or words[0] in _SETTERS
            remarks.append(f"The script runs '{' '.join(words)[:80]}' before the server.")
    interpreter = launch.interpreter
    if activated and interpreter and "/" not in interpreter:
        interpreter = os.path.join(activated, interpreter)
    return launch._replace(
        kind="shell" if launch.kind in ("", "env") else launch.kind,
        interpreter=interpreter,
        environment={**environment, **launch.environment},
        directory=launch.directory or directory,
        wrapper=" ".join(argv[:2] if len(argv) > 2 else argv)[:200],
        remarks=(*remarks, *launch.remarks),
        clear=launch.found and launch.clear and all(c.clear for c in script.commands),
        sourced=sourced,
    )


def _from_command(command: Command) -> Launch:
    begin = 0
    while command.words[begin : begin + 1] in (["exec"], ["nohup"], ["command"]):
        begin += 1
        if command.words[begin : begin + 1] == ["-a"]:
            begin += 2
    words = command.words[begin:]
    return _from_words(words)._replace(clear=command.clear) if words else Launch()


def _from_words(argv: t.Sequence[str]) -> Launch:
    """The server in a command line without a shell."""
    words = list(argv)
    for index, word in enumerate(words):
        base = os.path.basename(word)
        following = words[index + 1] if index + 1 < len(words) else ""
        if (word == "-m" and following in _ENTRIES) or (base == "sglang" and following == "serve"):
            start, after = index, words[index + 2 :]
        elif word.endswith("sglang/launch_server.py"):
            start, after = index, words[index + 1 :]
        else:
            continue
        return _split(words[:start], word, tuple(after))
    return Launch(wrapper=" ".join(words[:1]))


def _split(before: list[str], entry: str, after: tuple[str, ...]) -> Launch:
    """The launch whose server begins after *before* with *entry*."""
    places = [i for i, word in enumerate(before) if _PYTHON.fullmatch(os.path.basename(word))]
    remarks: list[str] = []
    if places:
        launcher, interpreter = before[: places[-1]], before[places[-1]]
        options = before[places[-1] + 1 :]
        if [o for o in options if o != "-u"]:
            remarks.append(f"The interpreter's options '{' '.join(options)}' are left out.")
    else:
        launcher, interpreter = before, ""
    if os.path.basename(entry) == "sglang":
        # The script's own interpreter lies beside it.
        beside = os.path.join(os.path.dirname(entry), "python")
        interpreter = beside if "/" in entry else "python"
        remarks.append("The server is started by 'sglang serve', and will be by 'python -m sglang.launch_server'.")
    launch = Launch("", True, True, interpreter, after, remarks=tuple(remarks))
    return _with_launcher(launch, launcher) if launcher else launch


def _with_launcher(launch: Launch, launcher: list[str]) -> Launch:
    """*launch* with what stands before its interpreter."""
    name = os.path.basename(launcher[0])
    shown = " ".join(launcher)[:200]
    if name == "env":
        return _with_env(launch, launcher[1:])
    if name in _CONTAINERS:
        remark = f"The server runs in a container ({name}): the role runs it on the host, with an interpreter there."
        return launch._replace(kind="container", interpreter="", wrapper=name, remarks=(*launch.remarks, remark))
    if name in _CONDA or (name == "uv" and "run" in launcher):
        return _with_environment_runner(launch, name, launcher)
    remark = f"'{shown}' before the interpreter is left out: a setting of the unit may say the same (Nice, CPUAffinity, NUMAPolicy)."
    return launch._replace(kind="other", wrapper=shown, remarks=(*launch.remarks, remark))


def _with_env(launch: Launch, words: list[str]) -> Launch:
    environment: dict[str, str] = {}
    remarks = list(launch.remarks)
    index = 0
    while index < len(words):
        word = words[index]
        if word in ("-u", "--unset", "-C", "--chdir"):
            remarks.append(f"The option '{word} {' '.join(words[index + 1 : index + 2])}' of env is left out.")
            index += 1
        elif "=" in word and not word.startswith("-"):
            name, dummy, value = word.partition("=")
            environment[name] = value
        elif word.startswith("-"):
            remarks.append(f"The option '{word}' of env is left out.")
        elif os.path.basename(word) != "env":
            break
        index += 1
    launch = launch._replace(
        kind="env", environment={**environment, **launch.environment}, wrapper="env", remarks=tuple(remarks)
    )
    rest = words[index:]
    return _with_launcher(launch, rest) if rest else launch


def _with_environment_runner(launch: Launch, name: str, launcher: list[str]) -> Launch:
    """``conda run`` and ``uv run``: both run the interpreter of an environment that they are told."""
    options = {"-p": "", "--prefix": "", "-n": "", "--name": "", "--project": "", "--directory": "", "--python": ""}
    for index, word in enumerate(launcher):
        flag, sep, value = word.partition("=")
        if flag in options:
            options[flag] = value if sep else " ".join(launcher[index + 1 : index + 2])
    base = os.path.basename(launch.interpreter) or "python"
    interpreter = launch.interpreter if launch.interpreter.startswith("/") else ""
    if name == "uv":
        project = options["--project"] or options["--directory"]
        interpreter = interpreter or (os.path.join(project, ".venv", "bin", base) if project else "")
        return launch._replace(
            kind="uv", interpreter=interpreter, directory=options["--directory"], wrapper=" ".join(launcher)[:200]
        )
    prefix = options["-p"] or options["--prefix"]
    named = options["-n"] or options["--name"]
    if not prefix and named and launcher[0].startswith("/"):
        # ROOT/bin/conda and ROOT/condabin/conda both have their environments in ROOT/envs.
        root = os.path.dirname(os.path.dirname(launcher[0]))
        prefix = root if named == "base" else os.path.join(root, "envs", named)
    interpreter = interpreter or (os.path.join(prefix, "bin", base) if prefix else "")
    return launch._replace(kind="conda", interpreter=interpreter, wrapper=" ".join(launcher)[:200])
