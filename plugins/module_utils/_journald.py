# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What decides beside a unit which of its rows journald keeps: journald's own settings, and those of the user's manager."""

from __future__ import annotations

import glob
import os
import re
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._command_stream import stream_of
from ansible_collections.llmops.sglang.plugins.module_utils._completeness import COMPLETE, Reason, boot_id
from ansible_collections.llmops.sglang.plugins.module_utils._invocation_log import InvocationLog
from ansible_collections.llmops.sglang.plugins.module_utils._journal_burst import RecentRows, burst_of, interval_of
from ansible_collections.llmops.sglang.plugins.module_utils._journal_gaps import place_of
from ansible_collections.llmops.sglang.plugins.module_utils._journal_rows import number
from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import Journal
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, parse_properties

_LEVELS = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"]
_SPAN = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)")
_MICROSECONDS = {
    "us": 1,
    "usec": 1,
    "ms": 1000,
    "msec": 1000,
    "": 1_000_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
# Where the manager leaves links with what journald has to know of units.
UNITS = "/run/systemd/units"
_OF_USER = "LogLevelMax,LogRateLimitIntervalUSec,LogRateLimitBurst"


def with_journalds_own(manager: Manager, settings: t.Mapping[str, str]) -> dict[str, str]:
    """The output *settings* of a unit with what journald puts in the place of those that it lacks.

    journald sees all units of a user as one, user@UID.service (tried on 252): what those say of limits is without effect.
    """
    merged = dict(settings)
    if manager.scope == "user":
        of_all = _show(manager, users_unit(manager), _OF_USER)
        merged.update({key: of_all[key] for key in ("LogRateLimitIntervalUSec", "LogRateLimitBurst") if key in of_all})
        merged["LogLevelMax"] = _lower(merged.get("LogLevelMax", ""), of_all.get("LogLevelMax", ""))
    else:
        # What journald goes by is written when a unit starts; what the unit says may be younger than its process.
        merged["LogLevelMax"] = _lower(
            merged.get("LogLevelMax", ""), _exported("log-level-max", settings.get("Id", ""))
        )
        burst = _exported("log-rate-limit-burst", settings.get("Id", ""))
        if burst.isdigit() and int(burst):
            merged["LogRateLimitBurst"] = str(min(int(burst), burst_of(merged)))
    own = _configuration(manager, settings.get("LogNamespace", ""))
    burst, interval = own.get("RateLimitBurst", ""), _microseconds(own.get("RateLimitIntervalSec", ""))
    if merged.get("LogRateLimitBurst", "0") == "0" and burst.isdigit() and int(burst):
        merged["LogRateLimitBurst"] = burst
    if merged.get("LogRateLimitIntervalUSec", "0") == "0" and interval:
        merged["LogRateLimitIntervalUSec"] = f"{interval}us"
    merged["LogLevelMax"] = _lower(merged.get("LogLevelMax", ""), own.get("MaxLevelStore", ""))
    return merged


def _exported(setting: str, unit: str) -> str:
    """A setting of *unit* as the system's manager hands it to journald; empty where the unit has none, or does not run."""
    try:
        return os.readlink(f"{UNITS}/{setting}:{unit}")
    except OSError:
        return ""


def users_unit(manager: Manager) -> str:
    """The unit of the system's manager in which the user's one runs, with all that it starts."""
    return f"user@{manager.command_environ.get('XDG_RUNTIME_DIR', '').rpartition('/')[2]}.service"


def journald_started(manager: Manager, namespace: str = "") -> int:
    """When the journald that runs was started, in microseconds of the host's own clock; 0 where that is not known.

    An ordinary user may ask this, and may not read journald's row about it.
    """
    unit = f"systemd-journald{'@' + namespace if namespace else ''}.service"
    started = _show(manager, unit, "ExecMainStartTimestampMonotonic").get("ExecMainStartTimestampMonotonic", "")
    return int(started) if started.isdigit() else 0


def notice_restart(manager: Manager, log: InvocationLog, namespace: str = "") -> None:
    """Note in *log* that journald was restarted since the service's first row, where its row about it is not to be seen.

    An ordinary user cannot read that row, and a journald that now stores nothing (``Storage=none``) did not write it.
    """
    first = place_of(log.first_own_cursor)
    if log.journald_restarts or first is None or first.boot != boot_id():
        return
    started = journald_started(manager, namespace)
    if started > first.monotonic_us:
        log.journald_restarts, log.journald_restarted_us = 1, started


def users_burst(manager: Manager, journal: Journal, log: InvocationLog, settings: t.Mapping[str, str]) -> Reason:
    """``rate_limited`` where all units of the user together wrote what they may in one interval since the invocation began,
    or shortly before.

    An ordinary user cannot read journald's notice either.
    """
    recent, burst = RecentRows(interval_of(settings)), burst_of(settings)
    unit = users_unit(manager)
    matches = [f"_SYSTEMD_UNIT={unit}"]
    if log.first_cursor:
        for written in journal.times_before(matches, log.first_cursor, recent.span_us, burst):
            recent.add(written)
        journal.each(
            lambda row: recent.add(number(row, "__MONOTONIC_TIMESTAMP")), matches, f"--cursor={log.first_cursor}"
        )
    if recent.most < burst:
        return COMPLETE
    return (
        "rate_limited",
        f"The units of this user wrote {recent.most} messages in one interval, and journald may have suppressed some of "
        f"'{log.unit}': raise LogRateLimitBurst in '{unit}' and restart it.",
    )


def unreadable_files(directory: str) -> list[str]:
    """The journal files in *directory* that this user may not read: journalctl passes over them without a word."""
    names = glob.glob(f"{glob.escape(directory)}/*.journal*") + glob.glob(f"{glob.escape(directory)}/*/*.journal*")
    return sorted(name for name in names if not os.access(name, os.R_OK))


def _show(manager: Manager, unit: str, wanted: str) -> dict[str, str]:
    """Properties of a unit of the system's manager, whichever *manager* is."""
    words = ["systemctl", "show", "--no-pager", f"--property={wanted}", "--", unit]
    return parse_properties(manager.run_command(words, environ_update=manager.command_environ)[1])


def _configuration(manager: Manager, namespace: str) -> dict[str, str]:
    name = f"journald@{namespace}.conf" if namespace else "journald.conf"
    words = ["systemd-analyze", "--no-pager", "cat-config", f"systemd/{name}"]
    lines: list[str] = []
    # Where there is no such program this gives no line, and the module's own run_command would end the module.
    stream_of(manager.run_command)(words, manager.command_environ, lines.extend)
    # The files in their order: what comes later counts.
    pairs = (line.partition("=") for line in lines if line[:1].isalpha())
    return {key.strip(): value.strip() for key, dummy, value in pairs}


def _microseconds(span: str) -> int:
    """A time span as systemd.time(7) has it, seconds where no unit is named; 0 for what is none."""
    total = 0.0
    for digits, unit in _SPAN.findall(span):
        total += float(digits) * (_MICROSECONDS[unit] if unit in _MICROSECONDS else _MICROSECONDS.get(unit[:1], 0))
    return int(total)


def _lower(one: str, other: str) -> str:
    """The level of the two that keeps fewer lines; empty where neither is one."""
    known = [level for level in map(_number, (one, other)) if level is not None]
    return str(min(known)) if known else ""


def _number(level: str) -> t.Optional[int]:
    if level in _LEVELS:
        return _LEVELS.index(level)
    return int(level) if level.isdigit() else None
