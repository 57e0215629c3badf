# Copyright (c) 2026 The llmops.sglang contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""What modules that measure a server by requests have in common: the requests, and the name of the record."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  model:
    description:
      - Name of the model in the requests; without it the first that the server lists.
    type: str
  max_tokens:
    description:
      - Tokens that an answer may have; with end-of-sequence ignored it has as many.
    type: int
    default: 512
  temperature:
    description:
      - Sampling temperature.
    type: float
    default: 0
  label:
    description:
      - Name of the record, for people; part of its file name.
    type: str
    default: ""
"""
