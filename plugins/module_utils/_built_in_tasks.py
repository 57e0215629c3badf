# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE: only for the plugins of this collection.
"""The coding tasks that come with the collection, from easy to hard.

The cases are hidden from the model: the prompt describes the function in words alone. None depends on how fast the machine
is: where a prompt speaks of speed, the slow way would never end.
"""

from __future__ import annotations

import typing as t

from ansible_collections.llmops.sglang.plugins.module_utils._coding_tasks import Case, CodingTask

_FORM = "Answer with one Python code block that holds the function and nothing else; no example calls, no explanation."


def _task(name: str, prompt: str, *cases: tuple[t.Any, ...]) -> CodingTask:
    """A task whose cases are (argument, ..., expected)."""
    return CodingTask(name, f"{prompt} {_FORM}", name, [Case(args=case[:-1], expected=case[-1]) for case in cases])


_FIRST = (
    _task(
        "is_palindrome",
        "Write a Python function is_palindrome(text) that returns True if the string reads the same forwards and backwards "
        "when upper and lower case count as equal and everything but letters and digits is left out, and False otherwise. "
        "A string without letters and digits is a palindrome.",
        ("level", True),
        ("A man, a plan, a canal: Panama", True),
        ("ab", False),
        ("", True),
        (" ,.!", True),
        ("No lemon, no melon 1", False),
        ("1a2A1", True),
        ("x", True),
    ),
    _task(
        "fib",
        "Write a Python function fib(n) that returns the n-th Fibonacci number as an integer, where fib(0) is 0 and fib(1) is 1. "
        "It must be fast for n up to 500.",
        (0, 0),
        (1, 1),
        (2, 1),
        (10, 55),
        (30, 832040),
        (90, 2880067194370816120),
        (200, 280571172992510140037611932413038677189525),
        (3, 2),
    ),
    _task(
        "merge_sorted",
        "Write a Python function merge_sorted(left, right) that takes two lists of integers, each in ascending order, and returns "
        "one new list with all their elements in ascending order. Equal elements are kept as often as they occur.",
        ([1, 3, 5], [2, 4, 6], [1, 2, 3, 4, 5, 6]),
        ([], [], []),
        ([], [7], [7]),
        ([-3, 0], [], [-3, 0]),
        ([1, 1, 2], [1, 2, 2], [1, 1, 1, 2, 2, 2]),
        ([5, 6, 7], [1, 2, 3], [1, 2, 3, 5, 6, 7]),
        ([-5, -1], [-4, -2, 9], [-5, -4, -2, -1, 9]),
        ([10], list(range(10)), list(range(11))),
    ),
    _task(
        "word_count",
        "Write a Python function word_count(text) that returns a plain dict from each word in the string to how often it occurs. "
        "Words are separated by any white space and are compared in lower case; punctuation is part of a word.",
        ("the cat the dog", {"the": 2, "cat": 1, "dog": 1}),
        ("", {}),
        ("  \t\n ", {}),
        ("One one ONE", {"one": 3}),
        ("a\tb\nc  a", {"a": 2, "b": 1, "c": 1}),
        ("stop. stop", {"stop.": 1, "stop": 1}),
        ("Grüße grüße", {"grüße": 2}),
        ("x", {"x": 1}),
    ),
    _task(
        "gcd",
        "Write a Python function gcd(a, b) that returns the greatest common divisor of two integers as a non-negative integer. "
        "Either may be zero or negative; gcd(0, 0) is 0. Do not import anything.",
        (12, 18, 6),
        (0, 0, 0),
        (0, 9, 9),
        (9, 0, 9),
        (-12, 18, 6),
        (-7, -21, 7),
        (17, 13, 1),
        (2**40, 6**20, 2**20),
    ),
)

