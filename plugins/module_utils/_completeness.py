# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Whether a line's absence from the journal means anything, and why it does not."""

from __future__ import annotations

import glob
import os
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._control_group import members
from ansible_collections.llmops.sglang.plugins.module_utils._endpoint import argument
from ansible_collections.llmops.sglang.plugins.module_utils._invocation_log import InvocationLog
from ansible_collections.llmops.sglang.plugins.module_utils._journal import InvocationReader
from ansible_collections.llmops.sglang.plugins.module_utils._journal_burst import burst_of
from ansible_collections.llmops.sglang.plugins.module_utils._journalctl import Journal
from ansible_collections.llmops.sglang.plugins.module_utils._launch_command import read_launch
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import read_argv
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, UnitState, parse_properties

Reason = tuple[str, str]
COMPLETE: Reason = ("", "")

_LEVELS = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"]
_INFO = 6
_SERVER_LEVELS = ["debug", "info", "warning", "error", "critical"]


def incompleteness(log: InvocationLog, settings: t.Mapping[str, str], running: bool = True) -> Reason:
    """The failure class that forbids conclusions from what is not in *log*, and the sentence that says why.

    :arg settings: the unit's output settings, see :func:`output_settings`; empty for exported journals.
    :arg running: whether the invocation's process runs, so that the settings are its own. Those of now may keep an older
        one's lines from being missed, never the other way round: see :func:`level_was_hidden`.
    """
    if log.not_allowed and not log.service_entries:
        return (
            "no_permission",
            f"The journal of '{log.unit}' cannot be read by this user: {log.complaint or 'journalctl gave no row'}; become root or "
            "join the group systemd-journal.",
        )
    reason = _kept_out(log, settings, running)
    if reason[0]:
        return reason
    incomplete = log.incomplete
    if incomplete == "no_entries":
        return incomplete, _no_entries_sentence(log)
    if incomplete == "message_withheld":
        return (
            incomplete,
            f"journalctl withheld the text of {log.withheld + log.unreadable} rows of '{log.unit}': nothing can be said of what is "
            "absent; see what 'journalctl --all' says of them.",
        )
    if incomplete == "rate_limited" or (not incomplete and _burst_reached(log, settings)):
        suppressed = log.suppressed + log.suppressed_late
        lost = f"{suppressed} messages" if suppressed else "an unknown number of messages, its burst is used up,"
        return (
            "rate_limited",
            f"journald suppressed {lost} of '{log.unit}': raise LogRateLimitBurst in the unit and restart it.",
        )
    return (incomplete, _truncated_sentence(log)) if incomplete else COMPLETE


def _kept_out(log: InvocationLog, settings: t.Mapping[str, str], running: bool) -> Reason:
    """What the unit's *settings* keep from the journal."""
    elsewhere = _output_elsewhere(settings)
    if elsewhere and not running:
        return (
            "output_elsewhere",
            f"The unit '{log.unit}' has {elsewhere} now, and where the output of invocation {log.invocation_id} went nobody can "
            "tell any more: take that setting out of the unit, and ask for what is there.",
        )
    if elsewhere:
        return (
            "output_elsewhere",
            f"The output of '{log.unit}' does not go to the journal ({elsewhere}): take that setting out of the unit.",
        )
    if settings.get("LogFilterPatterns"):
        return (
            "output_elsewhere",
            f"Lines of '{log.unit}' are kept out of the journal by its LogFilterPatterns=: take that setting out of the unit, and "
            "restart it.",
        )
    level = settings.get("LogLevelMax", "")
    if running and (level in _LEVELS or level.isdigit()):
        number = _LEVELS.index(level) if level in _LEVELS else int(level)
        if number < _level_of_output(settings):
            return "log_level_hidden", _level_sentence(log, f"the level is {level}, by")
    return COMPLETE


def level_was_hidden(journal: Journal, log: InvocationLog) -> Reason:
    """``log_level_hidden`` where rows of an invocation whose settings nobody knows any more all are above level info."""
    own = journal.own_matches(log.unit, log.invocation_id)
    above, of_info = ([f"PRIORITY={level}" for level in levels] for levels in (range(_INFO), (_INFO, _INFO + 1)))
    if not journal.first([*own, *above])[0] or journal.first([*own, *of_info])[0]:
        return COMPLETE
    return "log_level_hidden", _level_sentence(log, "not one is there; this may be")


def _level_sentence(log: InvocationLog, why: str) -> str:
    return (
        f"Lines of level info of '{log.unit}' are kept out of the journal ({why} LogLevelMax= of the unit, or of the user's "
        "manager, or by MaxLevelStore= of journald): raise it to info."
    )


def _truncated_sentence(log: InvocationLog) -> str:
    if log.unread:
        return (
            f"journalctl did not read all of the journal, and rows of '{log.unit}' may be missing ({log.unread}): mend that, or move "
            "a broken file away, and give all files of the host."
        )
    if log.covers_start and log.journald_restarts:
        return (
            f"journald was restarted {log.journald_restarts} times since invocation {log.invocation_id} of '{log.unit}' began, and rows "
            "of that time may be lost: restart the unit to be sure."
        )
    if log.covers_start:
        return (
            f"The host went down while invocation {log.invocation_id} of '{log.unit}' ran, and what it said last may be lost: ask for "
            "one that ended."
        )
    return (
        f"The start of invocation {log.invocation_id} of '{log.unit}' is no longer in the journal (rotated, vacuumed or lost): "
        "restart the unit, or keep more journal."
    )


