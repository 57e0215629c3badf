# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""All files that configure one unit below its manager's directory, byte for byte, as they are or were."""

from __future__ import annotations

import glob
import os
import stat
import typing as t
from dataclasses import asdict, dataclass

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._unit_secrets import CONFIG_FILE, ENVIRONMENT_FILE

_LARGEST = 1024 * 1024
# Links in these directories are what "enabled" means.
_DEPENDENCIES = ("wants", "requires", "upholds")


@dataclass(frozen=True)
class KeptFile:
    """A file, link or directory; ``path`` is relative to the manager's directory, ``text`` the content or the link's target.

    Bytes that are no UTF-8 are kept as Python's surrogate escapes. A link's mode and owner mean nothing and are zero.
    """

    path: str
    kind: str
    mode: int = 0
    uid: int = 0
    gid: int = 0
    text: str = ""

    def dump(self) -> dict[str, t.Any]:
        return asdict(self)


Files = t.Dict[str, KeptFile]


def load_files(data: t.Any, name: str) -> Files:
    """The files of unit *name* as :meth:`KeptFile.dump` gave them.

    :raises ValueError: for anything else, and for a path that is no place of this unit's files.
    """
    files: Files = {}
    for one in data:
        kept = KeptFile(**one)
        numbers = (kept.mode, kept.uid, kept.gid)
        texts = (kept.path, kept.text)
        if not all(isinstance(n, int) and n >= 0 for n in numbers) or not all(isinstance(x, str) for x in texts):
            raise ValueError("a field has another type")
        if kept.kind not in ("file", "link", "directory") or not _is_place(kept, name):
            raise ValueError(f"'{kept.path}' is no file of {name}")
        files[kept.path] = kept
    return files


def read_files(directory: str, name: str) -> Files:
    """The files of unit *name* in *directory* now: the unit, its drop-ins, its secrets, and the links that enable it.

    What a vendor's directory holds, and what several units share (a template, ``service.d``), is not among them.

    :raises Failure: ``no_permission`` or ``unit_invalid`` for a file that cannot be kept.
    """
    files: Files = {}
    for relative in _paths(directory, name):
        kept = _read(directory, relative)
        if kept is not None and _is_place(kept, name):
            files[relative] = kept
    return files


def key_file(files: Files, name: str) -> t.Optional[str]:
    """The path of the file that carries the key clients must send; ``None`` where there is none."""
    path = f"{name}.secrets/{CONFIG_FILE}"
    kept = files.get(path)
    return path if kept and any(line.startswith("api-key:") for line in kept.text.splitlines()) else None


def is_secret(path: str) -> bool:
    return os.path.dirname(path).endswith(".secrets")


def _is_place(kept: KeptFile, name: str) -> bool:
    folder, base = os.path.split(kept.path)
    if not base or base in (".", "..") or folder.count("/") or "\0" in kept.path:
        return False
    if not folder:
        directories = (f"{name}.d", f"{name}.secrets")
        if base == name:
            return kept.kind != "directory"
        if base in directories:
            return kept.kind != "file"
        # Another name of the unit.
        return kept.kind == "link" and base.endswith(".service") and os.path.basename(kept.text) == name
    if folder == f"{name}.d":
        return base.endswith(".conf") and kept.kind != "directory"
    if folder == f"{name}.secrets":
        return base in (CONFIG_FILE, ENVIRONMENT_FILE) and kept.kind == "file"
    return base == name and kept.kind == "link" and folder.rpartition(".")[2] in _DEPENDENCIES


def _paths(directory: str, name: str) -> list[str]:
    found = [name, f"{name}.d", f"{name}.secrets"]
    # systemd follows a directory that is a link; where it leads to is somebody else's.
    if not os.path.islink(os.path.join(directory, f"{name}.d")):
        found += _below(directory, f"{name}.d", "*.conf")
    if not os.path.islink(os.path.join(directory, f"{name}.secrets")):
        found += [f"{name}.secrets/{ENVIRONMENT_FILE}", f"{name}.secrets/{CONFIG_FILE}"]
    for kind in _DEPENDENCIES:
        found += _below(directory, f"*.{kind}", glob.escape(name), escaped=False)
    others = (p for p in _below(directory, "", "*.service") if p != name)
    return found + [p for p in others if os.path.islink(os.path.join(directory, p))]


def _below(directory: str, folder: str, pattern: str, escaped: bool = True) -> list[str]:
    folder = glob.escape(folder) if escaped else folder
    found = glob.glob(os.path.join(glob.escape(directory), folder, pattern))
    return sorted(os.path.relpath(path, directory) for path in found if os.path.lexists(path))


def _read(directory: str, relative: str) -> t.Optional[KeptFile]:
    path = os.path.join(directory, relative)
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return KeptFile(relative, "link", text=os.readlink(path))
        owned = (stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid)
        if stat.S_ISDIR(status.st_mode):
            return KeptFile(relative, "directory", *owned)
        if not stat.S_ISREG(status.st_mode):
            return None
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as handle:
            data = handle.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise Failure(
            "no_permission", f"The file '{path}' cannot be read to keep it ({exc.strerror}): become its owner."
        ) from exc
    if len(data) > _LARGEST:
        raise Failure("unit_invalid", f"The file '{path}' is larger than 1 MiB, which no unit needs: take it away.")
    return KeptFile(relative, "file", *owned, text=data.decode("utf-8", "surrogateescape"))
