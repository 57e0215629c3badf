# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What a wait sees of its host: unit, socket table, processes and the log of the invocation."""

from __future__ import annotations

import re
import select
import socket
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils import _engine_processes as engine
from ansible_collections.llmops.sglang.plugins.module_utils._control_group import members
from ansible_collections.llmops.sglang.plugins.module_utils._journal import (
    InvocationReader,
    Journal,
    log_tail,
    read_invocation,
)
from ansible_collections.llmops.sglang.plugins.module_utils._listener import (
    answering,
    descends_from,
    listening_sockets,
    local_addresses,
)
from ansible_collections.llmops.sglang.plugins.module_utils._log_facts import failure_of, last_telling, stage_of
from ansible_collections.llmops.sglang.plugins.module_utils._name_lookup import connect
from ansible_collections.llmops.sglang.plugins.module_utils._ownership import Ownership, ownership

if t.TYPE_CHECKING:
    from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask
    from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, UnitState

_PERCENT = re.compile(r"(\d{1,3}) ?%")
_CONNECT_TIMEOUT = 1.0
_MAIN_EXITED = re.compile(r"Main process exited, code=(?P<how>\w+), status=(?P<status>\d+)/(?P<name>\S+)")


def unread(descriptor: int) -> bool:
    """Whether nobody can read what is written to *descriptor* any more, as when a connection was cut."""
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for dummy, event in poll.poll(0))


