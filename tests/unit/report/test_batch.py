"""What is told of a group when some of its tasks fail, however many there are."""

from __future__ import annotations

import pytest

from pytest_ralph.report import batch


def test_what_has_not_begun_is_waited_for_too() -> None:
    lines = batch.partial_failure({"1.1": "failed", "1.2": "waiting"})
    assert lines[-1] == "Waiting for 1.2 to complete..."


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["1.1"], "1.1"),
        (["1.1", "1.2"], "1.1 and 1.2"),
        (["1.1", "1.2", "1.3"], "1.1, 1.2 and 1.3"),
    ],
)
def test_names_are_listed_as_in_a_sentence(names: list[str], said: str) -> None:
    lines = batch.retry_results(dict.fromkeys(names, "retry failed"))
    assert f"Task{'s' if len(names) > 1 else ''} {said} failed after retry." in lines


def test_where_all_retries_succeed_nothing_is_halted() -> None:
    assert batch.retry_results({"1.1": "", "1.2": ""}) == [
        "Retry results:",
        "  Task 1.1: complete (retry succeeded)",
        "  Task 1.2: complete (retry succeeded)",
    ]


def test_a_lone_task_has_no_siblings_to_preserve() -> None:
    lines = batch.retry_after_siblings({"1.1": "failed", "1.2": "skipped"}, "1.1")
    assert lines[-1] == "Initiating retry for Task 1.1..."
