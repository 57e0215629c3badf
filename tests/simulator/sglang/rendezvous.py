# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the schedulers of several nodes meet at --dist-init-addr, go on together, and lose each other.

The first scheduler of rank 0 listens there, as torch's store does; every other one stays connected to it.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time

GO_ON = b"go on "
SHUTDOWN = b"shut down"


def address_of(text):
    """(host, port) of --dist-init-addr, an IPv6 address in brackets."""
    host, _dummy, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def meet(plan, rank, lost):
    """What this scheduler has to do with the others: None for a server on one node.

    ``lost(peer)`` is called, in a thread, when another scheduler has gone.
    """
    if plan.nodes == 1:
        return None
    first = plan.node_rank == 0 and all(value == 0 for value in rank.values())
    return (Store if first else Member)(plan, lost)


class Group:
    """What store and members have in common: the way to react when somebody is gone."""

    def __init__(self, plan, lost):
        self.plan, self._lost, self._over = plan, lost, threading.Lock()
        # Without an address each node waits for the others on its own host, and for ever.
        self.address = address_of(plan.args["dist_init_addr"]) if plan.args.get("dist_init_addr") else ("127.0.0.1", 9)

    def lose(self, peer):
        """Once: die of it, or stop stepping, as a collective that nobody answers."""
        if not self._over.acquire(blocking=False):
            return
        if self.plan.settings.peer_loss == "hang":
            os.kill(os.getpid(), signal.SIGSTOP)
        else:
            self._lost(peer)


class Store(Group):
    """The one that listens and counts who has come how far."""

    def __init__(self, plan, lost):
        super().__init__(plan, lost)
        self.others = plan.world - 1
        self.arrived = {}
        self.members = []
        self.changed = threading.Condition()
        listener = socket.create_server(("", self.address[1]), backlog=1024)
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener):
        while True:
            connection, peer = listener.accept()
            threading.Thread(target=self._serve, args=(connection, peer[0]), daemon=True).start()

    def _serve(self, connection, peer):
        counted = False
        try:
            with connection.makefile("rb") as lines:
                for line in lines:
                    counted = True
                    with self.changed:
                        if connection not in self.members:
                            self.members.append(connection)
                        place = line.strip()
                        self.arrived[place] = self.arrived.get(place, 0) + 1
                        self.changed.notify_all()
        except OSError:
            pass
        # A look at the port, as a port scanner has it, is no member.
        if counted:
            self.lose(peer)

    def barrier(self, place):
        """Wait until all are there, then let all go on."""
        place = place.encode()
        with self.changed:
            self.changed.wait_for(lambda: self.arrived.get(place, 0) >= self.others)
            self._tell(GO_ON + place)

    def shut_down(self):
        """Have every other scheduler end; only its own launcher ends this one."""
        self._over.acquire(blocking=False)
        with self.changed:
            self._tell(SHUTDOWN)

    def _tell(self, text):
        for connection in self.members:
            try:
                connection.sendall(text + b"\n")
            except OSError:
                pass


class Member(Group):
    """Any other one: connected to the store from its first barrier on."""

    def __init__(self, plan, lost):
        super().__init__(plan, lost)
        self.passed = set()
        self.changed = threading.Condition()
        self.connection = None

    def _connect(self):
        while True:
            try:
                self.connection = socket.create_connection(self.address, timeout=5)
                break
            except OSError:
                time.sleep(0.05)
        self.connection.settimeout(None)
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        try:
            with self.connection.makefile("rb") as lines:
                for line in lines:
                    if line.strip() == SHUTDOWN:
                        os._exit(0)
                    with self.changed:
                        self.passed.add(line.strip())
                        self.changed.notify_all()
        except OSError:
            pass
        self.lose(self.address[0])

    def barrier(self, place):
        if self.connection is None:
            self._connect()
        try:
            self.connection.sendall(place.encode() + b"\n")
        except OSError:
            self.lose(self.address[0])
        with self.changed:
            self.changed.wait_for(lambda: GO_ON + place.encode() in self.passed)

    def shut_down(self):
        """Only the first scheduler ends the others."""
