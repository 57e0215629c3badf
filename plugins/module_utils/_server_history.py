# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Keep the configurations of one unit that worked, and bring one of them back."""

from __future__ import annotations

import glob
import os
import pwd
import re
import typing as t
from dataclasses import dataclass

from ansible_collections.llmops.sglang.plugins.module_utils._change_words import change_words, changed_settings
from ansible_collections.llmops.sglang.plugins.module_utils._endpoint import from_argv, hide_keys
from ansible_collections.llmops.sglang.plugins.module_utils._environment_file import hide_secret_variables
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._file_restore import SetContext, restore_files
from ansible_collections.llmops.sglang.plugins.module_utils._flag_changes import flag_changes
from ansible_collections.llmops.sglang.plugins.module_utils._flags import arguments_of
from ansible_collections.llmops.sglang.plugins.module_utils._history_store import Entry, HistoryStore
from ansible_collections.llmops.sglang.plugins.module_utils._kept_configuration import (
    Files,
    is_secret,
    key_file,
    read_files,
)
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import MASKED, Mask
from ansible_collections.llmops.sglang.plugins.module_utils._start_times import StartTimes
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, UnitState
from ansible_collections.llmops.sglang.plugins.module_utils._unit_place import Writer, place_of
from ansible_collections.llmops.sglang.plugins.module_utils._unit_remarks import without_secrets

LAST_GOOD, PREVIOUS = "last_good", "previous"


@dataclass(frozen=True)
class Places:
    """Where the files of units lie, and where this collection keeps its own of them."""

    units: str
    state: str
    start_times: str


