# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every command and every YAML block of the documents that users read, with the place where it stands.

As a program it lists the commands, and where each can be run: ``python tests/tools/doc_examples.py``.
"""

from __future__ import annotations

import pathlib
import re
import shlex
import textwrap
import typing as t
from dataclasses import dataclass

CLONE = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted(
    [
        *(CLONE / "docs" / "docsite" / "rst").glob("*.rst"),
        *(CLONE / "roles").glob("*/README.md"),
        *(CLONE / name for name in ("README.md", "CONTRIBUTING.md", "inventory/README.md") if (CLONE / name).exists()),
    ]
)
SHELL = ("console", "shell", "bash", "sh")
YAML = ("yaml", "yaml+jinja")
# A literal within a sentence that begins so is a command.
IN_A_SENTENCE = re.compile(r"(\w+=\S+ )?(ansible(-\w+)?|make|journalctl|systemctl|tests/setup/with_tools\.sh) \S")
# What stands between two commands of one line.
OPERATORS = frozenset(("|", "||", "&&", ";", "&"))


@dataclass(frozen=True)
class Block:
    """One literal block: its language, its text without indentation, and where it begins."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Command:
    """One simple command: the variables set in front of it, and its words."""

    page: str
    line: int
    environ: tuple[str, ...]
    words: tuple[str, ...]

    @property
    def program(self) -> str:
        return self.words[0] if self.words else ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line} {self.program}"


def blocks(page: pathlib.Path) -> t.Iterator[Block]:
    """The literal blocks of a page in reStructuredText or Markdown that name their language."""
    name = str(page.relative_to(CLONE))
    lines = page.read_text(encoding="utf-8").splitlines()
    find = _rst_block if page.suffix == ".rst" else _markdown_block
    for number, line in enumerate(lines):
        found = find(line, lines[number + 1 :])
        if found:
            language, skipped, body = found
            yield Block(
                name, number + 2 + skipped, language.lower(), textwrap.dedent("\n".join(body)).strip("\n") + "\n"
            )


def examples() -> t.Iterator[Block]:
    """What the plugins' own documentation shows as examples."""
    for path in sorted(CLONE.glob("plugins/*/*.py")):
        text = path.read_text(encoding="utf-8")
        found = re.search(r'(?ms)^EXAMPLES = r?"""\n(.*?)^"""', text)
        if found:
            yield Block(str(path.relative_to(CLONE)), text.count("\n", 0, found.start()) + 2, "yaml", found[1])


def _rst_block(line: str, rest: list[str]) -> tuple[str, int, list[str]] | None:
    directive = re.match(r"( *)\.\. code-block:: *(\S+)", line)
    if not directive:
        return None
    inside = re.compile(rf" {{{len(directive[1]) + 1},}}\S")
    body = []
    for one in rest:
        if one.strip() and not inside.match(one):
            break
        body.append(one)
    skipped = next((index for index, one in enumerate(body) if one.strip()), 0)
    return directive[2], skipped, body[skipped:]


def _markdown_block(line: str, rest: list[str]) -> tuple[str, int, list[str]] | None:
    fence = re.match(r"( *)```(\S+)$", line)
    if not fence:
        return None
    return fence[2], 0, rest[: rest.index(fence[1] + "```")]


def files(block: Block) -> t.Iterator[tuple[str, str]]:
    """The files that a block shows, by the names in its comments (empty where it names none), and their texts."""
    name, body = "", []
    for line in block.text.splitlines():
        heading = re.fullmatch(r"# ([\w./-]+\.(?:yml|yaml|cfg))", line)
        if heading:
            if any(one.strip() for one in body):
                yield name, "\n".join(body) + "\n"
            name, body = heading[1], []
        else:
            body.append(line)
    yield name, "\n".join(body) + "\n"


def commands(page: pathlib.Path) -> t.Iterator[Command]:
    """The simple commands of a page: those of its console and shell blocks, within ``$(...)`` too, and in its sentences."""
    for block in blocks(page):
        if block.language in SHELL:
            for line, text in _command_lines(block):
                yield from split(block.page, line, text)
    for line, literal in literals(page):
        if IN_A_SENTENCE.match(literal):
            yield from split(str(page.relative_to(CLONE)), line, literal)


def literals(page: pathlib.Path) -> t.Iterator[tuple[int, str]]:
    """What stands in a sentence as a literal, on one line, and the number of the line where it begins."""
    fence = "``" if page.suffix == ".rst" else "`"
    text = page.read_text(encoding="utf-8")
    for found in re.finditer(rf"(?<!`){fence}([^`]+?){fence}(?!`)", text):
        yield text.count("\n", 0, found.start()) + 1, " ".join(found[1].split())


def _command_lines(block: Block) -> t.Iterator[tuple[int, str]]:
    """Whole command lines: in a console what stands behind a prompt, continued lines joined."""
    prompt = "$ " if block.language == "console" else ""
    begun, text = 0, ""
    for number, line in enumerate(block.text.splitlines(), start=block.line):
        if not text and not line.startswith(prompt):
            continue
        begun = begun if text else number
        text += line.removeprefix(prompt) if not text else line.strip()
        if text.endswith("\\"):
            text = text[:-1]
            continue
        if text.strip() and not text.lstrip().startswith("#"):
            yield begun, text
        text = ""


def split(page: str, line: int, text: str) -> t.Iterator[Command]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|&;")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    words: list[str] = []
    for word in [*lexer, ";"]:
        if word not in OPERATORS:
            words.append(word)
        elif words:
            yield _command(page, line, words)
            words = []
    for inner in re.findall(r"\$\(([^()]+)\)", text):
        yield from split(page, line, inner)


def _command(page: str, line: int, words: list[str]) -> Command:
    environ = []
    while words and re.match(r"[A-Za-z_]\w*=", words[0]):
        environ.append(words[0])
        words = words[1:]
    if words[:1] == ["export"]:
        return Command(page, line, tuple(words[1:]), ("export",))
    if words[:1] == ["sudo"]:
        words = words[1:]
        while words and words[0].startswith("-"):
            words = words[2:] if words[0] in ("-u", "-g") else words[1:]
    if words and words[0].endswith("with_tools.sh"):
        environ, words = [*environ, words[0]], words[1:]
    return Command(page, line, tuple(environ), tuple(words))


def where(command: Command) -> str:
    """Where a command can be run: ``controller``, ``host``, ``clone``, ``awx``, ``registry``."""
    words = command.words
    if command.program == "ansible-playbook":
        if "llmops.sglang.awx" in words:
            return "awx"
        return "controller" if "--syntax-check" in words else "host"
    if command.program == "ansible":
        return "host"
    if command.program in ("make", "git"):
        return "clone"
    if words[:1] == ("ansible-builder",) or words[:2] == ("ansible-galaxy", "collection"):
        return "registry"
    on_host = ("journalctl", "systemctl", "systemd-analyze", "loginctl", "usermod")
    return "host" if command.program in on_host else "controller"


def main() -> None:
    for page in PAGES:
        for command in commands(page):
            print(
                f"{where(command):10} {command.page}:{command.line}  {shlex.join([*command.environ, *command.words])}"
            )


if __name__ == "__main__":
    main()
