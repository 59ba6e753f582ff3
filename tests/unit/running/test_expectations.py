"""Every operator of an expectation, held against what commands really print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.running.expectations import COMPARED, Unmet, find_unmet, in_words, leading_number
from pytest_ralph.running.raw_output import RawOutput
from pytest_ralph.running.runner import CommandResult
from pytest_ralph.running.spool import Spool
from pytest_ralph.verify.model import Expect

if TYPE_CHECKING:
    from pathlib import Path

Value = int | float | str | tuple[int | float | str, ...] | None

HOLDS: list[tuple[str, Value, str]] = [
    ("==", 3, "3\n"),
    ("==", 3, "      3\n"),
    ("==", 3, "3 file.txt\n"),
    ("==", 3, "\n3\n\n"),
    ("==", 3, "3.0"),
    ("==", 1234, "1,234"),
    ("==", -1, "-1"),
    ("==", 0.5, "0.5"),
    ("==", "ok", "  ok\n"),
    ("==", "two\nlines", "two\nlines\n"),
    ("==", "ledger", '"ledger"\n'),
    ("==", '{"ok":true}', '{"ok": true}\n'),
    ("==", '{"a": [1, 2]}', '{\n  "a": [\n    1,\n    2\n  ]\n}\n'),
    ("!=", 3, "4"),
    ("!=", 0, "nothing like a number"),
    ("!=", "ok", "not ok"),
    (">=", 3, "3"),
    (">=", 80, "85%"),
    (">", 3, "4"),
    ("<=", 3, "3"),
    ("<", 3, "2"),
    ("contains", "world", "hello\nworld\n"),
    ("contains", '{"ok":true}', 'body: { "ok": true }\n'),
    ("contains", '"ok":true', '{"ok": true, "at": 7}\n'),
    ("contains", '"state": "open"', '{"state":"open"}\n'),
    ("contains", 7, "7 of 17"),
    ("contains", 7, "all 7."),
    ("not_contains", "error", "all well"),
    ("not_contains", 7, "17 of 70, 7.5"),
    ("matches", r"v\d+\.\d+", "ledger v2.1\n"),
    ("matches", "(", "a ( b\n"),
    ("empty", None, "  \n\n"),
    ("nonempty", None, "x"),
    ("in", (200, 301), "301\n"),
    ("in", ("yes", "y"), "y\n"),
    ("in", (1, 2), "2 file.txt"),
    ("lines==", 2, "a\n\nb\n"),
    ("lines==", 0, "\n"),
    ("lines>=", 2, "a\nb\nc\n"),
    ("each_line==", 0, "a.txt:0\nb.txt:0\n"),
    ("each_line==", 2, "2\n2\n"),
    ("each_line==", "status: ok", "status: ok\nstatus: ok\n"),
    ("sum==", 5, "a.txt:2\nb.txt:3\n"),
    ("sum==", 5, "5\n"),
    ("sum>=", 5, "a:b.txt:4\nb.txt:3\n"),
    ("nonzero", None, "2"),
]
DOES_NOT_HOLD: list[tuple[str, Value, str]] = [
    ("matches", r"^v\d", "ledger v2.1\n"),
    ("==", 3, "4"),
    ("==", 3, ""),
    ("==", 3, "three"),
    ("==", 3, "3\n3\n"),
    ("==", 3, "x3"),
    ("==", '{"ok":true}', '{"ok": false}'),
    ("==", '{"a b":1}', '{"ab": 1}'),
    ("==", "ok", "OK"),
    ("==", "ok", "ok then"),
    ("==", "ok", '"ok'),
    ("!=", "ok", '"ok"'),
    ("!=", 3, "3"),
    ("!=", 0, ""),
    ("!=", "ok", "ok\n"),
    (">=", 3, "2"),
    (">=", 3, "many"),
    (">", 3, "3"),
    ("<=", 3, "4"),
    ("<", 3, "3"),
    ("<", 3, ""),
    ("contains", "world", "hello"),
    ("contains", '"ok":true', '{"ok": false}'),
    ("contains", 0, "10 errors"),
    ("contains", 1, "1.5"),
    ("not_contains", "error", "an error\n"),
    ("empty", None, "x"),
    ("nonempty", None, " \n"),
    ("in", (200, 301), "404"),
    ("in", ("yes", "y"), "no"),
    ("lines==", 2, "a\n"),
    ("lines>=", 2, "a\n\n"),
    ("each_line==", 0, "a.txt:0\nb.txt:1\n"),
    ("each_line==", 0, ""),
    ("sum==", 0, ""),
    ("sum==", 5, "a.txt:2\n"),
    ("sum>=", 5, "a.txt:2\nb.txt:2\n"),
    ("nonzero", None, "0\n"),
    ("nonzero", None, ""),
]


def is_met(op: str, value: Value, printed: str) -> bool:
    expect = Expect("stdout", op, value)
    output = RawOutput([expect])
    output.write(printed.encode())
    output.close()
    return output.meets(expect)


@pytest.mark.parametrize(("op", "value", "printed"), HOLDS)
def test_what_was_printed_meets_the_expectation(op: str, value: Value, printed: str) -> None:
    assert is_met(op, value, printed)


@pytest.mark.parametrize(("op", "value", "printed"), DOES_NOT_HOLD)
def test_what_was_printed_does_not_meet_the_expectation(
    op: str, value: Value, printed: str
) -> None:
    assert not is_met(op, value, printed)


def test_every_operator_of_the_contract_is_in_both_tables() -> None:
    contract = {
        *(
            (
                "== != >= > <= < contains not_contains empty nonempty in lines== lines>= "
                "each_line== sum== sum>="
            ).split()
        ),
        "nonzero",
        "matches",
    }
    assert {op for op, *_ in HOLDS} == contract == {op for op, *_ in DOES_NOT_HOLD}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("3", 3),
        ("0x10", None),
        ("1e3", None),
        ("", None),
        ("1 2", 1),
        ("12 passed", 12),
        (" count \n-------\n     3\n(1 row)\n\n", 3),
        (" n | m \n---+---\n 3 | 4\n(1 row)\n", None),
        (" count \n-------\n     3\n     4\n(2 rows)\n", None),
        ("COUNT(*)\n3\n", 3),
        ("names\n3\n", None),
    ],
)
def test_the_number_a_command_printed(text: str, number: float | None) -> None:
    assert leading_number(text) == number


def ended(
    tmp_path: Path, *, status: int | None = 0, out: str = "", err: str | None = None, **how: Any
) -> CommandResult:
    spools = []
    for name, text in (("out", out), ("err", err)):
        (tmp_path / name).write_text(text or "", encoding="utf-8")
        spools.append(None if text is None else Spool(tmp_path / name, len(text.encode())))
    assert spools[0]
    how = {"timed_out": False, "interrupted": False, **how}
    return CommandResult(
        "a command", status, None, duration=2.0, stdout=spools[0], stderr=spools[1], **how
    )


def missed(expects: tuple[Expect, ...], ended: CommandResult) -> tuple[Unmet, ...]:
    """Return the expectations that the stored output of a command does not meet."""
    printed = {}
    for stream, spool in (("stdout", ended.stdout), ("stderr", ended.stderr)):
        output = RawOutput(expect for expect in expects if expect.stream == stream)
        if spool is not None:
            output.write(spool.path.read_bytes())
        output.close()
        printed[stream] = output
    return find_unmet(expects, ended, printed)


@pytest.mark.parametrize(
    ("expects", "facts", "told"),
    [
        ((), {}, []),
        ((), {"status": 3}, ["exit status 0, got 3"]),
        ((Expect("exit", "==", 3),), {"status": 3}, []),
        ((Expect("exit", "==", 3),), {}, ["exit status 3, got 0"]),
        ((Expect("exit", "nonzero"),), {"status": 1}, []),
        ((Expect("exit", "nonzero"),), {}, ["an exit status other than 0, got 0"]),
        ((Expect("exit", "in", (0, 1)),), {"status": 1}, []),
        ((Expect("exit", "in", (0, 1)),), {"status": 2}, ["exit status 0 or 1, got 2"]),
        ((Expect("exit", "!=", 1),), {"status": 1}, ["an exit status other than 1, got 1"]),
        # With an expectation on the output the exit status does not count, unless one is on it too.
        ((Expect("stdout", "==", 0),), {"status": 1, "out": "0\n"}, []),
        (
            (Expect("stdout", "==", 0), Expect("exit", "==", 0)),
            {"status": 1, "out": "0\n"},
            ["exit status 0, got 1"],
        ),
        ((Expect("stdout", "empty"),), {"err": "a warning"}, []),
        ((Expect("stderr", "contains", "warning"),), {"err": "a warning"}, []),
        (
            (Expect("stderr", "empty"),),
            {"err": "a warning"},
            ["nothing on stderr, got 'a warning'"],
        ),
        ((Expect("stdout", "nonempty"),), {}, ["something on stdout, got nothing"]),
        (
            (Expect("stdout", "lines>=", 3),),
            {"out": "a\n"},
            ["at least 3 lines on stdout, got 1 line"],
        ),
        (
            (Expect("stdout", "sum==", 3),),
            {"out": "a:1\nb:1"},
            ["counts on stdout that add up to 3, got 2"],
        ),
        ((), {"timed_out": True}, ["the command to finish, got a timeout after 2.0 s"]),
        (
            (Expect("stdout", "empty"),),
            {"status": None, "interrupted": True},
            ["the command to finish, got an interrupt after 2.0 s"],
        ),
    ],
)
def test_what_was_expected_and_what_came_is_told(
    tmp_path: Path, expects: tuple[Expect, ...], facts: dict[str, Any], told: list[str]
) -> None:
    assert [*map(str, missed(expects, ended(tmp_path, **facts)))] == told


@pytest.mark.parametrize(
    ("expect", "words"),
    [
        (Expect("stdout", "==", 3), "stdout to be 3"),
        (Expect("stdout", ">=", 3), "stdout >= 3"),
        (Expect("stdout", "contains", "ok"), "'ok' in stdout"),
        (Expect("stderr", "not_contains", "ok"), "no 'ok' in stderr"),
        (Expect("stdout", "in", ("a", "b")), "stdout to be 'a' or 'b'"),
        (Expect("stdout", "lines==", 1), "1 line on stdout"),
        (Expect("stdout", "each_line==", 0), "every line of stdout to be 0"),
        (Expect("exit", ">=", 1), "exit status >= 1"),
    ],
)
def test_an_expectation_reads_as_words(expect: Expect, words: str) -> None:
    assert in_words(expect) == words


@pytest.mark.parametrize(
    ("expect", "good"),
    [
        (Expect("stdout", "contains", "needle"), True),
        (Expect("stdout", "not_contains", "needle"), False),
        (Expect("stdout", "lines==", COMPARED // 4 * 2 + 1), True),
    ],
)
def test_a_huge_output_is_searched_to_the_middle(
    tmp_path: Path, expect: Expect, good: bool
) -> None:
    half = "hay\n" * (COMPARED // 4)
    assert (missed((expect,), ended(tmp_path, out=f"{half}needle\n{half}")) == ()) is good


def test_a_long_output_is_quoted_by_its_ends(tmp_path: Path) -> None:
    (told,) = missed((Expect("stdout", "contains", "ok"),), ended(tmp_path, out="x" * 500 + "end"))
    assert len(told.got) < 100
    assert told.got.endswith("end'")
