"""Hostile text times every sink: it stays text wherever it is put."""

from __future__ import annotations

import json
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pytest_ralph.text.inert import (
    fenced,
    markdown,
    one_line,
    prompt_line,
    terminal,
    without_escapes,
)

SAMPLES: list[str] = json.loads(
    (Path(__file__).parents[2] / "samples" / "hostile.json").read_text("utf-8")
)
LARGE = [
    "x" * 1_000_000,
    "- [ ] 9.9 x\n" * 100_000,
    "`" * 1_000_000,
    "\x1b[31m" * 200_000,
    "[" * 1_000_000,
    "*_" * 500_000,
]
Sink = Callable[[str], str]
SINKS: list[Sink] = [terminal, one_line, markdown, fenced, prompt_line]

# What attackers and broken tools are made of, in any order.
MARKS = (
    "` * _ [ ] ( ) < > # - + ~ | \\ ! & ; : = $ ' \" { } ^ @ [x] ** __ ``` ~~~ <!-- --> <b> ]( "
    "&amp; Verify: 1. a b_c é"
)
pieces = st.sampled_from(
    [
        *MARKS.split(),
        *" \t\n\r\0\x07\u202e\u200b\ud800\u2028",
        "- [ ] ",
        "1) ",
        "\x1b[31m",
        "\x1b]0;",
    ]
)
hostile = st.lists(pieces, max_size=25).map("".join) | st.text(max_size=60)

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
PLACES = {
    "title": "- [ ] 1.3.1 [FIX 1.3] Fix: {}\n  - **Verify**: `true`\n",
    "field": "- [ ] 1.3.1 Title\n  - **Do**: Address the error: {}\n  - **Verify**: `true`\n",
    "item": "- [ ] 1.3.1 Title\n  - {}\n  - **Verify**: `true`\n",
    "quoted": '- [ ] 1.3.1 Title\n  - **Done when**: Error "{}" no longer occurs\n',
    "numbered": "- [ ] 1.3.1 Title\n  - **Do**:\n    1. Read\n    2. Implement fix for: {}\n",
}


def structure(text: str) -> list[str]:
    """All tokens of a document but its words."""
    found = []
    for token in MARKDOWN.parse(text):
        found.append(token.type)
        found += [child.type for child in token.children or []]
    return found


def words(text: str) -> str:
    inline = [token for token in MARKDOWN.parse(text) if token.type == "inline"]
    return "".join(child.content for token in inline for child in token.children or [])


def assert_plain_in_markdown(text: str) -> None:
    safe = markdown(text)
    assert "\n" not in safe
    assert "`" not in safe
    assert "<!--" not in safe
    assert "-->" not in safe
    if safe:
        for place in PLACES.values():
            assert structure(place.format(safe)) == structure(place.format("word")), safe


def test_in_a_task_it_adds_nothing_but_words() -> None:
    for text in SAMPLES:
        assert_plain_in_markdown(text)


@given(hostile)
@settings(max_examples=150, deadline=None)
def test_in_a_task_it_adds_only_words(text: str) -> None:
    assert_plain_in_markdown(text)


@given(hostile)
@settings(deadline=None)
def test_markdown_readers_get_the_line_back(text: str) -> None:
    line = one_line(text, 200).replace("`", "'").replace("<!--", "<! --").replace("-->", "-- >")
    assert words(f"- x {markdown(text, 200)}") in {f"x {line}".rstrip(), f"x … {line}"}


@pytest.mark.parametrize(
    "text",
    [
        "AssertionError: assert 1 == 2",
        "File not found: src/parser.ts",
        "tests/test_a.py::test_b[c-1] - KeyError: 'x'",
        "error TS2304: Cannot find name 'foo_bar'.",
        "C:\\Users\\me\\x.py:3: expected 2 * 3, got $HOME & more (50%)",
        "a < b and c > d, x[0] = {1: 2} ~/x # why?",
    ],
)
def test_an_ordinary_error_stays_as_it_is(text: str) -> None:
    assert markdown(text) == text


@pytest.mark.parametrize(
    "field",
    ["Verify: ls", "**Verify**: ls", "do : x", "Done when: x", "__Files__: x", "- Commit: x"],
)
def test_it_never_begins_like_a_field(field: str) -> None:
    assert markdown(field).startswith("… ")


@pytest.mark.parametrize("sink", SINKS)
def test_no_sink_lets_through_what_is_not_seen(sink: Sink) -> None:
    for text in SAMPLES:
        assert_visible(sink(text))


@given(text=hostile, sink=st.sampled_from(SINKS))
@settings(deadline=None)
def test_no_sink_passes_invisible_characters(sink: Sink, text: str) -> None:
    assert_visible(sink(text))


def assert_visible(text: str) -> None:
    for character in text:
        assert character in "\n\t" or unicodedata.category(character) not in {
            "Cc",
            "Cs",
            "Zl",
            "Zp",
        }, ascii(character)
        assert unicodedata.bidirectional(character) not in {
            "LRE",
            "RLE",
            "LRO",
            "RLO",
            "PDF",
            "LRI",
            "RLI",
            "FSI",
            "PDI",
        }
        assert character not in "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad\u180e"
        assert not 0xE0000 <= ord(character) <= 0xE0FFF
    assert "\x1b" not in text


@pytest.mark.parametrize("limit", [1, 10, 50, 300])
def test_one_line_is_one_line_within_its_limit(limit: int) -> None:
    for text in SAMPLES:
        line = one_line(text, limit)
        assert len(line) <= limit
        assert line == " ".join(line.split())


def test_a_line_that_was_cut_says_so() -> None:
    assert one_line("abcdefghij", 5) == "abcd…"
    assert one_line("abcde", 5) == "abcde"
    assert one_line("abcd efgh", 6) == "abcd…"
    assert one_line("a" * 100_000, 5) == "aaaa…"


def test_in_xml_it_is_text_and_comes_back() -> None:
    for text in SAMPLES:
        clean = terminal(text)
        element = ET.Element("failure", message=clean)
        element.text = clean
        read = ET.fromstring(ET.tostring(element))
        assert (read.text or "", read.get("message"), len(read)) == (clean, clean, 0)


def test_in_a_prompt_it_is_one_quotation() -> None:
    for text in SAMPLES:
        tokens = MARKDOWN.parse(f"# Prompt\n\n{fenced(text)}\n\nThe end.\n")
        types = [token.type for token in tokens if token.nesting >= 0 and token.type != "inline"]
        assert types == ["heading_open", "fence", "paragraph_open"], text
        fence = next(token for token in tokens if token.type == "fence")
        assert fence.content.strip("\n") == terminal(text).strip("\n")


@pytest.mark.parametrize("text", ["assert *a == [1]", "a \\b c", "__init__ of <b>", "C:\\dir"])
def test_escapes_are_taken_off_again(text: str) -> None:
    assert without_escapes(markdown(text)) == text


def test_terminal_keeps_lines_and_ends_them_alike() -> None:
    assert terminal("a\r\nb\rc\u2028d\n\te") == "a\nb\nc\nd\n\te"
    assert terminal("\x1b[1mbold\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\") == "bold link"


@pytest.mark.parametrize("sink", SINKS)
@pytest.mark.parametrize("text", LARGE, ids=lambda text: text[:8])
def test_a_megabyte_is_no_problem(sink: Sink, text: str) -> None:
    started = time.process_time()
    sink(text)
    assert time.process_time() - started < 1
