# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What a server reads beside its command line, and whether that changed since its process began."""

from __future__ import annotations

import hashlib
import json
import os
import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._drafter import model_directory
from ansible_collections.llmops.sglang.plugins.module_utils._endpoint import argument
from ansible_collections.llmops.sglang.plugins.module_utils._installed import (
    absolute_interpreter,
    installed_sglang,
)
from ansible_collections.llmops.sglang.plugins.module_utils._launch_command import read_launch

_MODEL_FILES = ("config.json", "generation_config.json", "tokenizer_config.json", "model.safetensors.index.json")
_LABELS = {
    "sglang": "the installed SGLang",
    "model": "the model's configuration",
    "drafter": "the drafter's configuration",
    "config_file": "the server's configuration file",
    "chat_template": "the chat template",
    "script": "the script that starts it",
}
_LARGEST = 32 * 1024 * 1024


class Input(t.NamedTuple):
    """One input: the SHA-256 of its content, and when it last changed (seconds since 1970)."""

    sha256: str
    changed_at: float


def inputs_of(
    argv: t.Sequence[str],
    environ: t.Mapping[str, str],
    home: str = "",
    cwd: str = "",
    command: t.Sequence[str] = (),
) -> dict[str, Input]:
    """The inputs of the server with this command line, by name; those that cannot be read are left out.

    :arg environ: the process's environment: it tells hub caches and ``PYTHONPATH``.
    :arg home: the home of the server's user; *cwd*: the process's working directory.
    :arg command: the words of the unit's own command, of which a script is an input, too.
    """
    script = next((w for w in command[:2] if w.startswith("/") and _is_script(w)), "")
    launch = read_launch(argv)
    if not launch.found:
        return _known({"script": _files([script])}) if script else {}
    found = {"sglang": _software(absolute_interpreter(launch.interpreter, environ), environ, home)}
    for name, flags, revision in (
        ("model", ("--model-path", "--model"), "--revision"),
        (
            "drafter",
            ("--speculative-draft-model-path", "--speculative-draft-model"),
            "--speculative-draft-model-revision",
        ),
    ):
        path = argument(launch.words, *flags)
        if path:
            found[name] = _model(_below(cwd, path), environ, home, argument(launch.words, revision) or "")
    for name, flag in (("config_file", "--config"), ("chat_template", "--chat-template")):
        path = argument(launch.words, flag)
        # A credential is a copy of the invocation's own.
        if path and "/credentials/" not in path and (name != "chat_template" or "/" in path):
            found[name] = _files([_below(cwd, path)])
    if script:
        found["script"] = _files([script])
    return _known(found)


def _known(found: t.Mapping[str, t.Optional[Input]]) -> dict[str, Input]:
    return {name: value for name, value in found.items() if value is not None}


def _is_script(path: str) -> bool:
    try:
        with open(path, "rb") as handle:
            return bool(re.match(rb"#!.*[/ ](?:ba|da|a|k|z)?sh\b", handle.readline(200)))
    except OSError:
        return False


def changed_inputs(
    inputs: t.Mapping[str, Input], started_at: float, invocation_id: str, kept: t.Mapping[str, t.Any]
) -> list[str]:
    """Which of *inputs* are not those that the process began with, in words.

    :arg started_at: when the process began; :arg kept: what :class:`InputMemory` holds of the unit.
    """
    found = []
    remembered = kept.get("sha256") or {}
    for name, one in inputs.items():
        if remembered.get(name) == one.sha256:
            continue
        # What was not there at the start of this very invocation, its server has fetched itself.
        same_invocation = kept.get("invocation_id") == invocation_id
        if name in remembered if same_invocation else one.changed_at > started_at:
            found.append(f"{_LABELS[name]} changed since the process started")
    return found


def digests(inputs: t.Mapping[str, Input]) -> dict[str, str]:
    return {name: one.sha256 for name, one in inputs.items()}


