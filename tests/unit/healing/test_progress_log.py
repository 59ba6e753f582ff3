"""The progress file during a run: entries follow one another and nothing else moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ralph.healing.progress_log import ProgressLog
from pytest_ralph.spec.task import Task

if TYPE_CHECKING:
    from pathlib import Path

BEFORE = "# Progress\n\n## Completed Tasks\n- [x] 1.0 Begin\n\n## Learnings\n- Mind the gap\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / ".progress.md"
    file.write_text(BEFORE)
    return file


def tasks(*numbers: int) -> list[Task]:
    return [Task(f"1.{number}", f"Task {number}") for number in numbers]


def test_many_entries_stand_one_behind_the_other_and_what_is_below_stays(path: Path) -> None:
    log = ProgressLog(path)
    log.completed(tasks(1))
    log.completed(tasks(2, 3))
    log.completed(tasks(4))
    entries = "".join(f"- [x] 1.{number} Task {number}\n" for number in (1, 2, 3, 4))
    assert path.read_text() == BEFORE.replace("Begin\n", f"Begin\n{entries}")


def test_an_entry_with_its_commit_takes_the_place_of_the_one_without(path: Path) -> None:
    log = ProgressLog(path)
    log.completed(tasks(1, 2))
    log.completed(tasks(1), "abc123")
    log.completed(tasks(3))
    log.completed(tasks(2))
    entries = "- [x] 1.1 Task 1 - abc123\n- [x] 1.2 Task 2\n- [x] 1.3 Task 3\n"
    assert path.read_text() == BEFORE.replace("Begin\n", f"Begin\n{entries}")


def test_what_somebody_writes_in_between_is_kept(path: Path) -> None:
    log = ProgressLog(path)
    log.completed(tasks(1))
    path.write_text(
        path.read_text().replace("# Progress\n", "# Progress of mine\n\nWith an introduction.\n")
    )
    log.completed(tasks(2))
    text = path.read_text()
    assert text.startswith("# Progress of mine\n\nWith an introduction.\n")
    assert "- [x] 1.1 Task 1\n- [x] 1.2 Task 2\n\n## Learnings\n" in text


def test_fixes_are_noted_and_entries_go_on_where_they_were(path: Path) -> None:
    log = ProgressLog(path)
    log.completed(tasks(1))
    log.fixes(Task("1.1", "Task 1"), ["1.1.1"], "PASS")
    log.fixes(Task("1.2", "Task 2"), [], "PASS")
    log.completed(tasks(2))
    text = path.read_text()
    assert "- [x] 1.1 Task 1\n- [x] 1.2 Task 2\n" in text
    assert "- Task 1.1: 1 fix attempted (1.1.1) - Final: PASS\n" in text
    assert "- Task 1.2:" not in text
    assert log.learnings() == ["Mind the gap"]


def test_nothing_new_is_not_written(path: Path) -> None:
    log = ProgressLog(path)
    log.completed(tasks(1))
    before = path.stat().st_mtime_ns, path.stat().st_ino
    log.completed(tasks(1))
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before
