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


def test_the_summary_is_quoted_without_reason() -> None:
    failure = classify(SUMMARY, exit_code=5, command="pytest specs/demo")
    assert "no tests ran" in failure.error