class InputMemory:
    """What a unit's last known invocation began with, in a file: the digests of its inputs and of its command, and its variables' names.

    It tells a file that was only touched from one that changed, also after the next boot. Without it, or unreadable, times
    decide alone.
    """

    def __init__(self, unit: str, scope: str, base: str = "") -> None:
        own = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        self.path = os.path.join(base or ("/var/cache" if scope == "system" else own), "llmops-sglang", f"{unit}.json")

    def read(self) -> dict[str, t.Any]:
        try:
            with open(self.path, encoding="utf-8") as handle:
                kept = json.load(handle)
        except (OSError, ValueError, RecursionError):
            return {}
        valid = isinstance(kept, dict) and isinstance(kept.get("sha256"), dict)
        names = kept.get("variables", []) if valid else None
        valid = isinstance(names, list) and all(isinstance(name, str) for name in names)
        return kept if valid else {}

    def write(
        self, invocation_id: str, inputs: t.Mapping[str, Input], command: str = "", variables: t.Sequence[str] = ()
    ) -> None:
        """Keep what *invocation_id* began with; a directory that cannot be written is no failure.

        :arg command: the digest of the unit's own command; empty where that is not known to be the one it began with.
        :arg variables: the names of those that the process has from the unit.
        """
        kept = self.read()
        if kept.get("invocation_id") == invocation_id:
            command = command or kept.get("command", "")
        record = {
            "invocation_id": invocation_id,
            "sha256": digests(inputs),
            "command": command,
            "variables": list(variables),
        }
        if not invocation_id or record == kept:
            return
        temporary = f"{self.path}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o755, exist_ok=True)
            with open(temporary, "w", encoding="utf-8") as handle:
                json.dump(record, handle)
            os.replace(temporary, self.path)
        except OSError:
            return

    def forget(self) -> None:
        try:
            os.unlink(self.path)
        except OSError:
            pass


def words_digest(words: t.Sequence[str]) -> str:
    """The digest of a command or another list of words; they may hold keys, which must not lie in a file."""
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogateescape")).hexdigest()


def _below(cwd: str, path: str) -> str:
    inside = os.path.join(cwd, path) if cwd else path
    return inside if os.path.exists(inside) else path


def _software(interpreter: str, environ: t.Mapping[str, str], home: str) -> t.Optional[Input]:
    """The installed SGLang: its RECORD holds the hashes of all its files, and a directory's time changes with an upgrade."""
    found = installed_sglang(interpreter, environ.get("PYTHONPATH", ""), home)
    if found is None:
        return None
    record = _files([os.path.join(found.metadata, name) for name in ("RECORD", "METADATA", "direct_url.json")])
    content = record.sha256 if record else ""
    try:
        changed = os.stat(found.metadata).st_mtime
    except OSError:
        return None
    return Input(hashlib.sha256(f"{found.metadata}\0{found.version}\0{content}".encode()).hexdigest(), changed)


def _model(path: str, environ: t.Mapping[str, str], home: str, revision: str) -> t.Optional[Input]:
    """A model's small files; of a model of the hub the commit, since a server fetches the files while it starts."""
    directory = model_directory(path, environ, home, revision)
    if not os.path.isdir(directory):
        return None
    if os.path.basename(os.path.dirname(directory)) != "snapshots":
        return _files([os.path.join(directory, name) for name in _MODEL_FILES])
    commit = os.path.basename(os.path.realpath(directory))
    ref = _files([os.path.join(directory, "..", "..", "refs", revision or "main")])
    return Input(hashlib.sha256(commit.encode()).hexdigest(), ref.changed_at if ref else 0.0)


def _files(paths: t.Sequence[str]) -> t.Optional[Input]:
    """Content and last change of those of *paths* that are there; a link's own change counts as well."""
    digest = hashlib.sha256()
    changed = 0.0
    there = False
    for path in paths:
        try:
            with open(path, "rb") as handle:
                data = handle.read(_LARGEST)
                # Copying keeps the time of the content, never that of the inode.
                times = [os.fstat(handle.fileno()).st_ctime, os.lstat(path).st_ctime]
        except OSError:
            continue
        there = True
        changed = max(changed, *times)
        digest.update(f"{os.path.basename(path)}\0{len(data)}\0".encode() + data)
    return Input(digest.hexdigest(), changed) if there else None
