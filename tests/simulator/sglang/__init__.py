# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for SGLang: its command line, log lines and HTTP server, without a model.

Nothing here is SGLang's code. See README.md one directory up.
"""

from __future__ import annotations
