"""A line that points into a file is known by its shape, whoever printed it."""

from __future__ import annotations

import pytest

from pytest_ralph.failure.diagnostics import Diagnostic, read_diagnostics
from pytest_ralph.failure.output import CommandOutput


def read(*lines: str, quiet: tuple[int, ...] = ()) -> list[Diagnostic]:
    return list(read_diagnostics(CommandOutput("\n".join(lines)), frozenset(quiet)))


@pytest.mark.parametrize(
    ("line", "file", "shape", "level"),
    [
        ("a.py:1:1: F401 'os' imported but unused", "a.py", "lint", ""),
        ("src/a.ts(3,5): error TS2322: Type 'x' is not assignable", "src/a.ts", "types", "error"),
        ("a.py:3: error: Incompatible types in assignment  [assignment]", "a.py", "types", "error"),
        (
            "src/a.py:3:5 - error: Cannot access member (reportAttributeAccessIssue)",
            "src/a.py",
            "types",
            "error",
        ),
        ("main.c:3:10: fatal error: x.h: No such file or directory", "main.c", "build", "error"),
        ("main.c:3:10: warning: unused variable [-Wunused-variable]", "main.c", "lint", "warning"),
        ("main.c:3:10: note: declared here", "main.c", "", "note"),
        ("App.java:7: error: ';' expected", "App.java", "build", "error"),
        ("Makefile:3: *** missing separator.  Stop.", "Makefile", "", ""),
        ("CMake Error at CMakeLists.txt:3 (find_package):", "CMakeLists.txt", "build", "error"),
        ("  12:5  error  'x' is not defined  no-undef", "", "lint", "error"),
        ("  12:5  Warning  Unexpected console statement  no-console", "", "", ""),
        ("  12:5  warning  Unexpected console statement  no-console", "", "lint", "warning"),
        (" 12 | ERROR   | Missing file doc comment", "", "lint", "error"),
        ("F401 [*] `os` imported but unused 1", "", "lint", "error"),
    ],
)
def test_a_diagnostic_is_known_by_its_shape(line: str, file: str, shape: str, level: str) -> None:
    found = read("before", line)
    if not shape and not file:
        assert found == []
    else:
        assert found == [Diagnostic(1, line.strip(), file, shape, level)]


@pytest.mark.parametrize(
    "line",
    [
        "at 10:30:00 it ended",
        "https://example.org:80 is down",
        "no digits here: at all",
        "total 12",
        "host:8080 refused",
    ],
)
def test_other_lines_point_nowhere(line: str) -> None:
    assert read(line) == []


def test_what_was_only_shown_is_no_diagnostic() -> None:
    line = "a.py:1:1: F401 unused"
    assert [one.line for one in read(line, line, quiet=(0,))] == [1]


def test_a_place_with_its_message_on_the_next_line_has_that_for_its_text() -> None:
    (found, *_) = read(
        "src/a.ts:1:2 lint/style/useConst ━━━━━━━━━━", "", "  × This let declares a constant."
    )
    assert (found.line, found.file, found.text) == (0, "src/a.ts", "This let declares a constant.")


def test_the_place_of_an_error_is_not_below_it() -> None:
    assert read("Error: cannot start", "on the way", "./src/a.py:3:5") == []


def test_what_ruff_prints_above_a_change_is_no_diagnostic() -> None:
    assert read("unformatted: File would be reformatted", " --> a.py:1:1") == []
