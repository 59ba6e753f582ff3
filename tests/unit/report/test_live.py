"""Live rows: their text in the space they have, where they are drawn, and their removal."""

from __future__ import annotations

import os
import threading
import time

import pytest

from pytest_ralph.report import live
from pytest_ralph.report.live import Activity, LiveRows
from tests.integration.terminal.seat import Picture

COLLECTED = "\x1b[32mcollected\x1b[0m 3 items\n"


class Paper:
    """A screen that keeps what is written."""

    def __init__(self, columns: int = 60, lines: int = 24) -> None:
        self._size = os.terminal_size((columns, lines))
        self.picture = Picture(columns)
        self.written: list[str] = []

    def write(self, text: str) -> None:
        self.written.append(text)
        self.picture.feed(text)

    def size(self) -> os.terminal_size:
        return self._size


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "DELAY", 0.0)
    monkeypatch.setattr(live, "INTERVAL", 0.01)


def until_drawn(paper: Paper, text: str) -> None:
    end = time.monotonic() + 5
    while not any(text in line for line in paper.picture.lines):
        assert time.monotonic() < end, paper.picture.lines
        time.sleep(0.005)


@pytest.mark.parametrize(
    ("width", "last_line", "row"),
    [
        (80, "", "1.3 verify, attempt 2 of 4  12 s of 300 s  Add a parser"),
        (80, COLLECTED, "1.3 verify, attempt 2 of 4  12 s of 300 s  collected 3 items"),
        (50, "", "1.3 verify, attempt 2 of 4  12 s of 300 s"),
        (52, "", "1.3 verify, attempt 2 of 4  12 s of 300 s  Add a pa…"),
        (36, "", "1.3 verify, attempt 2 of 4  12 s"),
        (20, "", "1.3 verify, a…  12 s"),
    ],
)
def test_a_row_fits_its_width(width: int, last_line: str, row: str) -> None:
    activity = Activity("1.3 verify, attempt 2 of 4", 300.0, "Add a parser", started=100.0)
    activity.last_line = last_line
    assert activity.row(112.4, width) == row


def test_rows_are_drawn_below_and_erased() -> None:
    paper = Paper()
    paper.write("specs/demo/tasks.md .")
    with LiveRows(paper).doing("1.2 verify", 300, "Build it"):
        until_drawn(paper, "1.2 verify")
        assert paper.picture.lines == [
            "specs/demo/tasks.md .",
            "  1.2 verify  0 s of 300 s  Build it",
        ]
    paper.write("F")
    assert paper.picture.lines == ["specs/demo/tasks.md .F"]


def test_what_is_over_soon_is_never_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "DELAY", 1.0)
    paper = Paper()
    with LiveRows(paper).doing("1.2 verify", 300):
        time.sleep(0.05)
    assert paper.written == []


def test_nothing_is_drawn_twice_the_same() -> None:
    paper = Paper()
    with LiveRows(paper).doing("1.2 verify", 300):
        until_drawn(paper, "1.2 verify")
        time.sleep(0.1)
        assert len(paper.written) == 1


def test_each_activity_has_a_row() -> None:
    paper = Paper()
    rows = LiveRows(paper)
    running = [rows.doing(f"1.{n} verify", 300) for n in range(1, 7)]
    for one in running:
        one.__enter__()
    until_drawn(paper, "3 more")
    shown = [line.split("  ")[1] for line in paper.picture.lines[1:]]
    assert shown == ["1.1 verify", "1.2 verify", "1.3 verify", "3 more"]
    for one in running:
        one.__exit__(None, None, None)
    assert paper.picture.lines == [""]


@pytest.mark.parametrize(("columns", "lines"), [(0, 0), (10, 24), (80, 2)])
def test_where_there_is_no_room_nothing_is_drawn(columns: int, lines: int) -> None:
    paper = Paper(columns, lines)
    rows = LiveRows(paper)
    with rows.doing("1.2 verify", 300):
        assert rows.rows(time.monotonic()) == ()


def test_while_others_write_the_rows_are_away() -> None:
    paper = Paper()
    rows = LiveRows(paper)
    with rows.doing("1.2 verify", 300):
        until_drawn(paper, "1.2 verify")
        with rows.hidden():
            assert paper.picture.lines == [""]
            paper.write("a line of pytest's\r\n")
            time.sleep(0.05)
            assert paper.picture.lines == ["a line of pytest's"]
        assert paper.picture.lines[-1].startswith("  1.2 verify")


def test_ending_does_not_wait_for_writers() -> None:
    paper = Paper()
    rows = LiveRows(paper)
    ended = threading.Event()

    def work() -> None:
        with rows.doing("1.2 verify", 300):
            pass
        ended.set()

    with rows.hidden():
        threading.Thread(target=work).start()
        assert ended.wait(5)


def test_the_last_line_loses_its_colours() -> None:
    paper = Paper()
    with LiveRows(paper).doing("1.2.1 fix 1 of 3 by claude", 600) as said:
        said("\x1b[1mEditing\x1b[0m main.py\x07")
        until_drawn(paper, "Editing main.py")


def test_after_the_end_nothing_is_drawn() -> None:
    paper = Paper()
    rows = LiveRows(paper)
    with rows.doing("1.2 verify", 300):
        until_drawn(paper, "1.2 verify")
        rows.close()
        assert paper.picture.lines == [""]
        time.sleep(0.05)
    assert paper.picture.lines == [""]


def test_without_a_terminal_lines_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "LINE_INTERVAL", 0.05)
    paper = Paper()
    lines = live.ProgressLines(paper)
    with lines.doing("1.3.1 fix 1 of 3 by claude", 600, "Add a parser") as printed:
        assert printed is not None
        printed("Editing src/parser.py")
        end = time.monotonic() + 5
        while "Editing" not in "".join(paper.written) and time.monotonic() < end:
            time.sleep(0.005)
    lines.close()

    assert paper.written[-1].startswith("\nralph: 1.3.1 fix 1 of 3 by claude  ")
    assert paper.written[-1].endswith(" of 600 s  Editing src/parser.py\n")


def test_short_activities_leave_no_line() -> None:
    paper = Paper()
    lines = live.ProgressLines(paper)
    with lines.doing("1.3 verify", 300):
        pass
    lines.close()

    assert paper.written == []
