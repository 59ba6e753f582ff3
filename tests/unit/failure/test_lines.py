"""Walking over the lines of an output."""

from __future__ import annotations

import re

from pytest_ralph.failure.lines import (
    above,
    below,
    indent_of,
    line_above,
    lines_below,
    matching,
    number_of,
    numbers_of,
)

LINES = ["one", "  two", "three two", ""]


def test_matching_lines_are_numbered() -> None:
    found = [(number, match[0]) for number, match in matching(re.compile("t").search, LINES)]
    assert found == [(1, "t"), (2, "t")]


def test_accepted_lines_are_numbered() -> None:
    assert numbers_of(str.strip, LINES) == [0, 1, 2]


def test_the_first_line_with_a_text_is_found() -> None:
    assert number_of("two", LINES) == 1
    assert number_of("four", LINES) is None


def test_the_lines_below_end_with_the_output() -> None:
    assert list(below(LINES, 1, 1)) == [2]
    assert list(below(LINES, 1, 9)) == [2, 3]
    assert list(below(LINES, 3, 9)) == []


def test_the_texts_of_the_lines_below_end_with_the_output() -> None:
    assert lines_below(LINES, 0, 2) == ["  two", "three two"]
    assert lines_below(LINES, 2, 9) == [""]


def test_the_lines_above_begin_with_the_nearest() -> None:
    assert list(above(3, 2)) == [2, 1]
    assert list(above(1, 9)) == [0]
    assert list(above(0, 9)) == []


def test_an_indent_is_counted() -> None:
    assert [indent_of(line) for line in LINES] == [0, 2, 0, 0]


def test_above_the_first_line_stands_nothing() -> None:
    assert line_above(LINES, 1) == "one"
    assert line_above(LINES, 0) == ""
