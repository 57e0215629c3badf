# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host's root file system: what differs in it from the machine that it is laid over.

All is written to the overlay's upper directory before it is mounted.
"""

from __future__ import annotations

import glob
import os
import shutil
import uuid
from dataclasses import dataclass
from typing import Dict, List

OPERATOR = "operator"
OPERATOR_ID = 1500
# Debian has a group "operator" of its own (37), so the user's group cannot share the user's name.
OPERATOR_GROUP = "test-operator"

# Static units that cost time or fail in a host and that nothing here needs.
MASKED = [
    "console-getty.service",
    "getty-static.service",
    "getty.target",
    "ldconfig.service",
    "packagekit.service",
    "polkit.service",
    "ssh.socket",
    "systemd-firstboot.service",
    "systemd-hwdb-update.service",
    "systemd-journal-catalog-update.service",
    "systemd-machined.service",
    "systemd-networkd.service",
    "systemd-resolved.service",
    "systemd-sysusers.service",
    "systemd-timesyncd.service",
    "systemd-update-done.service",
    "var-lib-machines.mount",
]
# Where Debian's Python looks, whatever its version.
DIST_PACKAGES = "/usr/lib/python3/dist-packages"
GENERATORS = ["/usr/lib/systemd/system-generators", "/usr/local/lib/systemd/system-generators"]

SSHD_CONFIG = """\
HostKey /etc/ssh/ssh_host_ed25519_key
AuthorizedKeysFile /etc/ssh/authorized_keys
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM yes
UseDNS no
PrintMotd no
MaxStartups 100
MaxSessions 100
Subsystem sftp internal-sftp
"""
# The machine's own rules (second factors, limits, a message of the day) do not belong in a test host.
PAM_SSHD = """\
auth     required pam_unix.so
account  required pam_nologin.so
account  required pam_permit.so
session  required pam_unix.so
session  required pam_systemd.so
"""
SSH_SERVICE = """\
[Unit]
Description=OpenSSH server of a test host
After=network.target test-host-network.service

[Service]
ExecStart=/usr/sbin/sshd -D
RuntimeDirectory=sshd
RuntimeDirectoryMode=0755
Type=notify
KillMode=process
"""
NETWORK_SERVICE = """\
[Unit]
Description=Address of a test host
DefaultDependencies=no
Before=network.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=ip address add {address}/24 dev host0
ExecStart=ip link set host0 up
ExecStart=ip route add default via {gateway}
"""


@dataclass(frozen=True)
class Identity:
    """What tells one host from the next."""

    name: str
    addresses: Dict[str, str]
    gateway: str
    private_key: str
    authorized_key: str
    keeps_compiled: bool = False


class Upper:
    """Writes into the upper directory of an overlay whose lower directory is LOWER."""

    def __init__(self, directory: str, lower: str = "/") -> None:
        self.directory = directory
        self.lower = lower

    def make_directory(self, path: str, mode: int = 0o755, owner: int = 0) -> str:
        """PATH in the upper directory, with the lower one's mode and owner where that exists."""
        upper = self.directory
        lower = self.lower
        for part in path.strip("/").split("/"):
            upper = os.path.join(upper, part)
            lower = os.path.join(lower, part)
            if os.path.isdir(upper):
                continue
            os.mkdir(upper)
            if os.path.isdir(lower):
                status = os.stat(lower)
                os.chown(upper, status.st_uid, status.st_gid)
                shutil.copymode(lower, upper)
            else:
                os.chown(upper, owner, owner)
                os.chmod(upper, mode)
        return upper

    def hide_contents(self, path: str) -> None:
        """PATH is an empty directory in the host, whatever the machine has there."""
        os.setxattr(self.make_directory(path), "trusted.overlay.opaque", b"y")

    def write(self, path: str, text: str, mode: int = 0o644, group: int = 0) -> None:
        target = os.path.join(self.make_directory(os.path.dirname(path)), os.path.basename(path))
        with open(target, "w", encoding="utf-8") as file:
            file.write(text)
        os.chown(target, 0, group)
        os.chmod(target, mode)

    def link(self, path: str, destination: str) -> None:
        os.symlink(destination, os.path.join(self.make_directory(os.path.dirname(path)), os.path.basename(path)))


def write_host(upper: Upper, identity: Identity) -> None:
    """Write all that makes a copy of this machine the host IDENTITY."""
    _write_names(upper, identity)
    _write_units(upper, identity)
    _write_users(upper)
    _write_ssh(upper, identity)
    # The machine's journal is not the host's; the directory makes journald keep its own as on metal (persistent).
    upper.hide_contents("/var/log/journal")
    if identity.keeps_compiled:
        _write_compiled_code(upper)


