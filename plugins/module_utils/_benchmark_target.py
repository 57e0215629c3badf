# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The server that a benchmark measures, and what proves which process that is."""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils import _evidence
from ansible_collections.llmops.sglang.plugins.module_utils._benchmark_settings import server_settings
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._load_connection import Endpoint
from ansible_collections.llmops.sglang.plugins.module_utils._ownership import Ownership, owner_at
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import read_argv, read_environ
from ansible_collections.llmops.sglang.plugins.module_utils._server_side import ServerSide
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, UnitState


class BenchmarkTarget:
    """A server with the unit that runs it, where one is named.

    :raises Failure: if the unit is not there or does not run.
    """

    def __init__(
        self, server: Endpoint, manager: t.Optional[Manager], name: t.Optional[str], require_evidence: bool
    ) -> None:
        self.side = ServerSide(server)
        self.manager = manager
        self.name = name
        self.warnings: list[str] = []
        self._version: t.Optional[str] = None
        if manager and name:
            self._check_unit(manager.show(name), require_evidence)

    def _check_unit(self, state: UnitState, required: bool) -> None:
        if not state.exists:
            raise self.manager.no_such_unit(state)
        if not required:
            return
        if state.running:
            owner = self._owner(state)
            if owner and owner.owned == "unknown":
                raise Failure(
                    "no_permission",
                    f"Whose process answers at {self.side.server.host}:{self.side.server.port} cannot be told, so no figure would be "
                    f"proved to be of '{self.name}': become root or the unit's user on its host, or set require_evidence to false.",
                )
            if owner and owner.foreign:
                raise Failure(
                    "foreign_listener",
                    f"Port {self.side.server.port} is answered by {owner.who()} and not by the unit '{self.name}': end that "
                    "process, or give the unit another port.",
                )
            return
        word = "inactive" if state.invocation_id else "never_started"
        raise Failure(
            word,
            f"The unit '{self.name}' does not run ({state.active_state}/{state.sub_state}), so there is nothing "
            "to measure: start it and wait for generation first.",
        )

    def _owner(self, state: UnitState) -> t.Optional[Ownership]:
        return owner_at(self.side.server.host, self.side.server.port, state)

    def evidence(self) -> dict[str, t.Any]:
        """What runs now, and whether its acceptance is made up."""
        state = self.manager.show(self.name) if self.manager and self.name else None
        record = _evidence.collect(self.manager, self.name, self.side.get, state=state)
        record = _evidence.of_a_server_at(self.side.server.host, record)
        owner = self._owner(state) if state is not None else None
        record["listener_owned"] = owner.owned if owner else "unknown"
        if record.get("simulated_acceptance") is None and self.manager and self.name:
            # Another user's process hides its environment; the unit's settings are readable.
            record["simulated_acceptance"] = _evidence.simulates(self.manager.environment(self.name))
        return record

    def settings(self) -> dict[str, t.Any]:
        """How the server is set: see :func:`server_settings`."""
        argv, environ = self.process()
        return server_settings(self._info(), argv, environ if self.name else None, self.version())

    def process(self) -> tuple[list[str], dict[str, str]]:
        """Command line and variables of the unit's process, as far as they can be read; empty without a unit."""
        if not self.manager or not self.name:
            return [], {}
        pid = self.manager.show(self.name).main_pid
        argv = (read_argv(pid) if pid else None) or []
        return argv, (read_environ(pid) if pid else None) or self.manager.environment(self.name)

    def tokenizer(self) -> t.Optional[str]:
        """Where the server says that its tokenizer lies."""
        info = self._info() or {}
        found = info.get("tokenizer_path") or info.get("model_path")
        return found if isinstance(found, str) else None

    def _info(self) -> t.Optional[dict[str, t.Any]]:
        answer = self.side.get("/server_info")
        info = answer[1] if answer and answer[0] == 200 else None
        return info if isinstance(info, dict) else None

    def version(self) -> t.Optional[str]:
        """The server's version, where it tells."""
        if self._version is None:
            version = (self._info() or {}).get("version")
            self._version = version if isinstance(version, str) else None
        return self._version

    def model(self, api: str, wanted: t.Optional[str]) -> t.Optional[str]:
        """The name for the requests: the wanted one, else the first that the server lists.

        :raises Failure: if nobody answers, or the key is not accepted.
        """
        answer = self.side.get("/v1/models")
        server = self.side.server
        where = f"{server.host}:{server.port}"
        if answer is None:
            raise Failure(
                "connection_refused", f"Nothing answers at {where}: wait for generation before the benchmark."
            )
        if answer[0] in (401, 403):
            raise Failure(
                "unauthorized",
                f"The server at {where} does not accept the key ({answer[0]}): set 'api_key' or 'api_key_file'.",
            )
        if wanted or api == "generate":
            return wanted
        models = self.side.models()
        if not models:
            self.warnings.append(f"The server at {where} lists no model: the requests name 'default'.")
        return models[0] if models else None