def places_of(scope: str) -> Places:
    """The places for the system's units, or for those of the user that runs this."""
    home = pwd.getpwuid(os.geteuid()).pw_dir
    units = place_of("", scope, "unit", None).final
    own = os.path.join(os.environ.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state"), "llmops-sglang")
    times = os.path.join("/var/lib/llmops-sglang" if os.geteuid() == 0 else own, "start-times.json")
    return Places(units, own if scope == "user" else "/var/lib/llmops-sglang", times)


class ServerHistory:
    """The history of one unit.

    :arg set_context: gives a new file the SELinux context of the path that it will get.
    """

    def __init__(
        self, manager: Manager, name: str, places: Places, set_context: SetContext, check_mode: bool = False
    ) -> None:
        self.manager, self.name, self.places = manager, name, places
        self.set_context, self.check_mode = set_context, check_mode
        self.store = HistoryStore(os.path.join(places.state, "history", name), name)
        self.warnings: list[str] = []

    def listed(self) -> dict[str, t.Any]:
        return self._result(self.store.entries(), read_files(self.places.units, self.name), False)

    def recorded(self, proven: bool, label: str) -> dict[str, t.Any]:
        """Keep what is on the host now."""
        now = read_files(self.places.units, self.name)
        entries = self.store.entries()
        if not proven and not label and any(not e.label for e in entries):
            # A change must not be made that could not be kept, nor gone back from.
            if not self.check_mode:
                self.store.check_room()
            return self._result(entries, now, False)
        state = self.manager.show(self.name)
        there = state.load_state in ("loaded", "masked")
        # In check mode an earlier task may only have said that it would write the unit.
        if not there and (proven or label) and not self.check_mode:
            raise self.manager.no_such_unit(state)
        argv = self.manager.exec_start(self.name) if there else []
        found = not proven and not label
        wanted = Entry("", now, label, proven, found, there, argv=argv)
        kept = [e for e in entries if e.label == label and (label or (e.files, e.there) == (now, there))]
        same = bool(kept) and (kept[0].files, kept[0].there) == (now, there) and (kept[0].proven or not proven)
        if same and (label or kept[0] is _newest(entries)) and not (proven and self.store.target()):
            return self._result(entries, now, False, kept[0])
        if self.check_mode:
            return self._result(entries, now, True)
        with self.store.locked():
            if kept:
                entry = self.store.renew(kept[0], files=now, proven=kept[0].proven or proven, there=there, argv=argv)
            else:
                entry = self.store.add(wanted)
            if proven and not label:
                self._settle(entries)
        return self._result(self.store.entries(), now, True, entry)

    def restored(self, to: str) -> dict[str, t.Any]:
        """Bring a kept configuration back to the host; the process stays as it is.

        :raises Failure: ``condition_not_met`` where there is none, ``write_failed``.
        """
        entries, now = self.store.entries(), read_files(self.places.units, self.name)
        try:
            entry = self._choose(entries, now, to)
        except Failure as failure:
            # A review of many hosts goes on where one has nothing kept; a name that was given must be right.
            if not self.check_mode or to not in (LAST_GOOD, PREVIOUS):
                raise
            self.warnings.append(f"{failure.msg} Without check mode this fails.")
            return self._result(entries, now, False)
        changed = entry.files != now
        state = self.manager.show(self.name)
        stale = state.need_daemon_reload
        words = self._words(state, now, entry) if changed else ""
        if not self.check_mode:
            with self.store.locked():
                # A run that is killed after this is known to have been on its way there. To go there matters more.
                try:
                    self.store.set_target(entry.id)
                except Failure as failure:
                    self.warnings.append(failure.msg)
                restore_files(self.places.units, now, entry.files, self.set_context)
            if changed or stale:
                self.manager.daemon_reload()
        after = now if self.check_mode else read_files(self.places.units, self.name)
        result = self._result(entries, after, changed or stale, entry)
        key = key_file(entry.files, self.name)
        return {
            **result,
            "restored": entry.id,
            "api_key_file": os.path.join(self.places.units, key) if key else None,
            "base_url": from_argv(entry.argv) if entry.argv else None,
            "diff": [*self._diff(now, entry.files), *([{"prepared": words}] if words else [])],
        }

    def absent(self, label: str) -> dict[str, t.Any]:
        """Drop the entry with *label*, or all that is kept of the unit."""
        entries, now = self.store.entries(), read_files(self.places.units, self.name)
        if label:
            dropped = [e for e in entries if e.label == label]
            if dropped and not self.check_mode:
                with self.store.locked():
                    for entry in dropped:
                        self.store.drop(entry)
                entries = self.store.entries()
            return self._result(entries, now, bool(dropped))
        times = StartTimes(self.places.start_times)
        copies = self._copies()
        changed = self.store.is_there() or bool(copies) or times.knows(self.name)
        if changed and not self.check_mode:
            self._remove(copies)
            if times.knows(self.name):
                times.forget(self.name)
            if self.store.is_there():
                with self.store.locked():
                    self.store.remove()
            entries = []
        return self._result(entries, now, changed)

    def _settle(self, entries: t.Sequence[Entry]) -> None:
        """What works now ends what was begun; that there once was no unit at all is no way back any more."""
        self.store.set_target("")
        for entry in entries:
            if not entry.there and not entry.label:
                self.store.drop(entry)
        self.store.prune()

    def _choose(self, entries: t.Sequence[Entry], now: Files, to: str) -> Entry:
        usable = [e for e in entries if e.there]
        if to == LAST_GOOD:
            chosen = _last_good(usable)
        elif to == PREVIOUS:
            begun = self.store.target()
            chosen = next((e for e in usable if e.id == begun), None)
            chosen = chosen or next((e for e in usable if e.proven and e.files != now), None)
            # What was there before the first write is the last resort.
            chosen = chosen or next((e for e in usable if e.found and e.files != now), None)
        else:
            chosen = next((e for e in usable if to in (e.id, e.label)), None)
        if chosen:
            return chosen
        known = ", ".join(f"'{e.id}'" + (f" ({e.label})" if e.label else "") for e in usable) or "none"
        what = {
            LAST_GOOD: "No configuration that worked is kept",
            PREVIOUS: "No earlier configuration that worked is kept",
        }.get(to, f"There is no kept configuration '{to}'")
        raise Failure("condition_not_met", f"{what} of the unit '{self.name}'; known are: {known}.")

    def _result(
        self, entries: t.Sequence[Entry], now: Files, changed: bool, recorded: t.Optional[Entry] = None
    ) -> dict[str, t.Any]:
        self.warnings += [text for text in self.store.damaged if text not in self.warnings]
        shown = [e for e in entries if e.there]
        good = _last_good(shown)
        return {
            "changed": changed,
            "configurations": [self._shown(e, now) for e in shown],
            "last_good": good.id if good else None,
            "recorded": recorded.id if recorded and recorded.there else None,
            "restored": None,
            "api_key_file": None,
            "base_url": None,
        }

    @staticmethod
    def _shown(entry: Entry, now: Files) -> dict[str, t.Any]:
        words = [hide_secret_variables(w, MASKED) for w in hide_keys(entry.argv, MASKED)]
        return {
            "id": entry.id,
            "label": entry.label or None,
            "proven": entry.proven,
            "recorded_at": entry.recorded_at,
            "argv": Mask().value(words),
            "on_host": entry.files == now,
        }

    def _diff(self, before: Files, after: Files) -> list[dict[str, str]]:
        """What a restore changes, file by file; of secrets only that they change."""
        found: list[dict[str, str]] = []
        for path in sorted({*before, *after}):
            old, new = before.get(path), after.get(path)
            if old == new:
                continue
            full = os.path.join(self.places.units, path)
            plain = all(one is None or one.kind == "file" for one in (old, new))
            if is_secret(path) or not plain or (old and new and old.text == new.text):
                found.append({"prepared": f"{full}: {_what(old)} becomes {_what(new)}\n"})
                continue
            texts = without_secrets([Mask().text(one.text if one else "") for one in (old, new)])
            headers = [full if one else f"{full} (absent)" for one in (old, new)]
            found.append(
                {"before": texts[0], "after": texts[1], "before_header": headers[0], "after_header": headers[1]}
            )
        return found

    def _words(self, state: UnitState, before: Files, entry: Entry) -> str:
        """What a restore means; asked before anything is written."""
        there = state.load_state in ("loaded", "masked")
        old = arguments_of(self.manager.exec_start(self.name)) if there else {}
        texts = [files[self.name].text if self.name in files else "" for files in (before, entry.files)]
        flags = flag_changes(old, arguments_of(entry.argv), Mask())
        return change_words(flags, changed_settings(*texts), "restart" if state.running else "start")

    def _copies(self) -> list[str]:
        """The copies that backup=true left beside the unit's files, and the archives of its diagnoses."""
        stamp = re.compile(r"\.[0-9]+\.[0-9]{4}-[0-9]{2}-[0-9]{2}@[0-9:]{8}~")
        name = glob.escape(self.name)
        found = []
        for pattern in (f"{name}.*~", f"{name}.d/*.conf.*~"):
            for path in glob.glob(os.path.join(glob.escape(self.places.units), pattern)):
                start = re.match(r".*\.(?:service|conf)(?=\.[0-9]+\.[0-9]{4}-)", path)
                if start and stamp.fullmatch(path[start.end() :]):
                    found.append(path)
        archives = os.path.join(glob.escape(os.path.dirname(self.places.start_times)), "diagnoses", f"{name}-*.tar.gz")
        return sorted(found + glob.glob(archives))

    @staticmethod
    def _remove(paths: t.Iterable[str]) -> None:
        for path in paths:
            try:
                os.unlink(path)
            except FileNotFoundError:
                pass
            except OSError as exc:
                raise Failure(
                    "write_failed", f"The file '{path}' could not be removed ({exc.strerror}): become its owner."
                ) from exc
            if os.path.dirname(path).endswith(".d"):
                Writer.remove_empty(os.path.dirname(path))


def _newest(entries: t.Sequence[Entry]) -> t.Optional[Entry]:
    return next((e for e in entries if not e.label), None)


def _last_good(entries: t.Sequence[Entry]) -> t.Optional[Entry]:
    """The newest that passed all checks; before there is one, what was found."""
    proven = next((e for e in entries if e.proven), None)
    return proven or next((e for e in entries if e.found), None)


def _what(kept: t.Any) -> str:
    if kept is None:
        return "absent"
    owned = "" if kept.kind == "link" else f" {kept.mode:04o} of {kept.uid}:{kept.gid}"
    return f"a {kept.kind}{owned}" + (f" to {kept.text}" if kept.kind == "link" else "")
