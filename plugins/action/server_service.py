# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module of the same name, and shows that it is at work where requests that still run keep a stop waiting."""

from __future__ import annotations

from ansible_collections.llmops.sglang.plugins.plugin_utils._claiming_module import ClaimingModule


class ActionModule(ClaimingModule):
    DOES = "changing the state of the service"
