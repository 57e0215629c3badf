# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a stranger may put before a parser, how many examples of it are tried, and how its time is judged.

``FUZZ=long`` in the environment tries ten thousand examples, others each time, and a number as many as it says; without it,
it is a small share that is always the same.
"""

from __future__ import annotations

import json
import os
import pathlib
import random
import time

import hypothesis
from hypothesis import strategies as st

from ansible_collections.llmops.sglang.plugins.module_utils._failure import FAILURE_CLASSES, Failure
from ansible_collections.llmops.sglang.plugins.module_utils._time_limit import cpu_time_limit

_WANTED = os.environ.get("FUZZ", "")
LONG = bool(_WANTED)
FIXTURES = pathlib.Path(__file__).parents[1] / "fixtures"
# Nothing that a parser meets by itself holds it.
CANARY = "Canary7f3aQ9wZ"
_SHARE, _WHOLE = 20, int(_WANTED) if _WANTED.isdigit() else 10_000
_SLOWED_BY = 3


def fuzz(*strategies, share=_SHARE, whole=_WHOLE, **named):
    """Like ``hypothesis.given``, with as many examples as this run is for."""

    def decorate(function):
        settings = hypothesis.settings(
            max_examples=min(whole, _WHOLE) if LONG else share,
            derandomize=not LONG,
            database=None,
            deadline=None,
            suppress_health_check=list(hypothesis.HealthCheck),
            print_blob=True,
        )
        return settings(hypothesis.given(*strategies, **named)(function))

    return decorate


# Line ends of all sorts, what is invisible, half characters, digits that are none to int(), and what quoting is made of.
ODD = "\0\x01\x07\x08\t\n\x0b\x0c\r\x1b\x1c\x1f \x7f\x85\x9b\xa0\xb2\u0660\u202e\u2028\u2029\u3000\ufeff\ufffe\ufffd\ud800\udc80\udfff😀é"
QUOTING = "'\"\\`$%=:;,#&|<>()[]{}*?~!@-_+./ \n"
ANY_TEXT = st.one_of(
    st.text(max_size=60),
    st.text(st.sampled_from(ODD + QUOTING + "aA0n"), max_size=60),
    st.text(st.characters(), max_size=30),
)
ANY_BYTES = st.binary(max_size=200) | ANY_TEXT.map(lambda text: text.encode("utf-8", "surrogatepass"))


def as_read(text):
    """*text* as its bytes are decoded where they are those of a file or of a command's output."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")


def made_of(*pieces, most=25):
    """Texts of *pieces* of a language, in any order, with strange characters between them."""
    # One choice and no more, because most of the time goes into making examples.
    one = st.sampled_from([*pieces * 4, *ODD, *QUOTING, "a", "1"])
    return st.lists(one, max_size=most).map("".join)


NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.integers(),
    st.sampled_from([10**18, 10**19, 2**63, -(2**63), 10**400, -(10**400), 10**4000, 1e308, -1e308, 5e-324, 0.1, -0.0]),
    st.sampled_from([float("inf"), float("-inf"), float("nan")]),
)
SCALARS = st.none() | st.booleans() | NUMBERS | ANY_TEXT


def json_values(*keys, leaves=20):
    """Values of any JSON type, whose mappings have *keys* mostly, and values of another type than is expected under them."""
    names = (st.sampled_from(keys) | ANY_TEXT) if keys else ANY_TEXT
    return st.recursive(
        SCALARS | nested(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=6),
        max_leaves=leaves,
    )


def nested():
    """Values nested about as deeply as Python's own limits: a parser may take them, and whoever walks them next may not."""

    def build(depth, mapping):
        value = 0
        for dummy in range(depth):
            value = {"a": value} if mapping else [value]
        return value

    return st.builds(build, st.sampled_from([30, 200, 320, 480, 700, 900]), st.booleans())


def json_text(value):
    """*value* as a sloppy server writes it; the numbers that JSON does not have included. No recursion, whatever the depth."""
    try:
        return json.dumps(value)
    except RecursionError:
        return "[" * 2000 + "]" * 2000


JSON_JUNK = st.sampled_from(
    ["", "null", "NaN", "1e400", "[" * 12_000, '{"a":' * 6_000, "9" * 6000, '{"a":' + "9" * 6000 + "}", "\ufeff{}", "{", "[1", '"\\ud800"',
     '{"a":1,"a":2}', "-Infinity", "{}{}", "\x00", "tru", '{"a":\x0b1}', "[1e999999999]", "0x10", '"' + "a" * 5_000]
)  # fmt: skip


