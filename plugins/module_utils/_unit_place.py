# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Where the files of one unit lie, and writing them so that a kill leaves the old file or the new one."""

from __future__ import annotations

import glob
import os
import pwd
import stat
import tempfile
import typing as t
from dataclasses import dataclass

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._unit_file import DROP_IN
from ansible_collections.llmops.sglang.plugins.module_utils._unit_secrets import CONFIG_FILE, ENVIRONMENT_FILE

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from ansible_collections.llmops.sglang.plugins.module_utils._systemd import UnitState

# Where systemd looks for a unit before the directory of the administrator, besides that of transient ones (systemd.unit(5)).
_BEFORE_OURS = ("system.control", "user.control", "generator.early")


@dataclass(frozen=True)
class Place:
    """The paths of one unit: ``directory`` is where files are written, ``final`` where systemd will read them."""

    name: str
    style: str
    directory: str
    final: str

    @property
    def relative(self) -> str:
        return self.name if self.style == "unit" else f"{self.name}.d/{DROP_IN}"

    @property
    def path(self) -> str:
        return os.path.join(self.directory, self.relative)

    @property
    def final_path(self) -> str:
        return os.path.join(self.final, self.relative)

    @property
    def secrets(self) -> str:
        return os.path.join(self.directory, f"{self.name}.secrets")

    @property
    def final_secrets(self) -> str:
        return os.path.join(self.final, f"{self.name}.secrets")

    @property
    def config_path(self) -> str:
        return os.path.join(self.secrets, CONFIG_FILE)

    @property
    def environment_path(self) -> str:
        return os.path.join(self.secrets, ENVIRONMENT_FILE)


def place_of(name: str, scope: str, style: str, dest_dir: t.Optional[str]) -> Place:
    """The place of a unit in its manager's search path, or below *dest_dir*."""
    home = pwd.getpwuid(os.geteuid()).pw_dir
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    final = os.path.join(config, "systemd", "user") if scope == "user" else "/etc/systemd/system"
    return Place(name, style, dest_dir or final, final)


def check_not_shadowed(place: Place, state: UnitState) -> None:
    """See that systemd will read what is written at *place*.

    :raises Failure: ``unit_invalid`` where another file of the unit's name goes before it.
    """
    if state.transient:
        raise Failure(
            "unit_invalid",
            f"The unit '{place.name}' is a transient one ('{state.fragment_path}'), which goes before '{place.path}' and is gone once it "
            f"is stopped: end it with 'systemctl stop {place.name}' first, or 'systemctl reset-failed {place.name}' where it has failed.",
        )
    if place.style == "unit" and os.path.basename(os.path.dirname(state.fragment_path)) in _BEFORE_OURS:
        raise Failure(
            "unit_invalid",
            f"The file '{state.fragment_path}' goes before '{place.path}', which systemd would not read: remove it, or use "
            "'style: drop_in'.",
        )


def read_text(path: str) -> t.Optional[str]:
    """The text of *path*; ``None`` where it is not there.

    :raises Failure: ``unit_invalid`` if it is there and cannot be read.
    """
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as handle:
            return handle.read()
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise Failure(
            "unit_invalid", f"The file '{path}' cannot be read ({exc.strerror}): check its mode, or become its owner."
        ) from exc


def attributes_differ(path: str, mode: int, uid: int) -> bool:
    """Whether the file *path* is there with another mode or owner; of a link nothing is said."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and (stat.S_IMODE(found.st_mode), found.st_uid) != (mode, uid)


class Writer:
    """Writes and removes files with the means of *module*."""

    def __init__(self, module: AnsibleModule) -> None:
        self._module = module

    def make_directory(self, path: str, mode: str) -> None:
        """Make *path* where it is not there, and give it *mode* (octal text)."""
        try:
            os.makedirs(path, mode=int(mode, 8), exist_ok=True)
        except OSError as exc:
            raise _write_failed(path, exc) from exc
        self._module.set_mode_if_different(path, mode, False)

    def write(self, path: str, text: str, mode: str, owner: str = "") -> None:
        """Replace *path* in one step, with its mode, owner and SELinux context: a kill leaves the old file or the new one.

        :raises Failure: ``write_failed``.
        """
        directory, base = os.path.split(path)
        self._sweep(path)
        temporary = ""
        try:
            number, temporary = tempfile.mkstemp(prefix=f".{base}.", dir=directory)
            with open(number, "w", encoding="utf-8", errors="surrogateescape") as handle:
                handle.write(text)
                handle.flush()
                os.fsync(handle.fileno())
            module = self._module
            known = module.selinux_context if os.path.lexists(path) else module.selinux_default_context
            if owner:
                module.set_owner_if_different(temporary, owner, False)
            module.set_mode_if_different(temporary, mode, False)
            module.set_context_if_different(temporary, known(path), False)
            os.replace(temporary, path)
        except OSError as exc:
            if temporary:
                os.unlink(temporary)
            raise _write_failed(path, exc) from exc

    def backup(self, path: str) -> str:
        return self._module.backup_local(path)

    def remove(self, path: str) -> bool:
        """Remove one file, and what a killed run left of it; false where there was none."""
        self._sweep(path)
        try:
            os.unlink(path)
        except FileNotFoundError:
            return False
        except OSError as exc:
            raise _write_failed(path, exc) from exc
        return True

    @staticmethod
    def _sweep(path: str) -> None:
        """Remove what a run that was killed left beside *path*."""
        directory, base = os.path.split(path)
        for left in glob.glob(os.path.join(glob.escape(directory), f".{glob.escape(base)}.????????")):
            os.unlink(left)

    @staticmethod
    def remove_empty(path: str) -> None:
        """Remove a directory if nothing is in it."""
        try:
            os.rmdir(path)
        except OSError:
            pass


def _write_failed(path: str, exc: OSError) -> Failure:
    return Failure(
        "write_failed",
        f"The file '{path}' could not be written ({exc.strerror}); what was there is untouched: make room or become root.",
    )
