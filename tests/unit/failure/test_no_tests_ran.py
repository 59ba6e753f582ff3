"""What is quoted when a test runner stopped before it ran a test."""

from __future__ import annotations

import pytest

from pytest_ralph import classify

SUMMARY = "collected 1 item\n\n=========== no tests ran in 1.17s ===========\n"
REASON = "ERROR: specs/demo/tasks.md is being worked on by another run (pid 7)"


# Standard error may be read before or after standard output.
@pytest.mark.parametrize("output", [f"{REASON}\n{SUMMARY}", f"{SUMMARY}{REASON}\n"])
def test_the_reason_is_quoted(output: str) -> None:
    failure = classify(output, exit_code=4, command="python -m pytest specs/demo")
    assert failure.kind == "task_incomplete"
    assert failure.error == REASON


@pytest.mark.parametrize(
    ("output", "error"),
    [
        (SUMMARY, "no test ran: no tests ran in 1.17s"),
        ("\nno tests ran in 0.03s\n", "no test ran: no tests ran in 0.03s"),
        ("\n1 deselected in 0.01s\n", "no test ran: 1 deselected in 0.01s"),
        ("x\n======= 1 deselected in 0.01s =======\n", "no test ran: 1 deselected in 0.01s"),
    ],
)
def test_the_summary_is_quoted_without_reason(output: str, error: str) -> None:
    failure = classify(output, exit_code=5, command="pytest specs/demo")
    assert (failure.kind, failure.error) == ("task_incomplete", error)
