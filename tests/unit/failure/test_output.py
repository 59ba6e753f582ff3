from __future__ import annotations

import pytest

from pytest_ralph.failure.output import CommandOutput, clean
from pytest_ralph.failure.sampling import HEAD, LONGEST_LINE, MIDDLE, TAIL

ALL = HEAD + MIDDLE + TAIL


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[1;38;5;196mbold\x1b[K", "bold"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b(Bplain", "plain"),
        ("10%\r50%\r100%", "100%"),
        ("done\r", "done"),
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("nul\x00byte \x08bell\x07", "nulbyte bell"),
        ("bidi\u202eevil\u2066", "bidievil"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("lone \udcff\udcfe surrogate", "lone \ufffd surrogate"),
        ("trailing   ", "trailing"),
    ],
)
def test_text_is_left_as_a_terminal_would_leave_it(raw: str, plain: str) -> None:
    assert clean(raw) == plain


def test_a_long_line_shows_its_last_overwrite_only() -> None:
    bars = "\r".join(f"{percent:3}%" for percent in range(LONGEST_LINE))
    assert clean(f"{bars}\rdone") == "done"


def test_lines_of_exceptions_are_indexed_in_order() -> None:
    output = CommandOutput("TypeError KeyError\nok\nValueError\nTypeError")
    assert output.index["*error"] == [0, 2, 3]


def test_a_box_around_a_message_is_removed() -> None:
    assert CommandOutput("│ Error: in a box").text == "Error: in a box"


def test_a_short_output_is_kept_whole() -> None:
    text = "x" * 70 + "\n"
    assert CommandOutput(text * 100).text == clean(text * 100)


def test_a_long_output_keeps_its_head_its_tail_and_the_alarms_between() -> None:
    filler = "cc -c some/file.c -o some/file.o\n" * 20_000
    text = CommandOutput(
        f"the very first line\n{filler}src/a.c:1:1: error: lost\n{filler}the very last line\n"
    ).text
    assert text.startswith("the very first line\n")
    assert "src/a.c:1:1: error: lost\n" in text
    assert text.endswith("the very last line\n")
    assert len(text) < 2 * ALL


def test_a_long_line_is_cut_in_its_middle() -> None:
    lines = CommandOutput(f"begin{'x' * 10_000_000}end").lines
    assert lines[0].startswith("beginx")
    assert lines[-1].endswith("xend")
    assert max(map(len, lines)) < 2 * LONGEST_LINE


def test_words_are_found_by_line_and_exceptions_by_their_ending() -> None:
    index = CommandOutput("Some words\nValueError: Some").index
    assert index["some"] == [0, 1]
    assert index["*error"] == [1]
