# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts with a systemd that no test host has: they answer with what its documentation says, from fixtures that say so too."""

from __future__ import annotations

import pathlib

import yaml

from ansible_collections.llmops.sglang.tests.unit.journal_host import NOW, Host

FIXTURES = pathlib.Path(__file__).parent / "fixtures" / "systemd"
VERSIONS = [int(path.stem) for path in sorted(FIXTURES.glob("*.yml"))]
# What goes with ProcSubset=pid only since 250.
_OF_KERNEL = ("ProtectKernelTunables=yes", "ProtectKernelLogs=yes", "ProtectHostname=yes")


def documented(version):
    return yaml.safe_load((FIXTURES / f"{version}.yml").read_text(encoding="utf-8"))


class DocumentedHost(Host):
    """A host of that version: its systemctl leaves out what it has no property for, its busctl fails there, and its systemd-run
    refuses the settings that it does not know.
    """

    def __init__(self, version, exists=True):
        super().__init__()
        self.texts = documented(version)
        self.shown = self.texts["show" if exists else "show_not_found"]
        self.bus = True
        self.failed = ""

    def write(self, name, invocation=NOW, **more):
        """One of the documented rows."""
        fields = {
            key: text.replace("INVOCATION", invocation) if text == "INVOCATION" else text
            for key, text in self.texts["rows"][name].items()
        }
        self.row(fields.pop("MESSAGE"), **fields, **more)

    def begin(self, invocation=NOW):
        self.write("starting", invocation)
        self.write("started", invocation)

    def row(self, message, **fields):
        super().row(message, **{**self.texts["every_row"], **fields})

    def run_command(self, argv, **more):
        words = argv[argv.index("systemd-run") :] if "systemd-run" in argv else argv
        self.commands.append(words)
        if words[0] == "systemd-run":
            return self._transient(words)
        if "--version" in words:
            return 0, self.texts["version"], ""
        if words[0] == "busctl":
            known = self.texts["bus"].get(words[-1])
            return (0, known + "\n", "") if known and self.bus else (1, "", f"Unknown property {words[-1]}")
        if words[0] == "systemctl":
            return 0, self._systemctl(words), ""
        if words[0] == "systemd-analyze" and "verify" in words:
            return 0, "", self.texts["verify"]
        if "--output=cat" in words:
            return 0, self.failed, ""
        return super().run_command(words, **more)

    def _systemctl(self, words):
        if "show" in words:
            wanted = next(word for word in words if word.startswith("--property=")).partition("=")[2].split(",")
            # An older systemctl may print a property by another name than the one that it is asked for by.
            names = {*wanted, *(["EnvironmentFile"] if "EnvironmentFiles" in wanted else [])}
            return "".join(f"{line}\n" for line in self.shown.splitlines() if line.partition("=")[0] in names)
        assert "--plain" in words and "--no-legend" in words
        return self.texts["list_unit_files" if "list-unit-files" in words else "list_units"]

    def _transient(self, words):
        settings = [words[place + 1] for place, word in enumerate(words) if word == "-p"]
        for setting in settings:
            if setting.partition("=")[0] in self.texts["unknown_settings"]:
                return 1, "", f"Unknown assignment: {setting}"
        alone = "ProcSubset=pid" in settings and not self.texts["processes_alone_with_kernel"]
        if alone and any(setting in settings for setting in _OF_KERNEL):
            self.failed = "x.service: Failed to set up mount namespacing: /proc/sys: No such file or directory\n"
            return 226, "", "Running as unit: x.service"
        return 0, "it ran\n", ""
