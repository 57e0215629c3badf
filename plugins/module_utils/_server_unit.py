# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Bring the unit file of one server, and the files of its secrets, in line with the options."""

from __future__ import annotations

import grp
import os
import pwd
import shutil
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils import _flags
from ansible_collections.llmops.sglang.plugins.module_utils._change_words import change_words, changed_settings
from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.module_utils._flag_changes import flag_changes
from ansible_collections.llmops.sglang.plugins.module_utils._former_command import former_words
from ansible_collections.llmops.sglang.plugins.module_utils._journal_proof import journal_proof
from ansible_collections.llmops.sglang.plugins.module_utils._kept_help import kept_help
from ansible_collections.llmops.sglang.plugins.module_utils._neighbours import beside
from ansible_collections.llmops.sglang.plugins.module_utils._preflight import no_room, of_containers, unfit_host
from ansible_collections.llmops.sglang.plugins.module_utils._running_process import (
    UNIT_FINGERPRINT,
    differences,
    read_environ,
)
from ansible_collections.llmops.sglang.plugins.module_utils._secret_store import SecretStore
from ansible_collections.llmops.sglang.plugins.module_utils._secrets import Mask
from ansible_collections.llmops.sglang.plugins.module_utils._server_inputs import InputMemory
from ansible_collections.llmops.sglang.plugins.module_utils._server_plan import (
    KEYS,
    CommandPlan,
    Params,
    RunCommand,
    on_this_host,
    plan_command,
)
from ansible_collections.llmops.sglang.plugins.module_utils._systemd import Manager, UnitState, version_of
from ansible_collections.llmops.sglang.plugins.module_utils._unit_file import (
    MODERN_SYSTEMD,
    UnitPlan,
    exec_start_value,
    fingerprint_of,
    is_own,
    render,
)
from ansible_collections.llmops.sglang.plugins.module_utils._unit_name import unit_name
from ansible_collections.llmops.sglang.plugins.module_utils._unit_place import (
    Writer,
    attributes_differ,
    check_not_shadowed,
    place_of,
    read_text,
)
from ansible_collections.llmops.sglang.plugins.module_utils._unit_remarks import (
    cutting_stop,
    later_drop_ins,
    open_secrets,
    without_secrets,
)
from ansible_collections.llmops.sglang.plugins.module_utils._unit_secrets import (
    CONFIG_FILE,
    CREDENTIALS_SINCE,
    ENVIRONMENT_FILE,
    SecretFiles,
    mergeable,
    secret_files,
    secret_texts,
)
from ansible_collections.llmops.sglang.plugins.module_utils._unit_syntax import exec_start_of
from ansible_collections.llmops.sglang.plugins.module_utils._unit_verify import verify