@st.composite
def mutated(draw, sources):
    """A real text (str or bytes) of *sources* with a few pieces taken out, doubled, exchanged or put in."""
    data = draw(st.sampled_from(sources))
    return mutate(data, draw(st.integers(0, 2**32)), draw(st.integers(1, 6)))


_INSERTS = [*ODD, *QUOTING, "null", "NaN", "1e999", "-1", "9" * 30, "[[[[", "}", "true", '""', "\r\n", "\\u", "=\0"]


def mutate(data, seed, times):
    """*data* changed *times*; equal arguments make equal results."""
    chance = random.Random(seed)
    for dummy in range(times):
        start = chance.randrange(len(data) + 1)
        end = min(len(data), start + chance.choice([0, 1, 2, 8, 40, 400]))
        piece, kind = data[start:end], chance.randrange(5)
        put = chance.choice(_INSERTS)
        put = put.encode("utf-8", "surrogatepass") if isinstance(data, bytes) else put
        other = chance.randrange(len(data) + 1)
        new = [data[:0], piece + piece, put, put + piece, data[other : other + len(piece)]][kind]
        data = data[:start] + new + data[end:]
    return data


@st.composite
def mutated_json(draw, sources):
    """A real JSON value of *sources* of which a few parts, wherever they lie, are gone or of another type."""
    value = json.loads(json.dumps(draw(st.sampled_from(sources))))
    for dummy in range(draw(st.integers(1, 4))):
        holder, key = draw(st.sampled_from(list(_places(value)) or [(None, None)]))
        if holder is None:
            return draw(SCALARS)
        if isinstance(holder, dict) and draw(st.booleans()):
            del holder[key]
        else:
            holder[key] = draw(SCALARS | st.sampled_from([[], {}, [[]], [{}], {"a": []}]) | nested())
    return value


def _places(value):
    todo = [value]
    while todo:
        one = todo.pop()
        for key, inner in one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ():
            yield one, key
            if isinstance(inner, (dict, list)) and len(todo) < 2000:
                todo.append(inner)


def pieces_of(data, cuts):
    """*data* cut at the given places."""
    places = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    return [data[a:b] for a, b in zip(places, places[1:])]


CUTS = st.lists(st.integers(0, 100_000), max_size=12)


def or_failure(function, *args, allowed=(), **named):
    """What *function* returns, or the ``Failure`` that it raises; any other exception but *allowed* goes on."""
    try:
        return function(*args, **named)
    except Failure as failure:
        assert failure.failure_class in FAILURE_CLASSES and failure.msg
        return failure
    except allowed as exc:
        return exc


def goes_out(value):
    """Assert that Ansible can send *value* to the controller: plain JSON types, and text that UTF-8 can carry."""
    json.dumps(value, ensure_ascii=False).encode("utf-8")


def assert_linear(function, prefix, unit, suffix="", largest=2**17, thorough=LONG):
    """Assert that the time of *function* grows with the length of ``prefix + unit * n + suffix``, and not with its square.

    Eight short texts may take a third of the time of one that is eight times as long; quadratic it would be an eighth.
    Processor time, and texts so long that it can be measured, so that a busy or slow machine does not matter. A pattern that
    never ends meets the limit, and so does a square of what is longer still.

    :arg thorough: whether what takes no time for a thousand characters is measured, too.
    """

    def cost(length, times=1):
        value = prefix + unit * (length // len(unit)) + suffix
        begun = time.process_time()
        for dummy in range(times):
            function(value)
        return time.process_time() - begun

    with cpu_time_limit(30):
        size = 16
        if not thorough and cost(64) + cost(1024) < 0.003:
            return
        while size < largest and cost(size) < (0.004 if thorough else 0.001):
            size *= 4
        tries = []
        for dummy in range(6):
            tries.append((cost(size, 8), cost(8 * size)))
            if tries[-1][1] < max(_SLOWED_BY * tries[-1][0], 0.004):
                return
        # What outgrows the processor's cache is slower from there on, and then not any more.
        if any(cost(32 * size) < 2 * cost(8 * size, 4) for dummy in range(3)):
            return
    raise AssertionError(f"{size} characters {unit!r} eight times, and eight times as many, took {tries} s")


def repeated(*pieces):
    """Arguments for :func:`assert_linear`: a beginning, what is repeated, and an end, all of *pieces*."""
    piece = st.sampled_from(pieces) | st.text(st.sampled_from(QUOTING + "a1é\x1b"), min_size=1, max_size=2)
    return st.tuples(
        st.lists(piece, max_size=2).map("".join),
        st.lists(piece, min_size=1, max_size=2).map("".join),
        st.lists(piece, max_size=1).map("".join),
    )
