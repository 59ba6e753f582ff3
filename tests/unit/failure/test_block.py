from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ralph.failure.executor_words import parse_block

if TYPE_CHECKING:
    from pytest_ralph.failure.failure import Failure

EXAMPLE = """\
Task 1.3: Add failure parser FAILED
- Error: File not found: src/parser.ts
- Attempted fix: CheckResult alternate paths
- Status: Blocked, needs manual intervention
"""


def read(text: str) -> Failure:
    block = parse_block(text)
    assert block is not None
    return block


def test_the_example_of_the_guide() -> None:
    block = read(EXAMPLE)
    assert block.task_id == "1.3"
    assert block.error == "File not found: src/parser.ts"
    assert block.attempted_fix == "CheckResult alternate paths"
    assert block.status == "Blocked, needs manual intervention"


@pytest.mark.parametrize(
    ("text", "error", "fix", "status"),
    [
        ("Task 1.3: x FAILED\n", "Task execution failed", "No fix attempted", "Unknown status"),
        (
            "Task 1.3: x FAILED\n- Status: stuck\n",
            "Task execution failed",
            "No fix attempted",
            "stuck",
        ),
        ("Task 1.3: x FAILED\n- Error: bad\n", "bad", "No fix attempted", "Unknown status"),
        (
            "Task 1.3: x FAILED\n- Error:\n- Attempted fix: y\n",
            "Task execution failed",
            "y",
            "Unknown status",
        ),
    ],
)
def test_every_field_has_its_fallback(text: str, error: str, fix: str, status: str) -> None:
    block = read(text)
    assert (block.error, block.attempted_fix, block.status) == (error, fix, status)


@pytest.mark.parametrize(
    "task_id", ["1.3", "1.3.1", "V4", "VE1", "VF", "T001A", "Q1.1", "6.B.7", "6.0b", "3.X"]
)
def test_any_id_of_a_task_is_read(task_id: str) -> None:
    assert read(f"Task {task_id}: Do it FAILED\n- Error: bad\n").task_id == task_id


@pytest.mark.parametrize(
    "text",
    [
        "**Task 1.3: Add it FAILED**\n* **Error**: bad\n* **Attempted fix**: none\n",
        "### Task 1.3: Add it FAILED\n  - Error: bad\n",
        "> Task 1.3: Add it FAILED\n> - Error: bad\n",
        "\x1b[31mTask 1.3: Add it FAILED\x1b[0m\r\n- Error: bad\r\n",
        "log\nlog\nTask 1.3: Add it FAILED\nError: bad\n",
    ],
)
def test_dress_does_not_matter(text: str) -> None:
    block = read(text)
    assert (block.task_id, block.error) == ("1.3", "bad")


def test_the_last_block_counts_and_ends_where_the_next_begins() -> None:
    text = (
        "Task 1.3: x FAILED\n- Error: first\nTask 1.4: y FAILED\n- Status: stuck\nTask 1.5: z\n"
        "- Error: not of 1.4\n"
    )
    block = read(text)
    assert (block.task_id, block.error, block.status) == ("1.4", "Task execution failed", "stuck")


def test_a_sentence_about_failure_is_no_block() -> None:
    text = "If a task fails, print: Task X.Y: [task name] FAILED and stop there."
    assert parse_block(text) is None
