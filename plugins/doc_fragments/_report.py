# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What modules that make a page with plots have in common."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  plots:
    description:
      - Whether to write the plots as PNG too. The page has its own.
    type: bool
    default: true
  required:
    description:
      - What happens without matplotlib. With V(true) the task fails; with V(false) it warns, and RV(skipped_reason) tells why.
    type: bool
    default: true
"""
