# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the model says: English that does not repeat itself, and working Python for the five coding tasks."""

from __future__ import annotations

import random
import re

SUBJECTS = """the harbour pilot|a careful librarian|the night train|an old surveyor|the mountain village|her younger brother
the city council|a retired engineer|the orchard|this small museum|the weather station|a travelling violinist|the bakery
the research vessel|our neighbour|the apprentice|a group of students|the river ferry|the clockmaker|an unexpected guest
the lighthouse keeper|the archive|a young botanist|the stone bridge|the morning market|the choir|a quiet translator""".replace(
    "\n", "|"
).split("|")
VERBS = """opened|measured|described|carried|remembered|repaired|studied|followed|noticed|collected|arranged|promised|painted
crossed|recorded|questioned|visited|compared|prepared|protected|explained|discovered|borrowed|answered|planted|sketched
returned|gathered|examined|restored""".replace("\n", "|").split("|")
OBJECTS = """the winter calendar|a box of letters|every second window|the copper instruments|a map of the coast|the long corridor
three barrels of apples|an unfinished song|the tide tables|a pair of lanterns|the garden wall|a list of rare birds
the wooden staircase|two empty notebooks|the festival costumes|a broken compass|the eastern road|some forgotten recipes
the smallest greenhouse|a collection of minerals|the printed timetable|the village records|a bundle of dry reeds""".replace(
    "\n", "|"
).split("|")
TAILS = """before the first snow|with great patience|near the southern gate|after a long discussion|while the others slept
in the middle of spring|without asking anyone|for the second time that year|beside the frozen lake|under a pale sky
as the rain grew heavier|during the evening concert|because the road was closed|despite the strong wind|until noon
for reasons nobody recalled|along the narrow path|at the request of the mayor|by the light of a single lamp
with a borrowed bicycle|on the last day of October|when the bells began to ring""".replace("\n", "|").split("|")
OPENERS = """Meanwhile,|Later,|In the end,|To everyone's surprise,|On another occasion,|Not far away,|Some years earlier,
As a result,|By contrast,|Once again,|Quietly,|At that moment,""".replace("\n", "|").split("|")

CODE = {
    "is_palindrome": (
        "def is_palindrome(s):\n"
        "    cleaned = [c.lower() for c in s if c.isalnum()]\n"
        "    return cleaned == cleaned[::-1]\n"
    ),
    "fib": ("def fib(n):\n    a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return a\n"),
    "merge_sorted": (
        "def merge_sorted(a, b):\n"
        "    result, i, j = [], 0, 0\n"
        "    while i < len(a) and j < len(b):\n"
        "        if a[i] <= b[j]:\n"
        "            result.append(a[i])\n"
        "            i += 1\n"
        "        else:\n"
        "            result.append(b[j])\n"
        "            j += 1\n"
        "    return result + list(a[i:]) + list(b[j:])\n"
    ),
    "word_count": (
        "def word_count(text):\n"
        "    counts = {}\n"
        "    for word in text.lower().split():\n"
        "        counts[word] = counts.get(word, 0) + 1\n"
        "    return counts\n"
    ),
    "gcd": ("def gcd(a, b):\n    while b:\n        a, b = b, a % b\n    return abs(a)\n"),
}


def prose(rng, sentences):
    """Sentences from word lists; drawn so that no two in a row begin alike."""
    out = []
    for number in range(sentences):
        subject = rng.choice(SUBJECTS)
        opener = rng.choice(OPENERS) + " " if number and rng.random() < 0.35 else ""
        text = "%s %s %s %s." % (subject, rng.choice(VERBS), rng.choice(OBJECTS), rng.choice(TAILS))
        out.append(opener + text if opener else text[0].upper() + text[1:])
        if number % 6 == 5:
            out[-1] += "\n\n"
    return re.sub(r"\n\n ", "\n\n", " ".join(out)).strip()


def coding_task(prompt):
    """The name of the coding task that a prompt asks for, or None."""
    if not re.search(r"python|def |function", prompt, re.I):
        return None
    for name in CODE:
        if re.search(r"\b%s\b" % name, prompt):
            return name
    return None


def code_answer(name, style):
    """The answer to a coding task: `right`, `wrong`, `hang` (an endless loop) or `none` (no code at all)."""
    if style == "none":
        return "I would rather describe the idea: walk over the input once and keep what has been seen so far."
    code = CODE[name]
    header = code[: code.index("\n") + 1]
    if style == "wrong":
        code = header + "    return None\n"
    elif style == "hang":
        code = header + "    while True:\n        pass\n"
    return "Here is the function.\n\n```python\n%s```\n\nIt handles the empty input as well." % code


def answer(prompt, rng, settings, tokens_wanted):
    """The whole answer to a prompt, long enough for `tokens_wanted` tokens unless it ends by itself."""
    if settings.text:
        return settings.text * (1 + tokens_wanted) if len(settings.text) == 1 else settings.text
    task = coding_task(prompt)
    if task:
        return code_answer(task, settings.code)
    said = re.search(r"[Ss]ay (?:only |just )?[\"']?(\w+)", prompt)
    if said:
        return said.group(1) + "."
    if "capital" in prompt and "France" in prompt:
        start = " Paris. The city lies on the Seine. "
    elif re.match(r"\s*(hello|hi)\b", prompt, re.I) or "\nHello<" in prompt:
        start = "Hello! How can I help you today? "
    else:
        start = ""
    return start + prose(rng, max(2, tokens_wanted // 12 + 2))


def seeded(prompt, seed):
    """A generator that gives the same answer to the same prompt and seed in every process."""
    return random.Random("%s\0%s" % (prompt, seed))
