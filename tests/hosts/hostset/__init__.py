# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A set of test hosts: real systemd hosts on this machine, with a keeper that removes them."""