def _write_compiled_code(upper: Upper) -> None:
    program = os.path.join(os.path.dirname(__file__), "compiled_code.py")
    with open(program, encoding="utf-8") as file:
        upper.write(f"{DIST_PACKAGES}/test_host_compiled_code.py", file.read())
    upper.write(f"{DIST_PACKAGES}/test_host_compiled_code.pth", "import test_host_compiled_code\n")


def _write_names(upper: Upper, identity: Identity) -> None:
    upper.write("/etc/machine-id", uuid.uuid4().hex + "\n", mode=0o444)
    upper.write("/etc/hostname", identity.name + "\n")
    lines = ["127.0.0.1 localhost", "::1 localhost"]
    lines += [f"{address} {name}" for name, address in identity.addresses.items()]
    upper.write("/etc/hosts", "\n".join(lines) + "\n")
    # No name server: a dead one costs 10 s for each look-up that torch does at its start.
    upper.write("/etc/resolv.conf", "# a test host asks no name server\n")
    upper.write("/etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n")
    for path in ("/etc/fstab", "/etc/environment"):
        upper.write(path, "")
    for name in (".bashrc", ".profile", ".bash_profile"):
        upper.write(f"/root/{name}", "")


def _write_units(upper: Upper, identity: Identity) -> None:
    # Whatever the machine has enabled (databases, docker, apt's timers) is not enabled in a host.
    units = "/etc/systemd/system"
    upper.hide_contents(units)
    upper.hide_contents("/etc/systemd/user")
    for unit in MASKED:
        upper.link(f"{units}/{unit}", "/dev/null")
    for directory in GENERATORS:
        for generator in glob.glob(f"{upper.lower.rstrip('/')}{directory}/*"):
            name = os.path.basename(generator)
            target = f"/etc/systemd/system-generators/{name}"
            if not os.path.lexists(upper.directory + target):
                upper.link(target, "/dev/null")
    upper.link(f"{units}/default.target", "/usr/lib/systemd/system/multi-user.target")
    upper.write(f"{units}/ssh.service", SSH_SERVICE)
    network = NETWORK_SERVICE.format(address=identity.addresses[identity.name], gateway=identity.gateway)
    upper.write(f"{units}/test-host-network.service", network)
    # The operator's user manager is part of the boot, so that a running host has it.
    wanted = {
        "ssh.service": f"{units}/ssh.service",
        "test-host-network.service": f"{units}/test-host-network.service",
        f"user@{OPERATOR_ID}.service": "/usr/lib/systemd/system/user@.service",
    }
    for unit, file in wanted.items():
        upper.link(f"{units}/multi-user.target.wants/{unit}", file)


def _write_users(upper: Upper) -> None:
    home = f"/home/{OPERATOR}"
    entries = {
        "passwd": (f"{OPERATOR}:x:{OPERATOR_ID}:{OPERATOR_ID}:Operator:{home}:/bin/bash", [OPERATOR], 0o644),
        "group": (f"{OPERATOR_GROUP}:x:{OPERATOR_ID}:", [OPERATOR_GROUP], 0o644),
        # root's own entry may be locked or expired on the machine.
        "shadow": (f"{OPERATOR}:*:19000:0:99999:7:::\nroot:*:19000:0:99999:7:::", [OPERATOR, "root"], 0o640),
    }
    for name, (added, replaced, mode) in entries.items():
        path = os.path.join(upper.lower, "etc", name)
        with open(path, encoding="utf-8") as file:
            kept = [line for line in file.read().splitlines() if not _is_replaced(line, replaced)]
        upper.write(f"/etc/{name}", "\n".join([*kept, added]) + "\n", mode=mode, group=os.stat(path).st_gid)
    upper.hide_contents("/home")
    upper.make_directory(home, mode=0o755, owner=OPERATOR_ID)
    upper.write(f"/var/lib/systemd/linger/{OPERATOR}", "")


def _is_replaced(line: str, names: List[str]) -> bool:
    fields = line.split(":")
    # In shadow the third field is a date, which never is that of the operator's id in a file that replaces root.
    return fields[0] in names or ("root" not in names and fields[2:3] == [str(OPERATOR_ID)])


def _write_ssh(upper: Upper, identity: Identity) -> None:
    upper.hide_contents("/etc/ssh")
    upper.write("/etc/ssh/sshd_config", SSHD_CONFIG)
    upper.write("/etc/ssh/ssh_host_ed25519_key", identity.private_key, mode=0o600)
    upper.write("/etc/ssh/authorized_keys", identity.authorized_key)
    upper.write("/etc/pam.d/sshd", PAM_SSHD)
