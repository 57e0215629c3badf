# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How server_unit writes: in one step, with the right mode, and nothing left over."""

from __future__ import annotations

import errno
import os
import stat
import tempfile

import pytest
from ansible.module_utils import basic

from ansible_collections.llmops.sglang.plugins.module_utils._server_unit import ServerUnit

KEY = "sk-the-api-key"


@pytest.fixture
def run(run_server_unit):
    return run_server_unit


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_a_secret_is_private_before_its_mode_is_set(run, tmp_path, monkeypatch):
    """A kill between the two steps must leave nothing that others can read."""
    monkeypatch.setattr(basic.AnsibleModule, "set_mode_if_different", lambda *dummy, **dummy2: False)
    run(api_key=KEY)
    for file in ("config.yaml", "environment"):
        assert mode(tmp_path / "llm.service.secrets" / file) == 0o600


@pytest.mark.parametrize(
    "victim", ["llm.service", "llm.service.secrets/config.yaml", "llm.service.secrets/environment"]
)
def test_a_mode_that_somebody_changed_is_put_right(run, tmp_path, victim):
    run(api_key=KEY)
    before = {p: p.read_text() for p in tmp_path.rglob("*") if p.is_file()}
    right = mode(tmp_path / victim)
    (tmp_path / victim).chmod(0o666)
    assert run(check=True, api_key=KEY)["changed"]
    assert mode(tmp_path / victim) == 0o666
    mended = run(api_key=KEY)
    assert mended["changed"]
    assert victim in mended["diff"][1]["prepared"]
    assert mode(tmp_path / victim) == right
    assert {p: p.read_text() for p in tmp_path.rglob("*") if p.is_file()} == before
    assert not run(api_key=KEY)["changed"]


class Killed(BaseException):
    pass


@pytest.mark.parametrize("new", [False, True])
@pytest.mark.parametrize("at", ["mkstemp", "fsync", "replace", "done"])
def test_a_kill_leaves_the_old_file_or_the_new_one(run, tmp_path, monkeypatch, at, new):
    """Whatever was there when it came, and with the right mode; the next run leaves nothing else."""
    if not new:
        run(api_key=KEY)
    unit = tmp_path / "llm.service"
    before = unit.read_text() if unit.exists() else None
    real = os.replace

    def killed(*words, **dummy):
        if at == "done":
            real(*words)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(
            {"mkstemp": tempfile, "fsync": os, "replace": os, "done": os}[at], "replace" if at == "done" else at, killed
        )
        with pytest.raises(Killed):
            run(args={"model_path": "other"})
    if unit.exists():
        assert mode(unit) == 0o644
    assert (unit.read_text() if unit.exists() else None) == before or (at == "done" and "other" in unit.read_text())
    run(args={"model_path": "other"}, api_key=KEY)
    assert sorted(p.name for p in tmp_path.iterdir() if p.name != "tmp") == ["llm.service", "llm.service.secrets"]
    run(state="absent")
    assert [p.name for p in tmp_path.iterdir() if p.name != "tmp"] == []


@pytest.mark.parametrize("kept", [{}, {"environment_secrets": {"HF_TOKEN": "hf-the-token"}}])
@pytest.mark.parametrize("at", ["mkstemp", "fsync", "done"])
def test_a_kill_takes_no_secret_from_a_unit_that_names_it(run, tmp_path, monkeypatch, at, kept):
    run(api_key=KEY, **kept)
    real = os.replace

    def killed(*words, **dummy):
        if at == "done":
            real(*words)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(tempfile if at == "mkstemp" else os, "replace" if at == "done" else at, killed)
        with pytest.raises(Killed):
            run(**kept)
    unit, secrets = (tmp_path / "llm.service").read_text(), tmp_path / "llm.service.secrets"
    assert "LoadCredential" not in unit or (secrets / "config.yaml").exists()
    assert "EnvironmentFile" not in unit or (secrets / "environment").exists()
    run(**kept)
    assert [p.name for p in secrets.iterdir()] == ["environment"] if kept else not secrets.exists()
    assert not run(**kept)["changed"]


def test_a_file_that_cannot_be_replaced_leaves_the_old_one(run, tmp_path, monkeypatch):
    run()
    before = (tmp_path / "llm.service").read_text()

    def full(*dummy):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        result = run(args={"model_path": "other"})
    assert result["failure_class"] == "write_failed"
    # Of several files some may be written by then, and a role that goes back has to know.
    assert result["changed"] and not run(args={"no_such": 1})["changed"]
    assert "No space left on device" in result["msg"]
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir() if p.name != "tmp"] == [("llm.service", before)]


def test_without_credentials_the_unit_s_user_reads_the_key_itself(run, tmp_path, monkeypatch):
    monkeypatch.setattr(ServerUnit, "_systemd_version", lambda self: 246)
    result = run(api_key=KEY)
    folder = tmp_path / "llm.service.secrets"
    assert result["argv"][-2:] == ["--config", "/etc/systemd/system/llm.service.secrets/config.yaml"]
    assert "LoadCredential" not in (tmp_path / "llm.service").read_text()
    # The way to the file is open, and the file is not.
    assert (mode(folder), mode(folder / "config.yaml"), mode(folder / "environment")) == (0o711, 0o600, 0o600)
    assert not run(api_key=KEY)["changed"]


def test_a_link_is_replaced_and_what_it_points_to_stays(run, tmp_path):
    elsewhere = tmp_path / "tmp" / "vendor.service"
    elsewhere.parent.mkdir(exist_ok=True)
    elsewhere.write_text("[Service]\nExecStart=/bin/true\n")
    (tmp_path / "llm.service").symlink_to(elsewhere)
    result = run()
    assert any("is replaced by a file" in w for w in result["warnings"])
    assert result["diff"]["before"] == elsewhere.read_text() == "[Service]\nExecStart=/bin/true\n"
    assert not (tmp_path / "llm.service").is_symlink()
    assert mode(tmp_path / "llm.service") == 0o644


def test_the_security_context_is_the_one_of_the_place(run, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(basic.AnsibleModule, "selinux_context", lambda self, path: ["kept", path])
    monkeypatch.setattr(basic.AnsibleModule, "selinux_default_context", lambda self, path: ["default", path])
    monkeypatch.setattr(
        basic.AnsibleModule, "set_context_if_different", lambda self, path, context, dummy: seen.append((path, context))
    )
    unit = str(tmp_path / "llm.service")
    for args, kind in (({"model_path": "a"}, "default"), ({"model_path": "b"}, "kept")):
        run(args=args)
        # Before it is in place: there is no moment without it.
        path, context = seen.pop()
        assert path != unit and os.path.dirname(path) == str(tmp_path)
        assert context == [kind, unit]
