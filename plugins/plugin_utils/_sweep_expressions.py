# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""JMESPath expressions of a sweep: its objective and its constraints."""

from __future__ import annotations

import math
import sys
import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._failure import Failure
from ansible_collections.llmops.sglang.plugins.plugin_utils._report_text import plain

_LONGEST = 120


class Expression:
    """One compiled expression.

    :raises Failure: ``missing_dependency`` without jmespath, ``bad_request`` for what is no expression.
    """

    def __init__(self, text: str, option: str) -> None:
        self.text = text
        try:
            import jmespath
        except ImportError as exc:
            raise Failure(
                "missing_dependency",
                f"The Python package 'jmespath' is needed for '{option}' and cannot be imported by '{sys.executable}', which runs "
                f"Ansible on the controller ({exc}): install it for that interpreter or into the execution environment.",
            ) from exc
        self.error = jmespath.exceptions.JMESPathError
        try:
            self.compiled = jmespath.compile(text)
        except self.error as exc:
            raise Failure(
                "bad_request",
                f"The expression '{plain(text, _LONGEST)}' of '{option}' is no JMESPath ({plain(exc, 200)}): correct it.",
            ) from exc

    def of(self, document: t.Any) -> tuple[t.Any, str]:
        """Its value, and why there is none; empty where there is one."""
        try:
            return self.compiled.search(document), ""
        # Functions of jmespath raise what Python does with values that they did not expect.
        except (self.error, TypeError, ValueError, ArithmeticError, RecursionError) as exc:
            return None, plain(exc, 200)


def number_of(value: t.Any) -> tuple[t.Optional[float], str]:
    """The number that an objective's value stands for, of a list its geometric mean; else why there is none."""
    numbers = value if isinstance(value, list) else [value]
    if not numbers or any(isinstance(one, bool) or not isinstance(one, (int, float)) for one in numbers):
        return None, "it is null" if value is None else f"it is no number but {plain(value, 60)}"
    try:
        found = [float(one) for one in numbers]
    except OverflowError:
        return None, "it is too large"
    if not all(math.isfinite(one) for one in found):
        return None, "it is not finite"
    if not isinstance(value, list):
        return found[0], ""
    if min(found) <= 0:
        return None, "a geometric mean needs numbers above 0"
    return math.exp(math.fsum(map(math.log, found)) / len(found)), ""


def unmet(constraints: t.Sequence[Expression], document: t.Any) -> list[str]:
    """The constraints that are not true of *document*, each with what is known of the reason."""
    found = []
    for constraint in constraints:
        value, error = constraint.of(document)
        if value is not True:
            why = error or (
                "it is false" if value is False else f"it is {'null' if value is None else plain(value, 60)}"
            )
            found.append(f"{plain(constraint.text, _LONGEST)} ({why})")
    return found
