"""The time limit a task sets for itself, and a FAILED block in the output of its Verify."""

from __future__ import annotations

import pytest

from pytest_ralph.failure.failure import Failure
from pytest_ralph.healing.task_run import task_timeout
from pytest_ralph.healing.verification import with_failed_block
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
def test_a_task_sets_its_own_time_limit(written: str, seconds: float) -> None:
    assert task_timeout(Task("1.1", "a", fields={"Timeout": written}), 300.0) == pytest.approx(
        seconds
    )


def test_without_a_timeout_field_the_default_holds() -> None:
    assert task_timeout(Task("1.1", "a"), 17.0) == 17.0


def test_a_failed_block_overrides_the_error() -> None:
    found = Failure(kind="test_failure", error="found")
    block = "Task 1.1: It FAILED\n- Error: said\n- Attempted fix: tried\n- Status: stuck\n"
    told = with_failed_block(found, f"before\n{block}")
    assert (told.kind, told.error, told.attempted_fix, told.status) == (
        "test_failure",
        "said",
        "tried",
        "stuck",
    )


@pytest.mark.parametrize(
    "output", ["", "2 tests FAILED\n", "FAILED a.py::test_a - no\n", "Task 1.1: It passed\n"]
)
def test_output_without_a_block_changes_nothing(output: str) -> None:
    found = Failure(kind="test_failure", error="found")
    assert with_failed_block(found, output) is found
