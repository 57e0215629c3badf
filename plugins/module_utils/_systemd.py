# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What the service manager says of a unit, and the verbs that change it."""

from __future__ import annotations

import os
import re
import shlex
import time
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._environment_file import read_file
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._unit_name import closest
from ansible_collections.llmops.sglang.plugins.module_utils._unit_syntax import parse_unit, setting, split_words

RunCommand = t.Callable[..., "tuple[int, str, str]"]

_PROPERTIES = [
    "Id",
    "LoadState",
    "LoadError",
    "ActiveState",
    "SubState",
    "Result",
    "Type",
    "UnitFileState",
    "InvocationID",
    "MainPID",
    "NRestarts",
    "ExecMainCode",
    "ExecMainStatus",
    "ExecMainStartTimestampMonotonic",
    "InactiveExitTimestampMonotonic",
    "ControlGroup",
    "FragmentPath",
    "DropInPaths",
    "NeedDaemonReload",
    "Environment",
    "EnvironmentFiles",
    "ExecStart",
    "LoadCredential",
    "UnsetEnvironment",
    "KillMode",
    "KillSignal",
    "User",
    "Group",
    "WorkingDirectory",
    "Job",
]

# What systemctl meets while the manager executes itself anew, as an upgrade of systemd makes it; that takes about a second.
_EXECUTED_ANEW = re.compile(
    "Transport endpoint is not connected|disconnected from message bus|Connection reset by peer|Broken pipe"
)
_NUMBER = re.compile("[0-9]{1,19}")
_PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0)


@dataclass(frozen=True)
class UnitState:
    """One ``systemctl show`` of a service; times are monotonic microseconds, 0 where there is none."""

    name: str
    properties: dict[str, str] = field(repr=False)

    @property
    def load_state(self) -> str:
        return self.properties.get("LoadState", "")

    @property
    def active_state(self) -> str:
        return self.properties.get("ActiveState", "")

    @property
    def sub_state(self) -> str:
        return self.properties.get("SubState", "")

    @property
    def result(self) -> str:
        return self.properties.get("Result", "")

    @property
    def unit_file_state(self) -> str:
        return self.properties.get("UnitFileState", "")

    @property
    def invocation_id(self) -> str:
        """32 lower-case hexadecimal digits; empty where the unit never started."""
        return plain_invocation_id(self.properties.get("InvocationID", ""))

    @property
    def main_pid(self) -> int:
        return self._number("MainPID")

    @property
    def n_restarts(self) -> int:
        return self._number("NRestarts")

    @property
    def exec_main_code(self) -> str:
        return self.properties.get("ExecMainCode", "")

    @property
    def exec_main_status(self) -> int:
        return self._number("ExecMainStatus")

    @property
    def exec_main_start_monotonic_us(self) -> int:
        return self._number("ExecMainStartTimestampMonotonic")

    @property
    def control_group(self) -> str:
        return self.properties.get("ControlGroup", "")

    @property
    def fragment_path(self) -> str:
        return self.properties.get("FragmentPath", "")

    @property
    def transient(self) -> bool:
        """Whether it was made by ``systemd-run``: it is gone once it is stopped."""
        return os.path.basename(os.path.dirname(self.fragment_path)) == "transient"

    @property
    def drop_in_paths(self) -> list[str]:
        return self.properties.get("DropInPaths", "").split()

    @property
    def need_daemon_reload(self) -> bool:
        return self.properties.get("NeedDaemonReload") == "yes"

    @property
    def environment_files(self) -> list[str]:
        # Where its systemctl calls the property by the name of the setting, it is asked for by the other name all the same.
        shown = "\n".join(self.properties.get(key, "") for key in ("EnvironmentFiles", "EnvironmentFile"))
        *found, dummy = re.split(r" \(ignore_errors=(?:yes|no)\)", shown)
        return [path for path in (text.rpartition("\n")[2].strip() for text in found) if path]

    @property
    def exists(self) -> bool:
        """Whether systemd has a usable unit of that name."""
        return self.load_state in ("loaded", "masked")

    @property
    def running(self) -> bool:
        """Whether a main process of the unit is there."""
        return self.main_pid > 0 and self.active_state in ("active", "activating", "deactivating", "reloading")

    def _number(self, name: str) -> int:
        value = self.properties.get(name, "")
        return int(value) if _NUMBER.fullmatch(value) else 0