_SIMPLE = (
    _task(
        "second_largest",
        "Write a Python function second_largest(numbers) that returns the second largest of the different values in a list of "
        "integers, so that a value that occurs twice counts once. It returns None where there are fewer than two different values.",
        ([3, 1, 2], 2),
        ([5, 5, 4], 4),
        ([7, 7, 7], None),
        ([], None),
        ([1], None),
        ([-1, -2], -2),
        ([0, -1, 0, -1, -5], -1),
        ([2, 9, 9, 2, 8], 8),
    ),
    _task(
        "rotate",
        "Write a Python function rotate(elements, steps) that returns a new list in which every element of the list has moved the "
        "given number of places towards the end; what falls off the end comes back in at the start. A negative number moves "
        "towards the start. The number of steps may be larger than the list is long.",
        ([1, 2, 3, 4], 1, [4, 1, 2, 3]),
        ([1, 2, 3, 4], 0, [1, 2, 3, 4]),
        ([1, 2, 3, 4], -1, [2, 3, 4, 1]),
        ([1, 2, 3], 7, [3, 1, 2]),
        ([1, 2, 3], -8, [3, 1, 2]),
        ([], 5, []),
        (["a"], 3, ["a"]),
        ([1, 2, 3], 3, [1, 2, 3]),
    ),
    _task(
        "caesar",
        "Write a Python function caesar(text, shift) that replaces each of the letters a to z and A to Z by the one that comes "
        "'shift' places later in the alphabet, starting again after the last. The case of a letter stays, every other "
        "character stays as it is, and the shift may be negative or larger than 26.",
        ("abc", 1, "bcd"),
        ("xyz", 3, "abc"),
        ("Hello, World!", 13, "Uryyb, Jbeyq!"),
        ("abc", -1, "zab"),
        ("Zz", 27, "Aa"),
        ("", 5, ""),
        ("é 7 é", 4, "é 7 é"),
        ("Same", -52, "Same"),
    ),
    _task(
        "run_lengths",
        "Write a Python function run_lengths(text) that cuts a string into runs of one and the same character and returns a list of "
        "tuples (character, length), in the order of the runs. Upper and lower case are different characters.",
        ("aaab", [("a", 3), ("b", 1)]),
        ("", []),
        ("a", [("a", 1)]),
        ("abab", [("a", 1), ("b", 1), ("a", 1), ("b", 1)]),
        ("aAa", [("a", 1), ("A", 1), ("a", 1)]),
        ("   ", [(" ", 3)]),
        ("1112", [("1", 3), ("2", 1)]),
        ("x\n\nyy", [("x", 1), ("\n", 2), ("y", 2)]),
    ),
    _task(
        "mean_and_deviation",
        "Write a Python function mean_and_deviation(numbers) that returns a tuple of two floats: the arithmetic mean of a list of "
        "numbers, and their standard deviation as a whole population (the divisor is the number of values). It returns None "
        "for an empty list.",
        ([2, 4, 4, 4, 5, 5, 7, 9], (5.0, 2.0)),
        ([], None),
        ([3], (3.0, 0.0)),
        ([1, 2], (1.5, 0.5)),
        ([-1, 1], (0.0, 1.0)),
        ([0.5, 0.5, 0.5], (0.5, 0.0)),
        ([1, 2, 3, 4], (2.5, 1.118033988749895)),
        ([10, -10, 0], (0.0, 8.16496580927726)),
    ),
    _task(
        "roman",
        "Write a Python function roman(number) that writes an integer from 1 to 3999 as a Roman numeral in capital letters, with "
        "the usual subtractive forms such as IV and XC.",
        (1, "I"),
        (4, "IV"),
        (9, "IX"),
        (14, "XIV"),
        (49, "XLIX"),
        (944, "CMXLIV"),
        (1990, "MCMXC"),
        (2000, "MM"),
        (3888, "MMMDCCCLXXXVIII"),
        (3999, "MMMCMXCIX"),
    ),
    _task(
        "balanced",
        "Write a Python function balanced(text) that returns True if every one of the brackets ( ) [ ] { } in the string is closed by "
        "its own kind in the right order, and False otherwise. Other characters do not matter.",
        ("(a[b]{c})", True),
        ("", True),
        ("no brackets", True),
        ("([)]", False),
        ("(", False),
        (")", False),
        ("())(", False),
        ("{[()()]}[]", True),
    ),
)

