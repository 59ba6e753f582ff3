"""An unmet expectation is the error, unless the command printed a better one."""

from __future__ import annotations

import pytest

from pytest_ralph import classify


@pytest.mark.parametrize(
    ("command", "output", "status", "unmet", "kind", "error"),
    [
        (
            "ls | wc -l",
            "2\n",
            0,
            "stdout >= 5, got '2'",
            "task_incomplete",
            "expected stdout >= 5, got '2'",
        ),
        (
            "echo no",
            "no\n",
            0,
            "'yes' in stdout, got 'no'",
            "task_incomplete",
            "expected 'yes' in stdout, got 'no'",
        ),
        (
            "grep -c x f.txt",
            "0\n",
            1,
            "stdout to be 2, got '0'",
            "task_incomplete",
            "expected stdout to be 2, got '0'",
        ),
        (
            "grep -c x gone.txt",
            "grep: gone.txt: No such file or directory\n",
            2,
            "stdout to be 2, got nothing",
            "task_incomplete",
            "grep: gone.txt: No such file or directory",
        ),
        (
            "! grep -q x gone.txt",
            "grep: gone.txt: No such file or directory\n",
            0,
            "exit status 0",
            "task_incomplete",
            "grep: gone.txt: No such file or directory",
        ),
        (
            "curl -s localhost:1 || echo no",
            "no\ncurl: (7) Failed to connect to localhost port 1: Connection refused\n",
            0,
            "'ok' in stdout, got 'no'",
            "service_unavailable",
            "curl: (7) Failed to connect to localhost port 1: Connection refused",
        ),
        (
            "python -m pytest -q | tail -1",
            "3 passed in 0.1s\n",
            0,
            "'4 passed' in stdout, got '3 passed in 0.1s'",
            "test_failure",
            "expected '4 passed' in stdout, got '3 passed in 0.1s'",
        ),
    ],
)
def test_what_was_expected_is_the_error_where_nothing_better_is_said(
    command: str, output: str, status: int, unmet: str, kind: str, error: str
) -> None:
    failure = classify(output, status, command, unmet=(unmet,))
    assert (failure.kind, failure.error) == (kind, error)


@pytest.mark.parametrize(
    ("command", "output", "status"),
    [
        ("ls specs", "s\n", 0),
        ("true", "", 0),
        ("cat build.log", "src/a.c:3:1: error: expected ';'\n", 0),
        ("pytest -q", "FAILED test_a.py::test_a - assert 1 == 2\n1 failed in 0.1s\n", 1),
    ],
)
def test_a_file_that_is_not_there_is_the_error(command: str, output: str, status: int) -> None:
    failure = classify(output, status, command, unwritten=("out/nofile.txt",))
    assert (failure.kind, failure.type) == ("task_incomplete", "VERIFICATION_FAILED")
    assert failure.error == "file out/nofile.txt does not exist"


def test_a_number_among_numbers_is_no_limit_of_a_service() -> None:
    output = "\n".join(map(str, range(400, 600)))
    assert classify(f"{output}\nERROR: it broke\n", 3, "seq 400 600").error == "ERROR: it broke"


@pytest.mark.parametrize(
    "command",
    [
        "cat docs/guide.md",
        "cd docs && sed -n 1,3p guide.md",
        "git show HEAD:docs/guide.md",
        "git diff | grep Error",
        "awk 'NR == 1' docs/guide.md",
    ],
)
def test_words_of_a_printed_file_are_no_cause(command: str) -> None:
    output = "Error: Cannot find module 'x'\nconnection refused\n"
    failure = classify(output, 0, command, unmet=("'yes' in stdout",))
    assert (failure.kind, failure.error) == ("task_incomplete", "expected 'yes' in stdout")


def test_what_a_printing_tool_says_of_itself_is_the_cause() -> None:
    output = "cat: a.md: No such file or directory\n0\n"
    failure = classify(output, 0, "cat a.md | wc -l", unmet=("stdout >= 1, got '0'",))
    assert failure.error == "cat: a.md: No such file or directory"


def test_a_negated_search_in_the_files_that_are_found_shows_their_content() -> None:
    command = "! find src -name '*.py' | xargs grep SyntaxError"
    failure = classify("src/app.py:SyntaxError: x\n", 1, command)
    assert failure.type == "VERIFICATION_FAILED"
