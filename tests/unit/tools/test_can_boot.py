# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether sudo will do for test hosts: asked as Ansible's workers ask, which have no terminal."""

from __future__ import annotations

import importlib.util
import os
import pathlib

import pytest

PROGRAM = pathlib.Path(__file__).parents[2] / "hosts" / "can_boot.py"


@pytest.fixture
def can_boot():
    spec = importlib.util.spec_from_file_location("can_boot", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_password_that_sudo_remembers_for_this_terminal_does_not_count(can_boot, tmp_path, monkeypatch):
    sudo = tmp_path / "sudo"
    sudo.write_text(f'#!/bin/sh\n[ "$(ps -o sid= -p $$ | tr -d " ")" = {os.getsid(0)} ]\n')
    sudo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert not can_boot._has_sudo()


@pytest.mark.parametrize(("status", "expected"), [(0, True), (1, False)])
def test_sudo_is_asked(can_boot, tmp_path, monkeypatch, status, expected):
    sudo = tmp_path / "sudo"
    sudo.write_text(f"#!/bin/sh\nexit {status}\n")
    sudo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert can_boot._has_sudo() is expected


def test_a_machine_without_sudo_has_none(can_boot, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not can_boot._has_sudo()
