# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The picture of the demo: what it takes of a recording, that any text can stand in it, and that it is not out of date."""

from __future__ import annotations

import importlib.util
import io
import re
import sys
import types
import xml.etree.ElementTree as ET

import pytest

from ansible_collections.llmops.sglang.tests.tools.doc_examples import CLONE

SVG = "{http://www.w3.org/2000/svg}"
STARS = " ****"
RECORDING = f"""
--- A host to run it on

TASK [Boot the hosts and write their inventory]{STARS}
changed: [localhost]

--- The main job: unit and proof

TASK [llmops.sglang.server : Write the unit]{STARS}
included: /home/me/clone/roles/server/tasks/unit.yml for demo

TASK [llmops.sglang.server : Write the unit]{STARS}
changed: [demo]

TASK [llmops.sglang.server : Wait until this invocation generates]{STARS}
[   3 s] demo sglang: loading weights: begin
[   7 s] demo sglang: loading weights: begin
[  11 s] demo sglang: ready
ok: [demo]

TASK [llmops.sglang.server : Prove the draft window from the journal of this invocation]{STARS}
ok: [demo]

PLAY RECAP{STARS}
demo    : ok=37   changed=4

--- What was measured, from the record
**label**: a model
| context | tokens/s |
|---:|---:|
| 60 | 107.6 |

Coding: 5 of 5 passed, 0 not run.
Record: /home/me/clone/tests/output/a.json

--- Three lies, and how they are caught
""" + "".join(
    f"""
PLAY [Lie {number}: it is <b> & "c"]{STARS}

TASK [Another task]{STARS}
changed: [demo]

TASK [{usual}]{STARS}
ok: [demo]

TASK [Caught]{STARS}
ok: [demo] =>
    msg: 'class: {number}
        and more'
"""
    for number, usual in enumerate(("It generates, so a script would say READY", "The usual loop", "The usual command"))
)
RECORDING += "\n--- Everything is stopped and removed; 61 s.\n"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("terminal_picture", CLONE / "tests" / "tools" / "terminal_picture.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["terminal_picture"] = module
    spec.loader.exec_module(module)
    return module


def rows(svg):
    """The class and the text of each line in a picture, without the caption."""
    found = [(row.get("class"), row.text) for row in ET.fromstring(svg).iter(f"{SVG}text")]
    return [row for row in found if row[0] != "caption"]


def test_the_excerpt_is_what_the_rules_say(tool):
    lie = [
        ("task", f"TASK [Caught]{STARS}"),
        ("ok", "    msg: 'class: 0"),
        ("ok", "        and more'"),
    ]
    assert [(line.kind, line.text) for line in tool.excerpt(RECORDING)][:24] == [
        ("command", "$ make demo-quick"),
        ("plain", ""),
        ("section", "--- The main job: unit and proof"),
        ("task", f"TASK [llmops.sglang.server : Write the unit]{STARS}"),
        ("changed", "changed: [demo]"),
        ("task", f"TASK [llmops.sglang.server : Wait until this invocation generates]{STARS}"),
        ("plain", "[   3 s] demo sglang: loading weights: begin"),
        ("plain", "[  11 s] demo sglang: ready"),
        ("ok", "ok: [demo]"),
        ("task", f"TASK [llmops.sglang.server : Prove the draft window from the journal of this invocation]{STARS}"),
        ("ok", "ok: [demo]"),
        ("plain", ""),
        ("section", "--- What was measured, from the record"),
        ("plain", "| context | tokens/s |"),
        ("plain", "|      60 |    107.6 |"),
        ("plain", "Coding: 5 of 5 passed, 0 not run."),
        ("plain", ""),
        ("section", "--- Three lies, and how they are caught"),
        ("play", f'PLAY [Lie 0: it is <b> & "c"]{STARS}'),
        ("task", f"TASK [It generates, so a script would say READY]{STARS}"),
        ("ok", "ok: [demo]"),
        *lie,
    ]
    assert "/home/me" not in tool.picture(tool.excerpt(RECORDING))


def test_any_text_is_text(tool):
    hostile = "\x1b[0;32mok\x1b[0m </text><script> & ]]> \x00\x07\ud800"
    svg = tool.picture(tool.excerpt(RECORDING.replace("demo sglang: ready", hostile)))
    svg.encode()
    texts = [text for dummy, text in rows(svg)]
    assert "[  11 s] ok </text><script> & ]]> \ufffd\ufffd\ufffd" in texts
    assert f'PLAY [Lie 1: it is <b> & "c"]{STARS}' in texts


def test_a_long_line_is_cut_and_each_fits(tool):
    svg = tool.picture(tool.excerpt(RECORDING.replace("demo sglang: ready", "x" * 500)))
    assert f"[  11 s] {'x' * 100}…" in [text for dummy, text in rows(svg)]
    root = ET.fromstring(svg)
    for row in root.iter(f"{SVG}text"):
        assert float(row.get("x")) + float(row.get("textLength", 0)) <= float(root.get("width"))
        assert float(row.get("y")) < float(root.get("height"))


def test_the_same_recording_makes_the_same_picture_for_everybody(tool):
    svg = tool.picture(tool.excerpt(RECORDING))
    assert svg == tool.picture(tool.excerpt(RECORDING))
    root = ET.fromstring(svg)
    names = {part.get("id"): part.text for part in root if part.get("id")}
    assert root.get("role") == "img" and all(names[name] for name in root.get("aria-labelledby").split())


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (RECORDING, "", "TASK [Prove the draft window"),
        ("--- Three lies, and how they are caught", "", "--- Three lies"),
        ("TASK [Caught]", "TASK [Not caught]", "TASK [Caught$] below '--- Three lies'"),
        ("PLAY [Lie 2", "PLAY [Truth 2", r"PLAY [Lie \d]"),
        ("changed: [demo]", "fatal: [demo]: FAILED!", "TASK [Write the unit$]"),
        ("| 60", "/60", "--- What was measured"),
    ],
)
def test_a_recording_that_lacks_a_part_is_refused(tool, old, new, told):
    with pytest.raises(tool.PictureError) as refused:
        tool.excerpt(RECORDING.replace(old, new))
    assert told in str(refused.value) and "Did the demo fail?" in str(refused.value)