class Host:
    """The host that the module runs on; *manager* and *unit_name* are ``None`` where only a URL is given."""

    def __init__(
        self,
        manager: Manager | None,
        unit_name: str | None,
        address: tuple[str, int],
        mask: Mask,
        previous_invocation_id: str = "",
        through_proxy: bool = False,
    ) -> None:
        self._manager, self._name = manager, unit_name
        self.host, self.port = address
        self._mask, self._previous = mask, previous_invocation_id
        self.has_unit = manager is not None and unit_name is not None
        self._local = [] if through_proxy else local_addresses(self.host)
        self._blind = through_proxy
        self._open = False
        # Why the host name leads nowhere, in words.
        self.unresolved = ""
        self._reader: InvocationReader | None = None
        self._judged = -1
        self._finding: tuple[str, str] | None = None

    @staticmethod
    def abandoned() -> bool:
        """Whether whoever started the module is gone, so that no result can reach anybody."""
        return unread(1)

    def unit(self) -> UnitState | None:
        return self._manager.show(self._name) if self._manager and self._name else None

    def no_such_unit(self, state: UnitState) -> tuple[str, str]:
        """The failure for a unit that systemd does not know."""
        if self._manager is None:
            return "no_such_unit", f"There is no unit '{state.name}'."
        failure = self._manager.no_such_unit(state)
        return failure.failure_class, failure.msg

    @staticmethod
    def origin(state: UnitState) -> float:
        """When the invocation began, in monotonic seconds; 0 where the manager does not say.

        After an automatic restart the unit never left its activation, so there the process's own start counts.
        """
        process = state.exec_main_start_monotonic_us
        left = state.properties.get("InactiveExitTimestampMonotonic", "")
        begun = int(left) if left.isdigit() else 0
        if not begun or state.n_restarts or begun > process > 0:
            begun = process
        return begun / 1e6

    def process_started(self, state: UnitState) -> float | None:
        """Seconds from the invocation's begin to its main process."""
        process = state.exec_main_start_monotonic_us
        return round(max(process / 1e6 - self.origin(state), 0.0), 3) if process else None

    def workers(self, state: UnitState, seen: t.Mapping[int, str]) -> tuple[dict[int, str], dict[int, str]]:
        """The living engine workers of the unit, and those of *seen* that are dead."""
        pids = members(state.control_group)
        # Workers that an older invocation left behind may go as they like.
        own = [pid for pid in pids if descends_from(pid, state.main_pid)]
        return engine.workers(own), engine.dead(seen)

    def sockets(self) -> t.Sequence[t.Any] | None:
        """The sockets that answer at the address; ``None`` where only a request can tell."""
        if self._local:
            found = listening_sockets(self.port)
            return None if found is None else answering(found, self._local)
        if self._blind or self._open:
            return None
        self.unresolved = ""
        try:
            connect(self.host, self.port, _CONNECT_TIMEOUT).close()
        except ConnectionRefusedError:
            return []
        except (socket.gaierror, UnicodeError) as exc:
            self.unresolved = f" Its name cannot be resolved ({getattr(exc, 'strerror', None) or exc})."
        except OSError:
            pass
        self._open = True
        return None

    def refused(self) -> None:
        """A request was refused: the next look connects first again."""
        self._open = False

    def ownership(self, sockets: t.Sequence[t.Any], state: UnitState | None) -> Ownership:
        return ownership(sockets, state, self._previous)

    def where(self) -> str:
        """The address in words."""
        return f"{self.host}:{self.port}" + (" through a proxy" if self._blind else "")

    def nobody(self) -> str:
        return f"Nothing listens on {self.where()}."

    def progress(self, state: UnitState) -> tuple[str, str]:
        """Stage and last telling line of the invocation's log, masked; empty where there is none."""
        lines = self._lines(state)
        detail = self._mask.text(last_telling(lines))
        stage = stage_of(lines)
        percent = _PERCENT.search(detail)
        return f"{stage} {percent.group(1)} %" if stage and percent else stage, detail

    def failure(self, state: UnitState, final: bool = False) -> tuple[str, str] | None:
        """Failure class and cause by the invocation's log; with *final* the process is gone and its state counts, too."""
        reader = self._reader_of(state)
        if reader is None:
            return None
        if final:
            reader.journal.sync()
            reader.read()
            reader.finish()
            return self._masked(failure_of(reader.log.all_lines, state))
        if len(reader.log.lines) != self._judged:
            self._judged = len(reader.log.lines)
            self._finding = self._masked(failure_of(reader.log.lines))
        return self._finding

    def earlier_failure(self, invocation_id: str) -> tuple[str, str] | None:
        """Failure class and cause by the log of an invocation that is over."""
        if self._manager is None or self._name is None or not invocation_id:
            return None
        return self._masked(failure_of(read_invocation(self._manager, self._name, invocation_id).all_lines))

    def earlier_end(self, invocation_id: str) -> str:
        """How the main process of an invocation that is over ended, by its manager's row; empty where there is none."""
        if self._manager is None or self._name is None or not invocation_id:
            return ""
        for line in reversed(read_invocation(self._manager, self._name, invocation_id).manager_lines):
            match = _MAIN_EXITED.search(line.text)
            if match:
                by_signal = match.group("how") in ("killed", "dumped")
                return f"signal SIG{match.group('name')}" if by_signal else f"exit status {match.group('status')}"
        return ""

    def last_words(self, invocation_id: str) -> str:
        """The last line that the invocation itself wrote, masked; empty where there is none."""
        if self._manager is None or self._name is None or not invocation_id:
            return ""
        known = self._reader is not None and self._reader.log.invocation_id == invocation_id
        log = self._reader.log if self._reader and known else read_invocation(self._manager, self._name, invocation_id)
        said = [line.text.strip() for line in log.spoken if line.text.strip()]
        return self._mask.text(said[-1]) if said else ""

    def _masked(self, found: tuple[str, str] | None) -> tuple[str, str] | None:
        return (found[0], self._mask.text(found[1])) if found else None

    def log_tail(self, invocation_id: str) -> list[str]:
        """At most ten last lines of the invocation, masked."""
        if self._manager is None or self._name is None:
            return []
        return log_tail(self._manager, self._name, invocation_id, self._mask)

    def _lines(self, state: UnitState) -> list[t.Any]:
        reader = self._reader_of(state)
        if reader is None:
            return []
        reader.read()
        return reader.log.lines

    def _reader_of(self, state: UnitState) -> InvocationReader | None:
        if self._manager is None or self._name is None or not state.invocation_id:
            return None
        if self._reader is None or self._reader.log.invocation_id != state.invocation_id:
            self._judged, self._finding = -1, None
            self._reader = InvocationReader(Journal(self._manager), self._name, state.invocation_id)
        return self._reader
