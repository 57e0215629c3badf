# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a change of a server that failed may have written something by then."""

from __future__ import annotations

import typing as t

DOCUMENTATION = r"""
name: written_before_failure
short_description: Tell whether a change of a server had begun to write when it failed
author: llmops.sglang contributors (@llmops)
description:
  - Only what was written has to be taken back. M(llmops.sglang.server_unit) says of its own failure whether it had begun to write; one
    that crashed or was cut off may have.
  - A server whose unit the inventory does not describe is changed by its restart alone.
positional: converged, check_mode
options:
  _input:
    description: What M(llmops.sglang.server_unit) returned; null where it was not reached or not asked.
    type: dict
    required: true
  converged:
    description:
      - What M(llmops.sglang.server_service) returned, which counts where no unit was written; null where it was not reached.
    type: dict
  check_mode:
    description: Whether the play only looks.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Look for what to go back to only where something was written
  llmops.sglang.server_history:
    name: sglang-k26
  when: written | default(none) | llmops.sglang.written_before_failure(converged | default(none), ansible_check_mode)
"""

RETURN = r"""
_value:
  description: Whether it may have written.
  type: bool
"""

# What ansible-core 2.19 and later say of an exception; every failure that was told has a C(exception) there, too.
_CRASHED = "Task failed: Module failed"
# What 2.16 says of a task that took longer than its timeout; later ones give the key timedout.
_CUT_OFF = "failed to execute in the expected time frame"

_Result = t.Mapping[str, t.Any]


def written_before_failure(
    unit: t.Optional[_Result], converged: t.Optional[_Result] = None, check_mode: bool = False
) -> bool:
    """Whether there may be something to go back from, by the results of the two tasks that change a server."""
    if check_mode:
        return False
    if unit is None:
        return converged is not None and not converged.get("skipped", False)
    msg = str(unit.get("msg", ""))
    # The module may even be at work still.
    cut_off = "timedout" in unit or _CUT_OFF in msg
    crashed = "module_stderr" in unit or msg.startswith(_CRASHED)
    return bool(not unit.get("failed", False) or unit.get("changed", False) or crashed or cut_off)


class FilterModule:
    """The filters of this file by their names."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"written_before_failure": written_before_failure}
