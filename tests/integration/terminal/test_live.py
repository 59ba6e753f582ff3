"""Live rows on a real terminal: there while something runs, gone without a trace after."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.blocks import numbered
from tests.integration.terminal.seat import Picture, Seat

if TYPE_CHECKING:
    from tests.conftest import SpecMaker

SAVE_CURSOR = "\x1b7"
COLOUR = re.compile(r"\x1b\[\d+m")
A_WHILE = "sleep 1.4"


@pytest.fixture
def project(pytester: pytest.Pytester, make_spec: SpecMaker) -> Path:
    make_spec(t1_1=f"{A_WHILE}; grep right src.txt", t1_2="test -d specs")
    (pytester.path / "src.txt").write_text("wrong")
    return pytester.path


def agent(project: Path) -> str:
    (project / "agent.py").write_text(
        "import pathlib, sys, time\nsys.stdin.read()\nprint('Editing src.txt', flush=True)\n"
        "time.sleep(1.8)\n"
        "pathlib.Path('src.txt').write_text('right')\n"
    )
    return f"{shlex.quote(sys.executable)} agent.py"


def test_each_step_of_a_recovery_is_seen_while_it_runs(project: Path) -> None:
    seat = Seat(
        project, "--ralph-recovery", "--ralph-executor", agent(project), "-v", "specs", columns=100
    )
    seat.expect(
        *("1.1 verify  1 s of 300 s  Task 1.1",),
        *(
            f"1.1.1 fix 1 of 3 by {Path(sys.executable).name} agent.py  ",
            " s of 600 s  ",
            "Editing src.txt",
        ),
        *("1.1 verify, attempt 2 of 4  1 s of 300 s  ", "Task 1.1"),
    )
    assert seat.status() == 0
    lines = seat.lines
    first = lines.index(
        next(line for line in lines if line.startswith("specs/demo/tasks.md::1.1 RECOVERED"))
    )
    assert lines[first + 1].startswith("specs/demo/tasks.md::1.2 PASSED")
    assert not [line for line in lines if " s of " in line]


@pytest.mark.parametrize("mark", ["", "+"], ids=["plain", "in a diff"])
def test_no_line_of_a_private_key_is_seen(project: Path, make_spec: SpecMaker, mark: str) -> None:
    """Although the key is printed a line at a time."""
    body = [letter * 64 for letter in "ABCDEFGHIJKL"]
    begin, end = (f"-----{word} RSA PRIVATE KEY-----" for word in ("BEGIN", "END"))
    lines = [begin, "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0A1B2C", "", *body, end]
    (project / "key.txt").write_text("".join(f"{mark}{line}\n" for line in lines))
    make_spec(t1_1="while IFS= read -r line; do echo $line; sleep 0.25; done < key.txt")
    seat = Seat(project, "--ralph", "-v", "specs", columns=150)
    seat.expect("1.1 verify  ", "***")

    assert seat.status() == 0
    assert [line for line in body if line[:20] in seat.text] == []


def test_a_group_has_a_row_for_each_task(project: Path, make_spec: SpecMaker) -> None:
    make_spec(numbered(3, "sleep 1.{n}9", marks="[P]"))
    seat = Seat(project, "--ralph", "--ralph-jobs=3", "-v", "specs", columns=40)
    seat.expect(*(f"  1.{n} verify  1 s of 300 s  Task {n}" for n in (1, 2, 3)))
    assert seat.status() == 0
    when_the_second_line_begins = Picture(40)
    when_the_second_line_begins.feed(seat.text.partition("specs/demo/tasks.md::1.2 ")[0])
    assert not [line for line in when_the_second_line_begins.lines if " s of " in line]
    assert seat.lines[-5:-1] == [
        "specs/demo/tasks.md::1.1 PASSED  [ 33%]",
        "specs/demo/tasks.md::1.2 PASSED  [ 66%]",
        "specs/demo/tasks.md::1.3 PASSED  [100%]",
        "",
    ]


@pytest.mark.parametrize(
    ("args", "environ"),
    [(("-q",), {}), ((), {"TERM": "dumb"}), (("-p", "no:terminal"), {})],
    ids=["quiet", "dumb", "no terminal plugin"],
)
def test_some_terminals_get_none(
    project: Path, args: tuple[str, ...], environ: dict[str, str]
) -> None:
    seat = Seat(project, "--ralph", *args, "specs", environ=environ)
    assert seat.status() == 1
    assert SAVE_CURSOR not in seat.text


@pytest.mark.parametrize(
    ("args", "environ"),
    [(("--color=no",), {}), ((), {"NO_COLOR": "1"})],
    ids=["option", "variable"],
)
def test_without_colours_the_rows_have_none(
    project: Path, args: tuple[str, ...], environ: dict[str, str]
) -> None:
    seat = Seat(project, "--ralph", *args, "specs", environ=environ)
    seat.expect("1.1 verify  1 s of 300 s  Task 1.1")
    assert seat.status() == 1
    assert not COLOUR.search(seat.text)


def test_with_colours_they_are_dim(project: Path) -> None:
    seat = Seat(project, "--ralph", "specs")
    seat.expect("\x1b[2m  1.1 verify  1 s of 300 s  Task 1.1\x1b[0m")
    seat.status()


@pytest.mark.usefixtures("project")
def test_a_log_file_has_no_trace_of_them(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("--ralph", "specs")
    assert "\x1b" not in str(result.stdout)
    assert " s of " not in str(result.stdout)