_MIDDLE = (
    _task(
        "primes_below",
        "Write a Python function primes_below(limit) that returns the list of all prime numbers smaller than the given integer, in "
        "ascending order. The limit may be zero or negative.",
        (10, [2, 3, 5, 7]),
        (2, []),
        (3, [2]),
        (0, []),
        (-5, []),
        (11, [2, 3, 5, 7]),
        (12, [2, 3, 5, 7, 11]),
        (50, [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47]),
    ),
    _task(
        "flatten",
        "Write a Python function flatten(nested) that takes a list whose elements may be lists again, to any depth, and returns one "
        "flat list of all that is no list, in order. Strings, tuples and all else are kept whole.",
        ([1, [2, [3]], 4], [1, 2, 3, 4]),
        ([], []),
        ([[], [[]]], []),
        (["ab", ["cd"]], ["ab", "cd"]),
        ([(1, [2]), [(3,)]], [(1, [2]), (3,)]),
        ([None, [False, [0]]], [None, False, 0]),
        ([[[[[5]]]]], [5]),
        ([{"a": [1]}, [{}]], [{"a": [1]}, {}]),
    ),
    _task(
        "varint",
        "Write a Python function varint(number) that encodes a non-negative integer as bytes: groups of seven bits, the lowest group "
        "first, one group a byte, and the highest bit of a byte is set in all but the last. Zero is one zero byte.",
        (0, b"\x00"),
        (1, b"\x01"),
        (127, b"\x7f"),
        (128, b"\x80\x01"),
        (300, b"\xac\x02"),
        (16383, b"\xff\x7f"),
        (16384, b"\x80\x80\x01"),
        (2**64 - 1, b"\xff" * 9 + b"\x01"),
    ),
    _task(
        "spiral",
        "Write a Python function spiral(matrix) that takes a rectangular matrix as a list of rows and returns its elements as one "
        "list, read clockwise from the upper left corner along the border and on inwards. The matrix may be empty.",
        ([[1, 2, 3], [4, 5, 6], [7, 8, 9]], [1, 2, 3, 6, 9, 8, 7, 4, 5]),
        ([], []),
        ([[1]], [1]),
        ([[1, 2, 3]], [1, 2, 3]),
        ([[1], [2], [3]], [1, 2, 3]),
        ([[1, 2], [3, 4]], [1, 2, 4, 3]),
        ([[1, 2, 3, 4], [5, 6, 7, 8]], [1, 2, 3, 4, 8, 7, 6, 5]),
        ([[1, 2], [3, 4], [5, 6], [7, 8]], [1, 2, 4, 6, 8, 7, 5, 3]),
        ([[]], []),
    ),
    _task(
        "join_intervals",
        "Write a Python function join_intervals(intervals) that takes a list of intervals, each a list [start, end] of integers "
        "with start <= end, in any order, and returns the list of intervals that cover the same, in ascending order. Intervals that "
        "overlap or share an end point become one; [1, 2] and [3, 4] stay apart.",
        ([[1, 3], [2, 4]], [[1, 4]]),
        ([], []),
        ([[5, 6], [1, 2]], [[1, 2], [5, 6]]),
        ([[1, 2], [2, 3]], [[1, 3]]),
        ([[1, 2], [3, 4]], [[1, 2], [3, 4]]),
        ([[1, 9], [2, 3]], [[1, 9]]),
        ([[0, 0], [0, 0]], [[0, 0]]),
        ([[-5, -1], [-3, 2], [4, 4], [3, 4]], [[-5, 2], [3, 4]]),
    ),
    _task(
        "split_csv",
        "Write a Python function split_csv(line) that splits one line of comma separated values into a list of strings. A field that "
        'begins with a double quote (") ends with one and may hold commas; two double quotes within it stand for one. Spaces are '
        "kept. An empty line is one empty field. Do not import anything.",
        ("a,b,c", ["a", "b", "c"]),
        ("", [""]),
        (",", ["", ""]),
        ('"a,b",c', ["a,b", "c"]),
        ('"say ""hi""",x', ['say "hi"', "x"]),
        ('""', [""]),
        (" a , b", [" a ", " b"]),
        ('a,"",', ["a", "", ""]),
        ('""""', ['"']),
    ),
)

