# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""For each built-in coding task a right program."""

from __future__ import annotations

RIGHT = {
    "is_palindrome": """
def is_palindrome(text):
    kept = [c.lower() for c in text if c.isalnum()]
    return kept == kept[::-1]
""",
    "fib": """
def fib(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a
""",
    "merge_sorted": """
def merge_sorted(left, right):
    return sorted(left + right)
""",
    "word_count": """
def word_count(text):
    found = {}
    for word in text.lower().split():
        found[word] = found.get(word, 0) + 1
    return found
""",
    "gcd": """
def gcd(a, b):
    while b:
        a, b = b, a % b
    return abs(a)
""",
    "second_largest": """
def second_largest(numbers):
    different = sorted(set(numbers))
    return different[-2] if len(different) > 1 else None
""",
    "rotate": """
def rotate(elements, steps):
    if not elements:
        return []
    steps %= len(elements)
    return elements[-steps:] + elements[:-steps] if steps else list(elements)
""",
    "caesar": """
def caesar(text, shift):
    def moved(c):
        for first in "aA":
            if first <= c <= chr(ord(first) + 25):
                return chr((ord(c) - ord(first) + shift) % 26 + ord(first))
        return c
    return "".join(map(moved, text))
""",
    "run_lengths": """
from itertools import groupby
def run_lengths(text):
    return [(c, len(list(run))) for c, run in groupby(text)]
""",
    "mean_and_deviation": """
import math
def mean_and_deviation(numbers):
    if not numbers:
        return None
    mean = sum(numbers) / len(numbers)
    return mean, math.sqrt(sum((x - mean) ** 2 for x in numbers) / len(numbers))
""",
    "roman": """
def roman(number):
    out = ""
    for value, text in ((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
                        (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")):
        out += text * (number // value)
        number %= value
    return out
""",
    "balanced": """
def balanced(text):
    open_, pairs = [], {")": "(", "]": "[", "}": "{"}
    for c in text:
        if c in "([{":
            open_.append(c)
        elif c in pairs and (not open_ or open_.pop() != pairs[c]):
            return False
    return not open_
""",
    "primes_below": """
def primes_below(limit):
    return [n for n in range(2, limit) if all(n % d for d in range(2, int(n ** 0.5) + 1))]
""",
    "flatten": """
def flatten(nested):
    out = []
    for one in nested:
        out.extend(flatten(one) if isinstance(one, list) else [one])
    return out
""",
    "varint": """
def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)
""",
    "spiral": """
def spiral(matrix):
    out = []
    while matrix and matrix[0]:
        out += matrix[0]
        matrix = [list(row) for row in zip(*matrix[1:])][::-1]
    return out
""",
    "join_intervals": """
def join_intervals(intervals):
    out = []
    for start, end in sorted(intervals):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([start, end])
    return out
""",
    "split_csv": """
def split_csv(line):
    out, i = [], 0
    while True:
        field = ""
        if line[i:i + 1] == '"':
            i += 1
            while True:
                if line[i:i + 2] == '""':
                    field, i = field + '"', i + 2
                elif line[i:i + 1] in ('"', ""):
                    i += 1
                    break
                else:
                    field, i = field + line[i], i + 1
        while i < len(line) and line[i] != ",":
            field, i = field + line[i], i + 1
        out.append(field)
        if i >= len(line):
            return out
        i += 1
""",
    "edit_distance": """
def edit_distance(left, right):
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]
""",
    "fewest_coins": """
def fewest_coins(coins, amount):
    best = [0] + [None] * amount
    for n in range(1, amount + 1):
        ways = [best[n - c] for c in coins if 0 < c <= n and best[n - c] is not None]
        best[n] = min(ways) + 1 if ways else None
    return -1 if best[amount] is None else best[amount]
""",
    "grid_steps": """
from collections import deque
def grid_steps(rows):
    if not rows or not rows[0] or rows[0][0] == "#" or rows[-1][-1] == "#":
        return -1
    seen, queue = {(0, 0)}, deque([(0, 0, 0)])
    while queue:
        y, x, steps = queue.popleft()
        if (y, x) == (len(rows) - 1, len(rows[0]) - 1):
            return steps
        for v, u in ((y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)):
            if 0 <= v < len(rows) and 0 <= u < len(rows[0]) and rows[v][u] == "." and (v, u) not in seen:
                seen.add((v, u))
                queue.append((v, u, steps + 1))
    return -1
""",
    "wildcard": """
def wildcard(pattern, text):
    ends = {0}
    for p in pattern:
        if p == "*":
            ends = set(range(min(ends), len(text) + 1)) if ends else set()
        else:
            ends = {e + 1 for e in ends if e < len(text) and p in ("?", text[e])}
    return len(text) in ends
""",
    "task_order": """
def task_order(needs):
    names = set(needs) | {n for before in needs.values() for n in before}
    out = []
    while names:
        ready = [n for n in names if not set(needs.get(n, ())) & names]
        if not ready:
            return None
        out.append(min(ready))
        names.remove(out[-1])
    return out
""",
    "longest_rise": """
def longest_rise(numbers):
    best = []
    for i, n in enumerate(numbers):
        before = [b for b in best if b and b[-1] < n]
        longest = max(map(len, before), default=0)
        best.append(min([b for b in before if len(b) == longest], default=[]) + [n])
    longest = max(map(len, best), default=0)
    return min([b for b in best if len(b) == longest], default=[])
""",
    "calculate": """
def calculate(expression):
    rest = expression.replace(" ", "")
    def number():
        nonlocal rest
        if rest[0] == "-":
            rest = rest[1:]
            return -number()
        if rest[0] == "(":
            rest = rest[1:]
            value = total()
            rest = rest[1:]
            return value
        digits = ""
        while rest and rest[0].isdigit():
            digits, rest = digits + rest[0], rest[1:]
        return int(digits)
    def product():
        nonlocal rest
        value = number()
        while rest and rest[0] in "*/":
            sign, rest = rest[0], rest[1:]
            other = number()
            if sign == "*":
                value *= other
            else:
                value = abs(value) // abs(other) * (1 if (value < 0) == (other < 0) else -1)
        return value
    def total():
        nonlocal rest
        value = product()
        while rest and rest[0] in "+-":
            sign, rest = rest[0], rest[1:]
            value += product() if sign == "+" else -product()
        return value
    return total()
""",
}