class Manager:
    """The system's service manager, or the one of the user that runs the module.

    :arg run_command: ``AnsibleModule.run_command``.
    :arg scope: ``system`` or ``user``.
    :raises Failure: ``no_such_unit`` if the user has no running manager.
    """

    def __init__(self, run_command: RunCommand, scope: str = "system", uid: t.Optional[int] = None) -> None:
        self.run_command = run_command
        self.sleep = time.sleep
        self.scope = scope
        self.command_environ: dict[str, str] = {"LC_ALL": "C", "SYSTEMD_PAGER": "", "SYSTEMD_COLORS": "0"}
        if scope == "user":
            runtime = f"/run/user/{os.getuid() if uid is None else uid}"
            if not os.path.exists(f"{runtime}/systemd/private"):
                raise Failure(
                    "no_such_unit",
                    f"No user service manager runs for uid {runtime.rsplit('/', 1)[1]} ('{runtime}/systemd' is not there): "
                    "enable lingering for that user with 'loginctl enable-linger'.",
                )
            self.command_environ["XDG_RUNTIME_DIR"] = runtime
            if os.path.exists(f"{runtime}/bus"):
                self.command_environ["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={runtime}/bus"

    def systemctl(self, *words: str, check: bool = True) -> tuple[int, str, str]:
        """Run ``systemctl`` in this scope.

        :raises Failure: ``no_permission`` or ``unit_invalid`` with systemctl's own words, if *check* and it failed.
        """
        rc, out, err = self._run("systemctl", *words)
        if rc != 0 and check:
            said = " ".join((err or out).split()) or f"exit status {rc}"
            if is_denied(said):
                who = "as root (become)" if self.scope == "system" else "as the unit's own user"
                msg = (
                    f"systemctl {' '.join(words)} is not allowed for this user: {said.rstrip('.')}; run the task {who}."
                )
                raise Failure("no_permission", msg)
            raise Failure("unit_invalid", f"systemctl {' '.join(words)} failed: {said}")
        return rc, out, err

    def show(self, name: str) -> UnitState:
        """The unit's state now; an unknown unit has the load state ``not-found``."""
        words = ("show", "--no-pager", f"--property={','.join(_PROPERTIES)}", "--", name)
        for pause in _PAUSES:
            rc, out, err = self.systemctl(*words, check=False)
            if rc == 0 or not _EXECUTED_ANEW.search(err):
                break
            self.sleep(pause)
        if rc != 0:
            dummy, out, dummy2 = self.systemctl(*words)
        return UnitState(name, parse_properties(out))

    def daemon_reload(self) -> None:
        self.systemctl("daemon-reload")

    def unit_names(self) -> list[str]:
        """Names of all service units that are loaded or have a file."""
        names: set[str] = set()
        for verb, flags in (("list-unit-files", ()), ("list-units", ("--all",))):
            dummy, out, dummy2 = self.systemctl(
                verb, "--type=service", "--no-legend", "--no-pager", "--plain", *flags, check=False
            )
            names.update(line.split()[0] for line in out.split("\n") if line.strip())
        return sorted(names)

    def no_such_unit(self, state: UnitState) -> Failure:
        """The failure for a unit that systemd does not know, with the names that look most like it."""
        if state.load_state in ("bad-setting", "error"):
            why = state.properties.get("LoadError", "").partition(" ")[2].strip('"')
            return Failure(
                "no_such_unit",
                f"The unit '{state.name}' cannot be loaded ({state.load_state}{': ' + why if why else ''}): "
                f"run 'systemd-analyze verify {state.name}' on the host.",
            )
        near = closest(state.name, self.unit_names())
        offer = (
            f"the closest names here are {', '.join(repr(n) for n in near)}" if near else "no name here looks like it"
        )
        return Failure("no_such_unit", f"There is no unit '{state.name}' on this host: {offer}.")

    def exec_start(self, name: str) -> list[str]:
        """The words of the first ``ExecStart=`` as systemd holds them: specifiers expanded, variables not.

        Where the prefix ``:`` keeps systemd from expanding variables, ``$`` is doubled, so that words always read the same way.
        """
        tokens = self._property_tokens(name, "ExecStart")
        if tokens is not None:
            # a(sasb...): how many commands, the path, how many words, the words.
            count = int(tokens[2]) if len(tokens) > 2 and _NUMBER.fullmatch(tokens[2]) else 0
            words = tokens[3 : 3 + count]
            if any("$" in word for word in words):
                # a(sasas...): the same, and the flags after the words.
                flags = (self._property_tokens(name, "ExecStartEx") or [])[4 + count :]
                return _doubled(words) if "no-env-expand" in flags else words
            return words
        state = self.show(name)
        rest = state.properties.get("ExecStart", "").partition("argv[]=")[2]
        shown, end, dummy = rest.partition(" ; ignore_errors=")
        return _words_shown(shown, state) if end else []

    def environment(self, name: str) -> dict[str, str]:
        """The unit's ``Environment=`` as systemd holds it, without what its environment files add."""
        tokens = self._property_tokens(name, "Environment")
        words = tokens[1:] if tokens is not None else _split_words(self.show(name).properties.get("Environment", ""))
        return dict(word.partition("=")[::2] for word in words)

    def load_credentials(self, state: UnitState) -> list[tuple[str, str]]:
        """Name and source of each ``LoadCredential=``; nothing where there is none or it cannot be read."""
        # systemctl shows no more of it than that it is there.
        if not state.properties.get("LoadCredential"):
            return []
        tokens = self._property_tokens(state.name, "LoadCredential")
        if tokens is None:
            return [(one.partition(":")[0], one.partition(":")[2]) for one in _from_files(state, "LoadCredential")]
        return list(zip(tokens[1::2], tokens[2::2]))

    def _property_tokens(self, name: str, prop: str) -> t.Optional[list[str]]:
        path = f"/org/freedesktop/systemd1/unit/{bus_label(name)}"
        rc, out, dummy = self._run(
            "busctl", "get-property", "org.freedesktop.systemd1", path, "org.freedesktop.systemd1.Service", prop
        )
        return parse_bus_tokens(out)[1:] if rc == 0 else None

    def _run(self, command: str, *words: str) -> tuple[int, str, str]:
        argv = [command, *(("--user",) if self.scope == "user" else ()), *words]
        return self.run_command(argv, environ_update=self.command_environ, check_rc=False)


def is_denied(said: str) -> bool:
    """Whether systemctl's words *said* mean that the user may not do it; a masked polkit is asked for nobody else."""
    return bool(
        re.search(r"[Aa]ccess denied|[Aa]uthentication (?:is )?required|Permission denied|polkit|PolicyKit", said)
    )


def version_of(text: str) -> int:
    """The version in what ``systemctl --version`` prints; 0 where it names none."""
    match = re.match(r"systemd (\d+)", text)
    return int(match.group(1)) if match else 0


def plain_invocation_id(text: t.Optional[str]) -> str:
    """An invocation id without dashes, in lower case; empty for none and for all zeros."""
    plain = (text or "").replace("-", "").strip().lower()
    return "" if not plain.strip("0") else plain


def parse_properties(text: str) -> dict[str, str]:
    """``systemctl show`` as a mapping; the values of a repeated property are joined by line breaks."""
    properties: dict[str, list[str]] = {}
    # Not splitlines(): a value may hold other characters that Python takes for line ends.
    for line in text.split("\n"):
        key, sep, value = line.partition("=")
        if sep:
            properties.setdefault(key, []).append(value)
    return {key: "\n".join(values) for key, values in properties.items()}


def bus_label(name: str) -> str:
    """*name* as the last part of its D-Bus object path."""
    return "".join(
        c if c.isascii() and c.isalnum() and (i or not c.isdigit()) else f"_{ord(c):02x}" for i, c in enumerate(name)
    )


def parse_bus_tokens(text: str) -> list[str]:
    """The words of one line of ``busctl get-property``: strings are quoted and escaped as in C."""
    return [
        _unescape(word[1:-1]) if word.startswith('"') else word
        for word in re.findall(r'"(?:[^"\\]|\\.)*"|\S+', text.strip(), flags=re.DOTALL)
    ]


def _words_shown(shown: str, state: UnitState) -> list[str]:
    """The words that systemctl joined by blanks to *shown*: by the unit's files, where these say just that.

    A user's manager has no bus of its own on many servers, and the blanks inside of words would divide them.
    """
    values = _from_files(state, "ExecStart")
    try:
        words = [w.replace("%%", "%") for w in split_words(values[0].lstrip("@-:+!"))] if values else []
    except Failure:
        words = []
    words = words if " ".join(words) == shown else shown.split()
    return _doubled(words) if values and re.match("[@+!-]*:", values[0]) else words


def _doubled(words: t.Sequence[str]) -> list[str]:
    return [word.replace("$", "$$") for word in words]


def _from_files(state: UnitState, key: str) -> list[str]:
    """The raw values of a setting of the service in the unit's files."""
    texts = [read_file(path) or "" for path in (state.fragment_path, *state.drop_in_paths) if path]
    return setting(parse_unit("\n".join(texts)), "Service", key)


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "s": " "}


def _unescape(text: str) -> str:
    def one(match: t.Match[str]) -> str:
        word = match.group(1)
        if len(word) == 3:
            return chr(int(word[1:], 16) if word[0] == "x" else int(word, 8))
        return _ESCAPES.get(word, word)

    # Bytes above 127 come as octal escapes; the text itself may hold UTF-8 as well.
    raw = text.encode("utf-8", "surrogateescape").decode("latin-1")
    plain = re.sub(r"\\([0-3][0-7]{2}|x[0-9a-fA-F]{2}|.)", one, raw, flags=re.DOTALL)
    return plain.encode("latin-1").decode("utf-8", "surrogateescape")


def _split_words(text: str) -> list[str]:
    """What ``systemctl show`` quoted for a shell; within double quotes it escapes more than Python's shlex undoes."""
    try:
        return [re.sub(r"\\([$`])", r"\1", word) for word in shlex.split(text)]
    except ValueError:
        return text.split()