_HARD = (
    _task(
        "edit_distance",
        "Write a Python function edit_distance(left, right) that returns how few single characters must be inserted, removed or "
        "replaced to turn one string into the other. It must be fast for strings of fifty characters.",
        ("kitten", "sitting", 3),
        ("", "", 0),
        ("", "abc", 3),
        ("abc", "", 3),
        ("flaw", "lawn", 2),
        ("ab", "ba", 2),
        ("Same", "same", 1),
        ("a" * 50, "b" * 25 + "a" * 25, 25),
    ),
    _task(
        "fewest_coins",
        "Write a Python function fewest_coins(coins, amount) that returns the smallest number of coins with the given values that add "
        "up to the amount exactly, where each value may be used as often as needed. It returns -1 where that is impossible; "
        "an amount of 0 needs 0 coins.",
        ([1, 5, 10], 18, 5),
        ([1, 3, 4], 6, 2),
        ([2], 3, -1),
        ([2], 0, 0),
        ([], 0, 0),
        ([], 7, -1),
        ([5, 7], 24, 4),
        ([186, 419, 83, 408], 6249, 20),
    ),
    _task(
        "grid_steps",
        "Write a Python function grid_steps(rows) that takes a map as a list of strings of equal length, in which '#' is a wall and "
        "'.' is free, and returns how few steps up, down, left or right lead from the upper left field to the lower right one. "
        "It returns -1 where there is no way, where either of the two is a wall, or where the map is empty.",
        (["..", ".."], 2),
        (["."], 0),
        ([], -1),
        (["#"], -1),
        ([".#", "#."], -1),
        (["..", ".#"], -1),
        (["...", "##.", "...", ".##", "..."], 10),
        ([".#...", ".#.#.", "...#."], 10),
    ),
    _task(
        "wildcard",
        "Write a Python function wildcard(pattern, text) that returns True if the pattern matches the whole string, and False "
        "otherwise. In the pattern * stands for any number of characters, none included, ? for exactly one, and every other "
        "character for itself. Do not import anything. It must be fast for patterns with many stars.",
        ("a*c", "abbc", True),
        ("", "", True),
        ("", "a", False),
        ("*", "", True),
        ("?", "", False),
        ("a?c", "abc", True),
        ("[a]*", "a", False),
        ("*ab", "aab", True),
        ("a*b*c", "abcb", False),
        ("*a" * 20 + "b", "a" * 60, False),
    ),
    _task(
        "task_order",
        "Write a Python function task_order(needs) that takes a dictionary from the name of each task to the list of names that must "
        "come before it, and returns the list of all names in an order that respects this. Among the tasks that may come next, the "
        "one whose name comes first in the alphabet is always taken. Names that occur in a list alone are tasks as well. It returns "
        "None where the tasks wait for each other.",
        ({"b": ["a"], "a": []}, ["a", "b"]),
        ({}, []),
        ({"a": ["b"]}, ["b", "a"]),
        ({"a": ["a"]}, None),
        ({"a": ["b"], "b": ["a"]}, None),
        ({"c": [], "a": [], "b": []}, ["a", "b", "c"]),
        ({"a": ["z"], "b": [], "c": ["b"]}, ["b", "c", "z", "a"]),
        ({"d": ["b", "c"], "b": ["a"], "c": ["a"]}, ["a", "b", "c", "d"]),
        ({"a": ["b", "b"]}, ["b", "a"]),
    ),
    _task(
        "longest_rise",
        "Write a Python function longest_rise(numbers) that returns the longest strictly rising subsequence of a list of integers as "
        "a list (elements may be left out, the order stays). Of several that are equally long it returns the one that is smallest "
        "when they are compared element by element from the start.",
        ([3, 1, 2], [1, 2]),
        ([], []),
        ([5], [5]),
        ([2, 2, 2], [2]),
        ([5, 4, 3], [3]),
        ([1, 9, 2, 3], [1, 2, 3]),
        ([2, 5, 1, 4], [1, 4]),
        ([1, 5, 2, 6, 3, 4], [1, 2, 3, 4]),
        ([-1, -3, 0, -2], [-3, -2]),
    ),
    _task(
        "calculate",
        "Write a Python function calculate(expression) that works out a string of non-negative whole numbers, the operators + - * /, "
        "parentheses and spaces, and returns an integer. * and / bind tighter than + and -, equals are taken from left to right, a "
        "minus may stand before a number or a parenthesis, and / drops the fraction, towards zero. Do not use eval, exec or any "
        "import.",
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("7", 7),
        ("8 / 3", 2),
        ("-7 / 2", -3),
        ("2 - 3 - 4", -5),
        ("100 / 10 / 3", 3),
        ("-(2 + 3) * -2", 10),
        ("2*(3+(4-1))*2", 24),
        ("9007199254740993 / 1", 9007199254740993),
    ),
)

BUILT_IN = (*_FIRST, *_SIMPLE, *_MIDDLE, *_HARD)
