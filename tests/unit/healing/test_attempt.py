"""How long a task may take, by its own words, and what a block in its output says of the failure."""

from __future__ import annotations

import pytest

from pytest_ralph.failure.failure import Failure
from pytest_ralph.healing.attempt import as_reported, task_timeout
from pytest_ralph.spec.task import Task


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("90", 90.0),
        ("90s", 90.0),
        ("`90 s`", 90.0),
        ("1.5 min", 90.0),
        ("2 minutes at most", 120.0),
        ("2M", 120.0),
        ("30 sec", 30.0),
        ("500ms", 0.5),
        ("1h", 3600.0),
        ("2 hours", 7200.0),
        ("", 300.0),
        ("soon", 300.0),
        ("0", 300.0),
    ],
)
def test_a_task_may_say_how_long_it_may_take(written: str, seconds: float) -> None:
    assert task_timeout(Task("1.1", "a", fields={"Timeout": written}), 300.0) == pytest.approx(
        seconds
    )


def test_a_task_that_does_not_say_has_the_time_of_all() -> None:
    assert task_timeout(Task("1.1", "a"), 17.0) == 17.0


def test_a_block_in_the_output_says_more_than_was_found() -> None:
    found = Failure(kind="test_failure", error="found")
    block = "Task 1.1: It FAILED\n- Error: said\n- Attempted fix: tried\n- Status: stuck\n"
    told = as_reported(found, f"before\n{block}")
    assert (told.kind, told.error, told.attempted_fix, told.status) == (
        "test_failure",
        "said",
        "tried",
        "stuck",
    )


@pytest.mark.parametrize(
    "output", ["", "2 tests FAILED\n", "FAILED a.py::test_a - no\n", "Task 1.1: It passed\n"]
)
def test_an_output_without_a_block_changes_nothing(output: str) -> None:
    found = Failure(kind="test_failure", error="found")
    assert as_reported(found, output) is found
