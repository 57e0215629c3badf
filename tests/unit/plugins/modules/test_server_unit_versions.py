# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What server_unit writes for versions of systemd that no test host has."""

from __future__ import annotations

import shutil

import pytest
from ansible.module_utils import basic

from ansible_collections.llmops.sglang.tests.unit.documented_systemd import VERSIONS, DocumentedHost

SECRETS = "/etc/systemd/system/llm.service.secrets"


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_is_written_that_the_version_does_not_know(run_server_unit, tmp_path, monkeypatch, version):
    host = DocumentedHost(version)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(
        basic.AnsibleModule, "run_command", lambda module, words, **more: host.run_command(words, **more)
    )
    result = run_server_unit(api_key="sk-the-api-key")
    text = (tmp_path / "llm.service").read_text()
    credentials, settings = version >= 247, version >= 240
    assert (f"LoadCredential=config.yaml:{SECRETS}/config.yaml" in text) is credentials
    assert ("LoadCredential" in text) is credentials
    handed = "${CREDENTIALS_DIRECTORY}" if credentials else SECRETS
    assert result["argv"][-2:] == ["--config", f"{handed}/config.yaml"]
    assert ("Type=exec\n" in text) is ("LogRateLimitBurst=1000000\n" in text) is settings
    assert ("Type=simple\n" in text) is not settings
    assert not run_server_unit(api_key="sk-the-api-key")["changed"]
