# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What check mode, diff mode and repetition mean; a module fills in how far it supports each."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in C(check_mode)), when in diff mode.
  idempotent:
    description: When run twice in a row outside check mode, with the same arguments, the second invocation indicates no change.
"""

    # For modules that only look.
    READ_ONLY = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - This module does not change anything.
  diff_mode:
    support: N/A
    details:
      - This module does not change anything.
  idempotent:
    support: full
    details:
      - This module does not change anything.
"""

    # For modules that send requests to a server.
    ASKS_SERVER = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - In check mode nothing is sent, RV(ok) is null and RV(skipped_reason) says why.
  diff_mode:
    support: N/A
    details:
      - What a server answers has no earlier state.
"""

    # For modules that make files on the controller of what was measured.
    CONTROLLER_FILES = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - In check mode nothing is written and RV(skipped_reason) says so.
  diff_mode:
    support: N/A
    details:
      - Results of measurements are no configuration, and have no earlier state.
"""
