# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""Which play a change belongs to."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  play:
    description:
      - The process on the controller that runs the play; the action plugin sets it, and a task leaves it out.
      - A unit is held for the first play that changes it until that process has ended. Another play that comes meanwhile is
        refused with C(condition_not_met) and the words who holds it, also where it has another controller; in check mode it is
        warned.
    type: dict
notes:
  - Who holds a unit is kept below C(/run/llmops-sglang) (C(/run/user/UID/llmops-sglang) for a unit of a user), which the
    next boot finds empty; a user who may not write there holds nothing and is warned. Nothing has to be let go. A play
    that was killed holds nothing any more; only another controller believes in it for as long as its connection is
    open, and waits 75 seconds for the end of that.
"""
