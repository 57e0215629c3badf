# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A report's page, read strictly, and the check that nothing in it can run or fetch."""

from __future__ import annotations

import html.parser
import re

# Elements that may be in the page; whatever could run or fetch is none of them.
ALLOWED = set(
    """
    html head meta title style body main h1 h2 h3 p ul li dl dt dd div figure figcaption code footer
    pre table caption thead tbody tr th td svg g path text use defs clippath rect pattern
    """.split()  # noqa: SIM905
)
EMPTY = {"meta"}


class Page(html.parser.HTMLParser):
    """A page, read strictly: each element is closed where it should be."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.ids, self.figures, self.words = [], set(), [], [], {}, []
        self.text = text
        self.feed(text)
        self.close()
        assert self.open == [], f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        found = dict(attrs)
        assert len(found) == len(attrs), f"an attribute twice in {tag}"
        self.attributes += attrs
        self.ids += [found["id"]] if "id" in found else []
        if tag == "figure":
            self.figures[found["id"]] = 0
        elif tag == "svg":
            self.figures[list(self.figures)[-1]] += 1
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"{tag} closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.words.append(data)


def check_safe(page):
    """Nothing of the record came through as markup, and nothing outside is referred to."""
    assert page.tags <= ALLOWED, page.tags - ALLOWED
    assert not [name for name, dummy in page.attributes if name.startswith("on")]
    assert len(page.ids) == len(set(page.ids)), "an id twice"
    refers = [value for name, value in page.attributes if name in ("href", "src", "xlink:href")]
    assert all(value.startswith("#") and value[1:] in page.ids for value in refers)
    assert {value[5:-1] for value in re.findall(r"url\(#[^)]*\)", page.text)} <= set(page.ids)
    assert not re.search(r"url\((?!#)|@import|http-equiv=.refresh", page.text)
    # Every http in the page is a name space of SVG or text.
    assert not [value for name, value in page.attributes if "http" in (value or "") and not name.startswith("xmlns")]
