# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""For each built-in coding task, programs that a model might well write and that are wrong, each by what it overlooks."""

from __future__ import annotations

WRONG = {
    "is_palindrome": {
        "case and punctuation": "def is_palindrome(text): return text == text[::-1]",
        "digits": "def is_palindrome(text):\n    s = [c.lower() for c in text if c.isalpha()]\n    return s == s[::-1]",
        "the empty text": "def is_palindrome(text):\n    s = [c.lower() for c in text if c.isalnum()]\n    return bool(s) and s == s[::-1]",
    },
    "fib": {
        "the limits of floating point": "def fib(n): return int(((1 + 5 ** .5) / 2) ** n / 5 ** .5 + .5)",
        "the first index": "def fib(n):\n    a, b = 1, 1\n    for _ in range(n): a, b = b, a + b\n    return a",
    },
    "merge_sorted": {
        "equal elements": "def merge_sorted(left, right): return sorted(set(left + right))",
        "what is left over": (
            "def merge_sorted(left, right):\n    out = []\n    while left and right:\n"
            "        out.append(left.pop(0) if left[0] <= right[0] else right.pop(0))\n    return out"
        ),
    },
    "word_count": {
        "a type of its own": "from collections import Counter\ndef word_count(text): return Counter(text.lower().split())",
        "other white space": "def word_count(text):\n    words = text.lower().split(' ')\n    return {w: words.count(w) for w in words}",
        "punctuation": "import re\ndef word_count(text):\n    words = re.findall(r'\\w+', text.lower())\n    return {w: words.count(w) for w in words}",
    },
    "gcd": {
        "the sign": "def gcd(a, b):\n    while b: a, b = b, a % b\n    return a",
        "zero": "def gcd(a, b):\n    return max(d for d in range(1, min(abs(a), abs(b), 99) + 1) if a % d == b % d == 0)",
    },
    "second_largest": {
        "equal values": "def second_largest(numbers): return sorted(numbers)[-2] if len(numbers) > 1 else None",
        "negative numbers": (
            "def second_largest(numbers):\n    first = second = 0\n    for n in numbers:\n        if n > first: first, second = n, first\n"
            "        elif first > n > second: second = n\n    return second or None"
        ),
    },
    "rotate": {
        "steps beyond the length": "def rotate(elements, steps): return elements[-steps:] + elements[:-steps]",
        "the direction": "def rotate(e, n):\n    n = n % len(e) if e else 0\n    return e[n:] + e[:n]",
    },
    "caesar": {
        "capitals": "def caesar(text, shift): return ''.join(chr((ord(c) - 97 + shift) % 26 + 97) if c.isalpha() else c for c in text)",
        "the end of the alphabet": "def caesar(text, shift): return ''.join(chr(ord(c) + shift) if c.isalpha() else c for c in text)",
        "other letters": (
            "def caesar(text, shift):\n    return ''.join(chr((ord(c) - ord('a' if c.islower() else 'A') + shift) % 26 + ord('a' if c.islower() else 'A'))"
            " if c.isalpha() else c for c in text)"
        ),
    },
    "run_lengths": {
        "a list for a tuple": "from itertools import groupby\ndef run_lengths(text): return [[c, len(list(r))] for c, r in groupby(text)]",
        "later runs": "def run_lengths(text): return [(c, text.count(c)) for c in dict.fromkeys(text)]",
        "the last run": (
            "def run_lengths(text):\n    out, n = [], 1\n    for a, b in zip(text, text[1:]):\n        if a == b: n += 1\n"
            "        else: out.append((a, n)); n = 1\n    return out"
        ),
    },
    "mean_and_deviation": {
        "the divisor": "import statistics as s\ndef mean_and_deviation(n): return (s.mean(n), s.stdev(n)) if len(n) > 1 else None",
        "integers": "import statistics as s\ndef mean_and_deviation(n): return (s.mean(n), s.pstdev(n)) if n else None",
        "the root": "def mean_and_deviation(n):\n    if not n: return None\n    m = sum(n) / len(n)\n    return m, sum((x - m) ** 2 for x in n) / len(n)",
    },
    "roman": {
        "subtraction": (
            "def roman(n):\n    out = ''\n    for v, t in ((1000, 'M'), (500, 'D'), (100, 'C'), (50, 'L'), (10, 'X'), (5, 'V'), (1, 'I')):\n"
            "        out += t * (n // v); n %= v\n    return out"
        ),
        "all but one and five": (
            "def roman(n):\n    out = ''\n"
            "    for v, t in ((1000, 'M'), (500, 'D'), (100, 'C'), (50, 'L'), (10, 'X'), (9, 'IX'), (5, 'V'), (4, 'IV'), (1, 'I')):\n"
            "        out += t * (n // v); n %= v\n    return out"
        ),
    },
    "balanced": {
        "the order": "def balanced(text): return all(text.count(a) == text.count(b) for a, b in ('()', '[]', '{}'))",
        "a bracket too many": (
            "def balanced(text):\n    s = []\n    for c in text:\n        if c in '([{': s.append(c)\n        elif c in ')]}':\n"
            "            if not s: return False\n            s.pop()\n    return not s"
        ),
    },
    "primes_below": {
        "the limit": "def primes_below(n): return [p for p in range(2, n + 1) if all(p % d for d in range(2, p))]",
        "squares": "def primes_below(n): return [p for p in range(2, n) if all(p % d for d in range(2, int(p ** .5)))]",
        "one": "def primes_below(n): return [p for p in range(1, n) if all(p % d for d in range(2, p))]",
    },
    "flatten": {
        "depth": "def flatten(n):\n    out = []\n    for e in n: out += e if isinstance(e, list) else [e]\n    return out",
        "tuples": "def flatten(n):\n    out = []\n    for e in n: out += flatten(e) if isinstance(e, (list, tuple)) else [e]\n    return out",
        "what is false": "def flatten(n):\n    out = []\n    for e in n: out += flatten(e) if isinstance(e, list) else [e] if e else []\n    return out",
    },
    "varint": {
        "zero": "def varint(n):\n    out = []\n    while n: out.append(n & 127 | (128 if n > 127 else 0)); n >>= 7\n    return bytes(out)",
        "the type": "def varint(n):\n    out = bytearray()\n    while n > 127: out.append(n & 127 | 128); n >>= 7\n    out.append(n)\n    return out",
        "the order": "def varint(n):\n    out = [n & 127]\n    while n > 127: n >>= 7; out.insert(0, n & 127 | 128)\n    return bytes(out)",
    },
    "spiral": {
        "the inside": "def spiral(m):\n    if not m: return []\n    return m[0] + [r[-1] for r in m[1:]] + m[-1][-2::-1] + [r[0] for r in m[-2:0:-1]]",
        "direction": "def spiral(m):\n    return [e for i, r in enumerate(m) for e in (r[::-1] if i % 2 else r)]",
    },
    "join_intervals": {
        "the order": (
            "def join_intervals(v):\n    out = []\n    for a, b in v:\n        if out and a <= out[-1][1]: out[-1][1] = max(b, out[-1][1])\n"
            "        else: out.append([a, b])\n    return out"
        ),
        "one within another": (
            "def join_intervals(v):\n    out = []\n    for a, b in sorted(v):\n        if out and a <= out[-1][1]: out[-1][1] = b\n"
            "        else: out.append([a, b])\n    return out"
        ),
        "shared ends": (
            "def join_intervals(v):\n    out = []\n    for a, b in sorted(v):\n        if out and a < out[-1][1]: out[-1][1] = max(b, out[-1][1])\n"
            "        else: out.append([a, b])\n    return out"
        ),
    },
    "split_csv": {
        "quotes": "def split_csv(line): return line.split(',')",
        "doubled quotes": (
            "def split_csv(line):\n    out, field, inside = [], '', False\n    for c in line:\n        if c == '\"': inside = not inside\n"
            "        elif c == ',' and not inside: out.append(field); field = ''\n        else: field += c\n    return out + [field]"
        ),
        "spaces": "import csv\ndef split_csv(line): return [f.strip() for f in next(csv.reader([line]), [''])]",
    },
    "edit_distance": {
        "lengths": "def edit_distance(a, b): return sum(x != y for x, y in zip(a, b)) + abs(len(a) - len(b))",
        "exchange as one step": (
            "def edit_distance(a, b):\n    d = {(i, j): i + j for i in range(len(a) + 1) for j in range(len(b) + 1) if not i * j}\n"
            "    for i in range(1, len(a) + 1):\n        for j in range(1, len(b) + 1):\n"
            "            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + (a[i - 1] != b[j - 1]))\n"
            "            if i > 1 and j > 1 and a[i - 2:i] == b[j - 1:j - 3 if j > 2 else None:-1]: d[i, j] = min(d[i, j], d[i - 2, j - 2] + 1)\n"
            "    return d[len(a), len(b)]"
        ),
    },
    "fewest_coins": {
        "greed": (
            "def fewest_coins(coins, amount):\n    n = 0\n    for c in sorted(coins, reverse=True):\n        n += amount // c; amount %= c\n"
            "    return -1 if amount else n"
        ),
        "the impossible": (
            "def fewest_coins(coins, amount):\n    best = [0] + [10 ** 9] * amount\n    for n in range(1, amount + 1):\n"
            "        best[n] = min([best[n - c] + 1 for c in coins if c <= n], default=10 ** 9)\n    return best[amount]"
        ),
    },
    "grid_steps": {
        "walls": "def grid_steps(rows): return len(rows) + len(rows[0]) - 2 if rows else -1",
        "ways up and back": (
            "def grid_steps(rows):\n    best = {}\n    for y, row in enumerate(rows):\n        for x, c in enumerate(row):\n            if c == '.':\n"
            "                ways = [best[p] + 1 for p in ((y - 1, x), (y, x - 1)) if p in best] + [0] * (x == y == 0)\n"
            "                if ways: best[y, x] = min(ways)\n    return best.get((len(rows) - 1, len(rows[0]) - 1), -1) if rows else -1"
        ),
    },
    "wildcard": {
        "brackets": "import fnmatch\ndef wildcard(pattern, text): return fnmatch.fnmatchcase(text, pattern)",
        "the end": (
            "def wildcard(pattern, text):\n    i = 0\n    for p in pattern.split('*'):\n        i = text.find(p, i)\n        if i < 0: return False\n"
            "        i += len(p)\n    return True"
        ),
        "greed": (
            "def wildcard(pattern, text):\n    i = 0\n    for n, p in enumerate(pattern):\n        if p == '*':\n            after = pattern[n + 1:n + 2]\n"
            "            i = text.find(after, i) if after else len(text)\n            if i < 0: return False\n"
            "        elif i < len(text) and p in ('?', text[i]): i += 1\n        else: return False\n    return i == len(text)"
        ),
    },
    "task_order": {
        "cycles": (
            "def task_order(needs):\n    out = []\n    def visit(n, above=()):\n        if n in out or n in above: return\n"
            "        for b in sorted(needs.get(n, ())): visit(b, above + (n,))\n        out.append(n)\n    for n in sorted(needs): visit(n)\n    return out"
        ),
        "names in lists alone": (
            "def task_order(needs):\n    out, names = [], set(needs)\n    while names:\n        ready = [n for n in names if not set(needs[n]) & names]\n"
            "        if not ready: return None\n        out.append(min(ready)); names.remove(out[-1])\n    return out"
        ),
    },
    "longest_rise": {
        "gaps": (
            "def longest_rise(n):\n    best, run = [], []\n    for x in n:\n        run = run + [x] if run and x > run[-1] else [x]\n"
            "        if len(run) > len(best): best = run\n    return best"
        ),
        "equal lengths": (
            "def longest_rise(n):\n    best = []\n    for x in n:\n        best.append(max([b for b in best if b[-1] < x], key=len, default=[]) + [x])\n"
            "    return max(best, key=len, default=[])"
        ),
        "strictly": (
            "import bisect\ndef longest_rise(n):\n    tails = []\n    for x in n:\n        i = bisect.bisect_right(tails, x)\n"
            "        tails[i:i + 1] = [x]\n    return tails"
        ),
    },
    "calculate": {
        "division": "def calculate(e): return eval(e.replace('/', '//'))",
        "large numbers": "def calculate(e): return int(eval(e))",
        "parentheses": (
            "import re\ndef calculate(e):\n    total = 0\n    for sign, term in re.findall(r'([+-]?)([^+-]+)', e.replace(' ', '')):\n"
            "        value = 1\n        for op, n in re.findall(r'([*/]?)(\\d+)', term): value = int(value / int(n)) if op == '/' else value * int(n)\n"
            "        total += -value if sign == '-' else value\n    return total"
        ),
    },
}