def diverted(log: InvocationLog, state: UnitState, proc: str = "/proc") -> Reason:
    """``output_elsewhere`` where the server has another output than the journal, whatever its unit says (now).

    A start script may give it one that is not its own.
    """
    if not state.running or state.invocation_id != log.invocation_id:
        return COMPLETE
    others = [pid for pid in members(state.control_group) if read_launch(read_argv(pid, proc) or []).found]
    for pid in (state.main_pid, *others):
        for number, name in ((1, "standard output"), (2, "standard error")):
            try:
                target = os.readlink(f"{proc}/{pid}/fd/{number}")
            except OSError:
                continue
            # Sockets and pipes have no path. A daemon often lets go of what it does not use.
            if target.startswith("/") and not (target == "/dev/null" and log.speaks_itself):
                return (
                    "output_elsewhere",
                    f"The {name} of process {pid} of '{log.unit}' does not go to the journal but to '{target}': take that "
                    "out of what the unit runs, and restart it.",
                )
    return COMPLETE


def output_settings(manager: Manager, name: str, masked: bool = False) -> dict[str, str]:
    """The properties of unit *name* that decide what of its output reaches the journal, and where in it.

    Of a *masked* unit systemd shows the built-in values, which say nothing of the process that ran.
    """
    if masked:
        return {"LogRateLimitBurst": "0"}
    wanted = (
        "Id,User,StandardOutput,StandardError,LogLevelMax,SyslogLevel,LogNamespace,LogRateLimitIntervalUSec,LogRateLimitBurst,"
        "LogFilterPatterns"
    )
    dummy, out, dummy2 = manager.systemctl("show", "--no-pager", f"--property={wanted}", "--", name, check=False)
    return parse_properties(out)


def journal_is_unreadable(
    log: InvocationLog, roots: t.Sequence[str] = ("/run/log/journal", "/var/log/journal")
) -> bool:
    """Whether this user may not read the system's journal, also where journalctl did not say so.

    journalctl is silent about it where the user has a journal of his own (tried on 252). Anybody may list the directories.
    """
    if log.not_allowed or log.service_entries or log.manager_lines:
        return log.not_allowed
    files = [name for root in roots for name in glob.glob(f"{root}/*/system.journal")]
    return bool(files) and not any(os.access(name, os.R_OK) for name in files)


def rows_are_gone(state: UnitState, reader: InvocationReader) -> t.Optional[Reason]:
    """``log_truncated`` where the whole journal begins after the unit's current invocation did; else ``None``."""
    log = reader.log
    started = state.exec_main_start_monotonic_us
    if state.invocation_id != log.invocation_id or not started:
        return None
    if not reader.journal.begins_after(started, boot_id()):
        return None
    return (
        "log_truncated",
        f"The journal begins after invocation {log.invocation_id} of '{log.unit}' did (rotated, vacuumed or lost): restart the "
        "unit, or keep more journal.",
    )


def boot_id() -> str:
    """The id of this boot as the journal has it; empty where it cannot be read."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip().replace("-", "")
    except OSError:
        return ""


def hidden_by_server(manager: Manager, state: UnitState, invocation_id: str) -> Reason:
    """The server's own ``--log-level``, empty where it leaves nothing of level info out; and the sentence that says so.

    It is that of the process that runs, which may be another than the unit's, where that is the invocation's.
    """
    running = read_argv(state.main_pid) if state.running and state.invocation_id == invocation_id else None
    level = (argument(running or manager.exec_start(state.name), "--log-level") or "").lower()
    if not hides(level, "info"):
        return COMPLETE
    return (
        level,
        f"The server of '{state.name}' runs with --log-level {level} and leaves other lines out: give it --log-level info.",
    )


def hides(level: str, other: str) -> bool:
    """Whether a server with ``--log-level`` *level* leaves out lines of the level *other*."""
    return level in _SERVER_LEVELS and _SERVER_LEVELS.index(level) > _SERVER_LEVELS.index(other)


def _output_elsewhere(settings: t.Mapping[str, str]) -> str:
    output = settings.get("StandardOutput", "")
    error = settings.get("StandardError", "")
    if error in ("inherit", ""):
        error = output
    for name, target in (("StandardError", error), ("StandardOutput", output)):
        # fd: and socket hand the stream to somebody else; inherit at this place means the standard input's null.
        if target and not target.startswith(("journal", "syslog", "kmsg")):
            return f"{name}={target}"
    return ""


def _level_of_output(settings: t.Mapping[str, str]) -> int:
    level = settings.get("SyslogLevel", "")
    return int(level) & 7 if level.isdigit() else _LEVELS.index(level) if level in _LEVELS else _INFO


def _no_entries_sentence(log: InvocationLog) -> str:
    if log.service_entries:
        return (
            f"The service '{log.unit}' has not written a single row since the manager said that it has started (what came before may be "
            "of ExecStartPre=): see whether it runs, where its output goes, and in exported journals whether the file of its user is there."
        )
    start = "" if log.covers_start else ", and the manager's row about its start is not there either"
    said = f" ({log.complaint})" if log.complaint else ""
    if log.wrongly_stamped:
        said += (
            f"; {log.wrongly_stamped} rows of it carry another invocation, as an older journald gives those of a user's services "
            "that of user@UID.service, and cannot be told apart"
        )
    return (
        f"The service '{log.unit}' has not written a single row in invocation {log.invocation_id}{start}{said}: "
        "see whether it runs, and where its output goes."
    )


def _burst_reached(log: InvocationLog, settings: t.Mapping[str, str]) -> bool:
    """Whether messages may be suppressed right now.

    journald says how many it suppressed only with the first message after the interval; until then the sole sign is that
    the unit has used up what it may write in one, the invocation before this one included.
    """
    return not log.spoken_since and log.recent.count + log.recent_before >= burst_of(settings)
