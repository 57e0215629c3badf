# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Which unit a module speaks of."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  name:
    description:
      - Name of the systemd service unit; V(.service) may be left off.
    type: str
  scope:
    description:
      - The service manager that owns the unit.
      - With V(user) it is the manager of the user that runs the module (the connecting or become user), who must be logged
        in or have lingering enabled.
    type: str
    choices: [system, user]
    default: system
"""