def test_a_path_of_the_machine_is_refused(tool):
    tool.excerpt(RECORDING.replace("class: 1", "/opt/demo/sglang/bin/python http://127.0.0.1:1/v1/models"))
    with pytest.raises(tool.PictureError, match="'/home/me/python'"):
        tool.excerpt(RECORDING.replace("class: 1", "(/home/me/python -m sglang)"))


@pytest.mark.parametrize(("text", "status"), [(RECORDING, 0), ("a demo that failed\n", 1)])
def test_the_program_writes_the_file_or_says_why_not(tool, monkeypatch, tmp_path, capsys, text, status):
    file = tmp_path / "demo.svg"
    monkeypatch.setattr(sys, "argv", ["terminal_picture.py", str(file)])
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(text.encode())))
    assert tool.main() == status
    assert file.exists() is (status == 0)
    assert ("No picture was made" in capsys.readouterr().err) is (status == 1)


def test_the_picture_in_the_repository_is_of_todays_demo():
    """Its headings are names of plays and tasks that the demo still has; ``make demo-picture`` makes it anew."""
    sources = [CLONE / "tests" / "demo" / "lies.yml", *(CLONE / "roles" / "server" / "tasks").glob("*.yml")]
    names = set(re.findall(r'(?m)^ *- name: "?(.*?)"?$', "\n".join(path.read_text() for path in sources)))
    svg = (CLONE / "docs" / "demo.svg").read_text(encoding="utf-8")
    shown = [re.match(r"\w+ \[(?:[\w.]+ : )?(.*)\]", text)[1] for kind, text in rows(svg) if kind in ("play", "task")]
    assert len(shown) > 8 and [name for name in shown if name not in names] == []
    titles = re.findall(r'say\(f?"([^"{;]+)', (CLONE / "tests" / "demo" / "run.py").read_text())
    assert all(text[4:].partition(";")[0] in titles for kind, text in rows(svg) if kind == "section")
