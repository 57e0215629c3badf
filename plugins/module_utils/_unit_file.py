# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The text of the unit or drop-in that runs one server: equal input gives equal bytes, in whatever order it comes."""

from __future__ import annotations

import hashlib
import re
import typing as t
from dataclasses import dataclass, field

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import UNIT_FINGERPRINT
from ansible_collections.llmops.sglang.plugins.module_utils._unit_syntax import (
    argument_word,
    check_text,
    environment_word,
)

MARKER = "# Managed by llmops.sglang.server_unit: what is changed here by hand will be lost."
# systemd reads drop-ins by their names: this one after those that begin with a digit, and after override.conf.
DROP_IN = "zz-llmops-sglang.conf"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
# The newest systemd whose features are used; assumed where none can be asked.
MODERN_SYSTEMD = 252

# Only the service manager reads these: a process that runs is not out of date when they change.
_MANAGER_ONLY = re.compile(
    r"Restart\w*|Timeout\w*|KillMode|KillSignal|FinalKillSignal|SendSIG\w+|SuccessExitStatus|ExecStop|ExecStopPost|ExecReload|OOMPolicy"
)
# Lists that the module itself begins; a user's values are added to them.
_ADDED = frozenset(("EnvironmentFile", "LoadCredential"))
_OWN_OPTION = {
    "ExecStart": "args",
    "Environment": "environment",
    "User": "user",
    "Group": "group",
    "WorkingDirectory": "working_directory",
}


@dataclass(frozen=True)
class UnitPlan:
    """All that goes into one unit file.

    ``words`` are literal; ``raw_words`` may hold variables that systemd shall expand. ``overrides`` maps a section to the
    user's own settings: a value, a list for a repeated key, or ``None`` to leave a default out.
    """

    name: str
    words: list[str]
    raw_words: list[str] = field(default_factory=list)
    scope: str = "system"
    style: str = "unit"
    environment: t.Mapping[str, str] = field(default_factory=dict)
    environment_file: str = ""
    credential: str = ""
    user: str = ""
    group: str = ""
    working_directory: str = ""
    overrides: t.Mapping[str, t.Mapping[str, t.Any]] = field(default_factory=dict)
    systemd: int = MODERN_SYSTEMD


def render(plan: UnitPlan) -> str:
    """The text of the file.

    :raises Failure: ``unit_invalid`` if a value cannot stand in a unit file.
    """
    sections = [("Unit", _merged(plan, "Unit", _unit_defaults(plan)))] if plan.style == "unit" else []
    if plan.style != "unit" and plan.overrides.get("Unit"):
        sections.append(("Unit", _merged(plan, "Unit", {})))
    sections.append(("Service", _service(plan)))
    install: dict[str, list[str]] = {"WantedBy": ["default.target" if plan.scope == "user" else "multi-user.target"]}
    install = _merged(plan, "Install", install if plan.style == "unit" else {})
    # systemd ignores [Install] in a drop-in.
    if install and plan.style == "unit":
        sections.append(("Install", install))
    blocks = ["\n".join([f"[{title}]", *_lines(settings)]) for title, settings in sections]
    return "\n".join([MARKER, "\n\n".join(blocks), ""])


def fingerprint_of(text: str) -> str:
    """The fingerprint that a unit file written here carries; empty for another file."""
    match = re.search(rf"^Environment={UNIT_FINGERPRINT}=([0-9a-f]{{64}})$", text, flags=re.MULTILINE)
    return match.group(1) if match else ""


def is_own(text: str) -> bool:
    """Whether a unit file was written here."""
    return text.startswith(MARKER) or bool(fingerprint_of(text))


def exec_start_value(text: str) -> str:
    """The value of ExecStart= as it stands in a file that was written here, on one line."""
    match = re.search(r"^ExecStart=(?=.)((?:.*\\\n)*.*)$", text, flags=re.MULTILINE)
    return re.sub(r" \\\n\s*", " ", match.group(1)) if match else ""


def _unit_defaults(plan: UnitPlan) -> dict[str, list[str]]:
    network = {} if plan.scope == "user" else {"Wants": ["network-online.target"], "After": ["network-online.target"]}
    return {
        "Description": [f"SGLang server {plan.name[: -len('.service')].replace('%', '%%')}"],
        **network,
        # A load takes minutes: a loop of failing starts shows over half an hour, not over the default ten seconds.
        "StartLimitIntervalSec": ["1800"],
        "StartLimitBurst": ["5"],
    }


# Zero would mean journald's own limits on systemd before 256: 35,000 of 60,000 lines arrived on 252, and all with these.
_NO_RATE_LIMIT = {"LogRateLimitIntervalSec": ["1us"], "LogRateLimitBurst": ["1000000"]}


def _service_defaults(plan: UnitPlan) -> dict[str, list[str]]:
    """What fits this server: SIGINT to the main process alone lets running requests end and exits with 0."""
    return {
        "Restart": ["on-failure"],
        "RestartSec": ["10"],
        # argparse exits with 2: a command line that was refused once is refused again.
        "RestartPreventExitStatus": ["2"],
        "KillMode": ["mixed"],
        "KillSignal": ["SIGINT"],
        "TimeoutStopSec": ["600"],
        "LimitMEMLOCK": ["infinity"],
        "LimitNOFILE": ["1048576"],
        **(_NO_RATE_LIMIT if plan.systemd >= 240 else {}),
    }


