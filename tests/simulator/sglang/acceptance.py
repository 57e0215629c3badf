# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many tokens a verify step yields and how long it takes: the model of speculative decoding.

Step times are fitted to a 4B model on one H200 (block 16, context 60 and 4096, 1 to 32 streams); see README.md.
"""

from __future__ import annotations

import os
import random


def tree_levels(budget, topk, block):
    """Depth and candidates per level of a draft tree: the budget is spread over levels of up to top-k nodes."""
    budget = max(1, budget)
    width = max(1, min(topk or 1, budget))
    return min(block - 1, max(1, budget - (width - 1) // 2)), width


class AcceptanceModel:
    """Draws the tokens of each verify step (the bonus token counts, so 1 to block size)."""

    def __init__(self, plan):
        self.plan = plan
        self.block = plan.block_size if plan.speculative else 1
        self.probability = plan.settings.accept_probability
        # SGLang's own switch for made-up acceptance counts like the simulator's.
        self.fixed = plan.settings.acceptance or float(os.environ.get("SGLANG_SIMULATE_ACC_LEN") or 0)

    def token_probability(self, context, temperature):
        """Chance that one draft token is right, from the context that the draft attends to."""
        trained, window = self.plan.trained_window, self.plan.window
        chance = self.probability * (0.95 if temperature else 1.0)
        attended = min(context, window) if window else context
        if trained and attended > trained:
            # Outside of what it was trained on the draft guesses worse, the further the worse.
            chance *= (trained / attended) ** 0.35
        if window and trained and window < min(trained, context):
            chance *= (window / min(trained, context)) ** 0.1
        return chance

    def draw(self, rng, context, temperature, carry):
        """Tokens of one step. `carry` is a one-item list with the fraction owed to a fixed acceptance."""
        if self.block <= 1:
            return 1
        if self.fixed:
            carry[0] += min(max(self.fixed, 1.0), self.block)
            count = int(carry[0] + 1e-9)
            carry[0] -= count
            return count
        chance = self.token_probability(context, temperature)
        depth = self.block - 1
        if self.plan.budget:
            depth, width = tree_levels(int(self.plan.budget), int(self.plan.topk or 1), self.block)
            chance = 1 - (1 - chance) ** (width**0.5)
        count = 1
        while count <= depth and rng.random() < chance:
            count += 1
        return count


def rng_for(prompt, temperature, seed):
    """At temperature 0 or with a seed the draws repeat; otherwise they do not."""
    if temperature and seed is None:
        return random.Random()
    return random.Random("steps\0%s\0%s" % (prompt, seed))


def step_seconds(plan, contexts):
    """Time of one decode or verify step for requests with these contexts (tokens)."""
    settings = plan.settings
    if settings.step_ms:
        return settings.step_ms / 1000 / settings.speed
    batch, total, longest = len(contexts), sum(contexts), max(contexts)
    if not plan.speculative:
        ms = 3.6 + 0.036 * batch + 0.1e-3 * total + 0.32e-3 * longest
    else:
        width = int(plan.budget or plan.block_size)
        scale = width / 16
        drafted = sum(min(context, plan.window) if plan.window else context for context in contexts)
        ms = 6.0 + 0.033 * batch * width + scale * (0.78e-3 * total + 2e-3 * longest) + 0.06e-3 * drafted
    return ms / 1000 / settings.speed


def prefill_seconds(plan, new_tokens):
    """Time of one prefill batch with this many tokens that are not cached."""
    settings = plan.settings
    if settings.prefill_ms >= 0:
        return settings.prefill_ms / 1000 / settings.speed
    return (12.0 + 0.014 * new_tokens) / 1000 / settings.speed