class ServerUnit:
    """One server's unit.

    :arg params: the module's options.
    :arg run_command: ``AnsibleModule.run_command``.
    :arg writer: what writes files; not used in check mode.
    :arg tmpdir: a directory for a moment's files.
    :arg warnings: takes the warnings as they come up.
    """

    def __init__(
        self,
        params: Params,
        run_command: RunCommand,
        writer: Writer,
        check_mode: bool,
        tmpdir: str,
        warnings: list[str],
    ) -> None:
        self.params = params
        self.run_command = run_command
        self.writer = writer
        self.check_mode = check_mode
        self.tmpdir = tmpdir
        self.warnings = warnings
        self.name = unit_name(params["name"])
        self.place = place_of(self.name, params["scope"], params["style"], params["dest_dir"])
        self.manager = self._manager()
        # As it is before this module changes anything.
        self.state = self.manager.show(self.name) if self.manager else UnitState(self.name, {})
        self.systemd = self._systemd_version()
        self.secrets = secret_texts(params["environment_secrets"] or {})
        self.secret_store = SecretStore(self.place, writer, params["user"] or "", self.systemd >= CREDENTIALS_SINCE)
        self.mask = Mask([*(params[key] for key in KEYS), *self.secrets.values()])

    def present(self) -> dict[str, t.Any]:
        """Write what differs; the result of the module.

        :raises Failure: before anything is written, but for ``write_failed``.
        """
        self._check_owner_options()
        before = self._before()
        old_argv = self._old_argv(before)
        command = plan_command(self.params, self.run_command, self.warnings, kept_help(self.writer, self.check_mode))
        files = self._secret_files(command)
        plan = self._unit_plan(command, files)
        text = render(plan)
        alone = self.params["style"] == "drop_in" and self.manager is not None and self._still_to_come()
        if self.params["verify"] and not alone:
            self._verify(text)
        self.warnings += later_drop_ins(self.place, self.params["scope"], self.state, not self.params["dest_dir"])
        self.warnings += [*cutting_stop(text, self.params["style"], self.state), *open_secrets(command.environment)]
        changed, secrets_changed = text != before, self.secret_store.differs(files)
        wrong = self.secret_store.wrong_attributes(files)
        if attributes_differ(self.place.path, 0o644, os.geteuid()):
            wrong.append(self.place.path)
        size = len(text) + len(files.config) + len(files.environment)
        self._preflight(command, old_argv, size if changed or secrets_changed else 0)
        try:
            backup = self._write(before, text, files, secrets_changed, wrong)
            reloaded = self._reload(changed or self.place.path in wrong)
            if secrets_changed and not self.check_mode:
                self.secret_store.drop_others(files)
        except Failure as failure:
            # Some of it may be written: whoever goes back where a change fails has to know.
            failure.result.setdefault("changed", not self.check_mode)
            raise
        argv = [*plan.words, *plan.raw_words]
        flags = self._flag_changes(old_argv, argv, command)
        restart = self._restart_required(text, changed, secrets_changed)
        needs = "restart" if restart else "start" if changed and self.manager and not self.state.running else ""
        return {
            "changed": changed or secrets_changed or reloaded or bool(wrong),
            "path": self.place.path,
            "argv": argv,
            "exec_start": exec_start_value(text),
            "sglang_version": command.version,
            "speculative": self.mask.value(command.speculative),
            "journal_proof": journal_proof(command.speculative, command.arguments, command.version),
            "inputs_sha256": command.inputs_sha256,
            "flag_changes": flags,
            "restart_required": restart,
            "diff": self._diff(
                before, text, secrets_changed, wrong, change_words(flags, changed_settings(before or "", text), needs)
            ),
            **({"backup_file": backup} if backup else {}),
        }

    def absent(self) -> dict[str, t.Any]:
        """Remove what this module wrote for the unit, and nothing else."""
        place = self.place
        before = read_text(place.path)
        if before is not None and not is_own(before):
            raise Failure(
                "unit_invalid",
                f"The file '{place.path}' was not written by this module: remove it by hand if it has to go.",
            )
        secrets = self.secret_store.present()
        changed = before is not None or bool(secrets)
        runs = changed and place.style == "unit" and self.state.running
        backup = ""
        if changed and not self.check_mode:
            if before is not None and self.params["backup"]:
                backup = self.writer.backup(place.path)
            if before is not None and self.manager and self.params["style"] == "unit":
                # The links of an enabled unit would dangle.
                self.manager.systemctl("disable", self.name, check=False)
            self.writer.remove(place.path)
            self.secret_store.remove()
            if self.params["style"] == "drop_in":
                self.writer.remove_empty(os.path.dirname(place.path))
            elif self.manager:
                InputMemory(self.name, self.params["scope"]).forget()
            if self.manager:
                self.manager.daemon_reload()
        return {
            "changed": changed,
            "path": place.path,
            "argv": [],
            "exec_start": "",
            "sglang_version": "",
            "speculative": {},
            "journal_proof": journal_proof({}),
            "inputs_sha256": {},
            "flag_changes": {"added": {}, "removed": {}, "changed": {}},
            "restart_required": False,
            "diff": self._diff(before, None, bool(secrets), words=change_words({}, [], "stop" if runs else "")),
            **({"backup_file": backup} if backup else {}),
        }

    def _manager(self) -> t.Optional[Manager]:
        """The service manager; none with ``dest_dir`` and on a host that was not booted by systemd."""
        if self.params["dest_dir"]:
            return None
        if self.params["scope"] == "system" and not os.path.isdir("/run/systemd/system"):
            self.warnings.append("systemd does not run on this host: the unit is written and not loaded.")
            return None
        return Manager(self.run_command, self.params["scope"])

    def _check_owner_options(self) -> None:
        user, group = self.params["user"], self.params["group"]
        if self.params["scope"] == "user" and (user or group):
            raise Failure("unit_invalid", "A unit of 'scope: user' runs as that user: leave 'user' and 'group' out.")
        if self.params["dest_dir"]:
            return
        for option, name, known in (("user", user, pwd.getpwnam), ("group", group, grp.getgrnam)):
            try:
                if name and not name.isdigit():
                    known(name)
            except KeyError as exc:
                raise Failure(
                    "unit_invalid", f"The {option} '{name}' is not known on this host: create it first."
                ) from exc

    def _before(self) -> t.Optional[str]:
        """The file's text before; checks that it may be replaced."""
        place = self.place
        link = os.path.join(place.directory, self.name)
        masked = not self.params["dest_dir"] and os.path.islink(link) and os.path.realpath(link) == "/dev/null"
        drop_in = self.params["style"] == "drop_in"
        if masked or (drop_in and self.state.load_state == "masked"):
            raise Failure(
                "unit_invalid",
                f"The unit '{self.name}' is masked: unmask it with 'systemctl unmask {self.name}' first.",
            )
        if drop_in and self.manager and self._still_to_come():
            failure = self.manager.no_such_unit(self.state)
            if not self.check_mode:
                raise failure
            self.warnings.append(f"{failure.msg} An earlier task may make it when this is no check.")
        check_not_shadowed(place, self.state)
        before = read_text(place.path)
        if before is not None and not is_own(before):
            self.warnings.append(
                f"The file '{place.path}' was not written by this module and is replaced; 'backup: true' keeps a copy."
            )
        if os.path.islink(place.path):
            self.warnings.append(f"The link '{place.path}' is replaced by a file; what it points to stays.")
        return before

    def _still_to_come(self) -> bool:
        """Whether systemd does not have the unit below a drop-in."""
        return not (self.state.fragment_path or (self.check_mode and self.state.exists))

    def _secret_files(self, command: CommandPlan) -> SecretFiles:
        keys = {key: self.params[key] for key in KEYS}
        if not command.config:
            return secret_files(keys, self.secrets)
        path = os.path.join(self.params["working_directory"] or "/", command.config)
        return secret_files(keys, self.secrets, mergeable(path, read_text(path), keys))

    def _unit_plan(self, command: CommandPlan, files: SecretFiles) -> UnitPlan:
        config = os.path.join(self.place.final_secrets, CONFIG_FILE) if files.config else ""
        by_credential = self.systemd >= CREDENTIALS_SINCE
        handed = f"${{CREDENTIALS_DIRECTORY}}/{CONFIG_FILE}" if by_credential else config
        return UnitPlan(
            name=self.name,
            words=command.words,
            raw_words=["--config", handed] if config else [],
            scope=self.params["scope"],
            style=self.params["style"],
            environment=command.environment,
            environment_file=os.path.join(self.place.final_secrets, ENVIRONMENT_FILE) if files else "",
            credential=f"{CONFIG_FILE}:{config}" if config and by_credential else "",
            user=self.params["user"] or "",
            group=self.params["group"] or "",
            working_directory=self.params["working_directory"] or "",
            overrides={section: self.params[section.lower()] or {} for section in ("Unit", "Service", "Install")},
            systemd=self.systemd,
        )

    def _systemd_version(self) -> int:
        out = self.run_command(["systemctl", "--version"], check_rc=False)[1] if shutil.which("systemctl") else ""
        return version_of(out) or MODERN_SYSTEMD

    def _verify(self, text: str) -> None:
        if not shutil.which("systemd-analyze"):
            if self.manager:
                self.warnings.append("The unit is not verified: 'systemd-analyze' is not there.")
            return
        place = self.place
        found = verify(
            self.run_command, self.name, place.relative, text, self.params["scope"], place.final_path, self.tmpdir
        )
        # With dest_dir the interpreter may come later.
        missing = f"Command {self.params['python']} is not executable"
        texts = [
            (self.mask.text(c.text), c.error) for c in found if not (self.params["dest_dir"] and missing in c.text)
        ]
        errors = [text for text, error in texts if error]
        self.warnings += [f"systemd remarks on the unit: {text}" for text, error in texts if not error]
        if errors:
            raise Failure("unit_invalid", f"systemd does not accept the unit '{self.name}': {'; '.join(errors)}")

    def _preflight(self, command: CommandPlan, old_argv: list[str], size: int) -> None:
        """Refuse what would keep the server from starting, or warn of it.

        :arg size: of what will be written, in characters; 0 where nothing will.
        :raises Failure: with the class of the first finding.
        """
        self.warnings += of_containers(self.params, self.name, old_argv)
        if self.params["preflight"] == "skip":
            return
        findings = no_room(self.place.directory, size) if size else []
        if on_this_host(self.params):
            findings += unfit_host(self.params, self.run_command, command, self.state)
            others = beside(self.manager, self.place.directory, command, self.state)
            findings += others.findings
            self.warnings += [self.mask.text(text) for text in others.warnings]
        sentences = [self.mask.text(finding.msg) for finding in findings]
        if self.params["preflight"] == "warn":
            self.warnings += sentences
        elif findings:
            raise Failure(findings[0].failure_class, " ".join(sentences))

    def _write(
        self, before: t.Optional[str], text: str, files: SecretFiles, secrets_changed: bool, wrong: list[str]
    ) -> str:
        """Write the secrets first, and remove none yet: a unit never points to a file that is not there."""
        if self.check_mode:
            return ""
        place = self.place
        changed = text != before
        if secrets_changed or set(wrong) - {place.path}:
            self.secret_store.write(files, secrets_changed)
        backup = self.writer.backup(place.path) if changed and before is not None and self.params["backup"] else ""
        if changed or place.path in wrong:
            if not os.path.isdir(os.path.dirname(place.path)):
                self.writer.make_directory(os.path.dirname(place.path), "0755")
            self.writer.write(place.path, text, "0644")
        return backup

    def _reload(self, written: bool) -> bool:
        """Have systemd read its files anew where its copy is older; whether that was needed although no file changed."""
        if not self.manager:
            return False
        stale = self.state.need_daemon_reload
        if not self.check_mode and (written or stale):
            self.manager.daemon_reload()
        return stale and not written

    def _restart_required(self, text: str, changed: bool, secrets_changed: bool) -> bool:
        if not self.manager:
            return False
        if not self.check_mode:
            return bool(differences(self.manager, self.name))
        if not self.state.running:
            return False
        environ = read_environ(self.state.main_pid)
        if changed or secrets_changed:
            return secrets_changed or environ is None or environ.get(UNIT_FINGERPRINT) != fingerprint_of(text)
        return bool(differences(self.manager, self.name))

    def _old_argv(self, before: t.Optional[str]) -> list[str]:
        """The command line before: of this file, or, for a new drop-in, of the unit below it."""
        foreign = self.params["style"] == "drop_in" if before is None else not is_own(before)
        if foreign and self.manager:
            return former_words(self.manager, self.state, before)
        return exec_start_of(before or "")

    def _flag_changes(self, old_argv: list[str], argv: list[str], command: CommandPlan) -> dict[str, t.Any]:
        old, new = (_flags.arguments_of(words, table=command.table) for words in (old_argv, argv))
        return flag_changes(old, new, self.mask)

    def _diff(
        self,
        before: t.Optional[str],
        after: t.Optional[str],
        secrets_changed: bool,
        wrong: t.Sequence[str] = (),
        words: str = "",
    ) -> t.Any:
        path = self.place.path
        diff = {
            **dict(zip(("before", "after"), without_secrets([self.mask.text(text or "") for text in (before, after)]))),
            "before_header": path if before is not None else f"{path} (absent)",
            "after_header": path if after is not None else f"{path} (absent)",
            **({"prepared": self.mask.text(words)} if words else {}),
        }
        notes = [f"The mode and owner of {path} are put right.\n" for path in wrong]
        if secrets_changed:
            notes.append(f"The secrets in {self.place.secrets} change; they are not shown.\n")
        return [diff, *({"prepared": note} for note in notes)] if notes else diff
