# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The radix cache as a set of hashes: one for each prefix that was ever computed."""

from __future__ import annotations


class PrefixCache:
    def __init__(self, enabled=True):
        self.enabled = enabled
        self.seen = set()

    @staticmethod
    def hashes(pieces):
        """A hash for each prefix of a token list, cheap enough for 32k tokens."""
        result, value = [], 1469598103934665603
        for piece in pieces:
            value = (value * 1099511628211 ^ hash(piece)) & 0xFFFFFFFFFFFFFFFF
            result.append(value)
        return result

    def match(self, prefix_hashes):
        """Tokens of the longest known prefix; the last token is always computed anew."""
        if not self.enabled:
            return 0
        low, high = 0, max(len(prefix_hashes) - 1, 0)
        while low < high:
            middle = (low + high + 1) // 2
            if prefix_hashes[middle - 1] in self.seen:
                low = middle
            else:
                high = middle - 1
        return low

    def insert(self, prefix_hashes):
        if self.enabled:
            self.seen.update(prefix_hashes)

    def flush(self):
        self.seen.clear()
