# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether this machine can boot a test host at all; tried, not guessed from its name."""

from __future__ import annotations

import glob
import os
import shutil

from . import cgroup
from .command import ENVIRON, run
from .settings import HostsError

# Program and the Debian package that brings it.
PROGRAMS = {
    "systemd-nspawn": "systemd-container",
    "ip": "iproute2",
    "sshd": "openssh-server",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "unshare": "util-linux",
    "setpriv": "util-linux",
    "dbus-daemon": "dbus",
}
FILES = {
    "/usr/lib/systemd/systemd": "systemd",
    "/usr/bin/python3": "python3",
    "/usr/lib/systemd/user/dbus.socket": "dbus-user-session",
}
# In namespaces of its own: an overlay of / and a bridge with a veth leg, as a host needs them.
TRIAL = """
mount -t proc proc /proc && mount -t tmpfs none /mnt && mkdir /mnt/upper /mnt/work /mnt/root &&
mount -t overlay none -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root &&
ip link add bridge0 type bridge && ip link add leg0 type veth peer name leg1 && ip link set leg0 master bridge0
"""


def check() -> None:
    """Raises HostsError with the reason when no host can be booted here."""
    if os.geteuid() != 0:
        raise HostsError(
            "A test host cannot be booted by this user: it needs root or sudo without a password (try as root)."
        )
    for program, package in PROGRAMS.items():
        if not shutil.which(program, path=ENVIRON["PATH"]):
            raise HostsError(f"The program {program!r} is missing on this machine: install the package {package!r}.")
    for path, package in FILES.items():
        if not os.path.exists(path):
            raise HostsError(f"The file {path!r} is missing on this machine: install the package {package!r}.")
    if not any(glob.glob(f"{root}/security/pam_systemd.so") for root in ("/lib", "/lib/*", "/usr/lib64")):
        raise HostsError("The PAM module 'pam_systemd.so' is missing on this machine: install 'libpam-systemd'.")
    cgroup.unified_root()
    words = [
        "unshare",
        "--mount",
        "--net",
        "--pid",
        "--fork",
        "--kill-child",
        "--propagation",
        "slave",
        "sh",
        "-c",
        TRIAL,
    ]
    trial = run(words, check=False)
    if trial.returncode:
        said = " ".join(trial.stderr.split())
        raise HostsError(
            f"Mounts, overlays and networks of a test host are not allowed on this machine ({said}): use a machine or "
            "container with full privileges."
        )