def _service(plan: UnitPlan) -> dict[str, list[str]]:
    own = {
        "Type": ["exec" if plan.systemd >= 240 else "simple"] if plan.style == "unit" else [],
        "User": [_whole(plan.user, "The option 'user'")] if plan.user else [],
        "Group": [_whole(plan.group, "The option 'group'")] if plan.group else [],
        "WorkingDirectory": [_working_directory(plan)] if plan.working_directory else [],
        "Environment": [environment_word(k, v) for k, v in sorted(_environment(plan).items())],
        "EnvironmentFile": [plan.environment_file.replace("%", "%%")] if plan.environment_file else [],
        "LoadCredential": [plan.credential.replace("%", "%%")] if plan.credential else [],
        # A drop-in clears the list first: a service may have one ExecStart= only.
        "ExecStart": ([""] if plan.style == "drop_in" else []) + [_exec_start(plan)],
    }
    settings = _merged(plan, "Service", {**own, **(_service_defaults(plan) if plan.style == "unit" else {})})
    for key, option in _OWN_OPTION.items():
        if key in plan.overrides.get("Service", {}):
            raise Failure("unit_invalid", f"The setting '{key}' in 'service' has an option of its own: use '{option}'.")
    inherited = [line for line in _lines(settings) if not _MANAGER_ONLY.fullmatch(line.partition("=")[0])]
    fingerprint = hashlib.sha256("\n".join(inherited).encode("utf-8")).hexdigest()
    settings["Environment"] = [*settings.get("Environment", []), f"{UNIT_FINGERPRINT}={fingerprint}"]
    return settings


def _working_directory(plan: UnitPlan) -> str:
    return _whole(plan.working_directory.replace("%", "%%"), "The option 'working_directory'")


def _environment(plan: UnitPlan) -> dict[str, str]:
    """The user's environment, unbuffered output, and no proxy for loopback where there is a proxy at all."""
    environment = dict(plan.environment) if plan.style == "drop_in" else {"PYTHONUNBUFFERED": "1", **plan.environment}
    if any(name.lower() in ("http_proxy", "https_proxy", "all_proxy") and value for name, value in environment.items()):
        given = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
        hosts = [h.strip() for h in given.split(",") if h.strip()]
        if "*" not in hosts:
            hosts += [h for h in LOOPBACK if h not in hosts]
        environment["NO_PROXY"] = environment["no_proxy"] = ",".join(hosts)
    return environment


def _exec_start(plan: UnitPlan) -> str:
    """The command, one flag with its values a line: that is what a reviewer compares."""
    if not plan.words[0].startswith("/") or re.search(r"[$\s\"'\\;]", plan.words[0]):
        raise Failure(
            "unit_invalid",
            f"The interpreter '{plan.words[0]}' is no absolute path that systemd can run: give one without spaces, quotes, '$' and ';'.",
        )
    lines: list[list[str]] = [[]]
    words = [(word, argument_word(word)) for word in plan.words] + [(word, word) for word in plan.raw_words]
    for literal, written in words:
        if literal.startswith("--"):
            lines.append([])
        lines[-1].append(written)
    return " \\\n    ".join(" ".join(line) for line in lines)


def _merged(plan: UnitPlan, section: str, defaults: t.Mapping[str, list[str]]) -> dict[str, list[str]]:
    """*defaults* with the user's settings of one section over them."""
    settings = {key: list(values) for key, values in defaults.items() if values}
    for key, value in sorted(plan.overrides.get(section, {}).items()):
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", key):
            raise Failure(
                "unit_invalid", f"The key '{key}' for [{section}] is no setting's name: see systemd.directives(7)."
            )
        values = _setting_values(section, key, value)
        settings[key] = settings.get(key, []) + values if key in _ADDED else values
        if not settings[key]:
            del settings[key]
    return settings


def _setting_values(section: str, key: str, value: t.Any) -> list[str]:
    values = value if isinstance(value, list) else [] if value is None else [value]
    texts = []
    for one in values:
        if isinstance(one, (dict, list)):
            raise Failure(
                "unit_invalid", f"The setting '{key}' for [{section}] takes a value or a list of values: correct it."
            )
        text = {True: "yes", False: "no"}[one] if isinstance(one, bool) else str(one)
        texts.append(_whole(text, f"The setting '{key}' for [{section}]"))
    return texts


def _whole(text: str, what: str) -> str:
    """*text* where it can be the rest of a line.

    :raises Failure: ``unit_invalid``.
    """
    check_text(text, what)
    if "\r" in text:
        raise Failure("unit_invalid", f"{what} holds a carriage return, which ends a line to systemd: take it out.")
    if text.endswith("\\"):
        raise Failure("unit_invalid", f"{what} ends with a backslash, which joins lines: take it off.")
    return text


def _lines(settings: t.Mapping[str, list[str]]) -> list[str]:
    return [f"{key}={value}" for key, values in settings.items() for value in values]
