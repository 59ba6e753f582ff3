"""The text about a failed task in FAILURES."""

from __future__ import annotations

from pytest_ralph.report.failure_text import FailureText
from pytest_ralph.results import Attempt, TaskResult

OUTPUT = """\
    def test_total():
>       assert total([1, 2]) == 1.5
E       assert 2.5 == 1.5
E        +  where 2.5 = total([1, 2])
tests/test_cart.py:6: AssertionError
FAILED tests/test_cart.py::test_total - assert 2.5 == 1.5
1 failed, 1 passed in 4.63s
"""
FAILED = TaskResult(
    "1.2",
    outcome="failed",
    attempts=(
        Attempt(
            outcome="failed",
            error="assert 2.5 == 1.5",
            output=OUTPUT,
            failed_tests=("tests/test_cart.py::test_total",),
        ),
    ),
)
NAMES = "  failing tests: tests/test_cart.py::test_total"


def test_failing_tests_are_named_once() -> None:
    first = str(FailureText.of(FAILED))
    assert "  | FAILED tests/test_cart.py::test_total" in first
    assert NAMES not in first
    # Of a later failure so little is shown that it does not name the test.
    assert NAMES in str(FailureText.of(FAILED, earlier=2))
    assert NAMES in str(FailureText.of(FAILED, verbosity=-1))
