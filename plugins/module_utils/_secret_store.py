# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The files of one unit's secrets where they lie: whether they are as they should be, and bringing them there."""

from __future__ import annotations

import os
import pwd

from ansible_collections.llmops.sglang.plugins.module_utils._unit_place import (
    Place,
    Writer,
    attributes_differ,
    read_text,
)
from ansible_collections.llmops.sglang.plugins.module_utils._unit_secrets import SecretFiles, identity_of, new_identity


class SecretStore:
    """The secrets beside one unit.

    :arg user: whom the unit runs as; empty for the user of its manager.
    :arg credentials: whether the manager hands the file of the keys over; where not, *user* reads it itself.
    """

    def __init__(self, place: Place, writer: Writer, user: str, credentials: bool) -> None:
        self.place = place
        self.writer = writer
        self.user = user
        self.credentials = credentials

    def present(self) -> list[str]:
        """The files that are there."""
        return [path for path in (self.place.config_path, self.place.environment_path) if os.path.lexists(path)]

    def differs(self, files: SecretFiles) -> bool:
        """Whether other secrets are there than *files*."""
        config, environment = read_text(self.place.config_path), read_text(self.place.environment_path)
        wanted = files.environment_text(identity_of(environment) or "none")
        return (config or "") != files.config or (environment or "") != wanted

    def wrong_attributes(self, files: SecretFiles) -> list[str]:
        """The files whose mode or owner is not what it was."""
        user = self._reader(files)
        own = reader = os.geteuid()
        try:
            reader = own if not user else int(user) if user.isdigit() else pwd.getpwnam(user).pw_uid
        except KeyError:
            # Files for another host, where that user is known.
            pass
        wanted = ((self.place.config_path, reader), (self.place.environment_path, own))
        return [path for path, uid in wanted if attributes_differ(path, 0o600, uid)]

    def write(self, files: SecretFiles, changed: bool) -> None:
        """Bring *files* there; what is new gets a new id, so that a process that runs is known to be out of date.

        A file that is there no more stays for now, since the unit of before names it.

        :raises Failure: ``write_failed``.
        """
        if not files:
            return
        place = self.place
        identity = new_identity() if changed else identity_of(read_text(place.environment_path))
        if not os.path.isdir(place.directory):
            self.writer.make_directory(place.directory, "0755")
        # Without credentials the server itself reads its file, through this directory.
        self.writer.make_directory(place.secrets, "0711" if files.config and not self.credentials else "0700")
        if files.config:
            self.writer.write(place.config_path, files.config, "0600", self._reader(files))
        self.writer.write(place.environment_path, files.environment_text(identity), "0600")

    def drop_others(self, files: SecretFiles) -> None:
        """Remove what is not in *files*, once no unit names it any more."""
        if not files:
            self.remove()
        elif not files.config:
            self.writer.remove(self.place.config_path)

    def remove(self) -> None:
        """Remove the files and their directory."""
        for path in (self.place.config_path, self.place.environment_path):
            self.writer.remove(path)
        self.writer.remove_empty(self.place.secrets)

    def _reader(self, files: SecretFiles) -> str:
        """The owner of the file of the keys where that is not the module's own user."""
        return self.user if files.config and not self.credentials else ""
