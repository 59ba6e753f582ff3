"""The progress file during a run: entries follow one another and nothing else moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ralph import files
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


def task(number: int) -> Task:
    return Task(f"1.{number}", f"Task {number}")


def complete(log: ProgressLog, *numbers: int) -> None:
    log.passed([task(number) for number in numbers], task(numbers[0]), ())


def test_entries_follow_each_other_above_what_follows(path: Path) -> None:
    log = ProgressLog(path)
    complete(log, 1)
    complete(log, 2, 3)
    complete(log, 4)
    entries = "".join(f"- [x] 1.{number} Task {number}\n" for number in (1, 2, 3, 4))
    assert path.read_text() == BEFORE.replace("Begin\n", f"Begin\n{entries}")


def test_entry_gets_its_commit(path: Path) -> None:
    log = ProgressLog(path)
    complete(log, 1, 2)
    log.committed(task(1), "abc123")
    complete(log, 3)
    complete(log, 2)
    entries = "- [x] 1.1 Task 1 - abc123\n- [x] 1.2 Task 2\n- [x] 1.3 Task 3\n"
    assert path.read_text() == BEFORE.replace("Begin\n", f"Begin\n{entries}")


def test_what_somebody_writes_in_between_is_kept(path: Path) -> None:
    log = ProgressLog(path)
    complete(log, 1)
    path.write_text(
        path.read_text().replace("# Progress\n", "# Progress of mine\n\nWith an introduction.\n")
    )
    complete(log, 2)
    text = path.read_text()
    assert text.startswith("# Progress of mine\n\nWith an introduction.\n")
    assert "- [x] 1.1 Task 1\n- [x] 1.2 Task 2\n\n## Learnings\n" in text


def test_fixes_have_a_section_of_their_own(path: Path) -> None:
    log = ProgressLog(path)
    log.passed([task(1)], task(1), ["1.1.1"])
    log.gave_up(task(3), ["1.3.1", "1.3.2"], "max limit")
    log.gave_up(task(4), [], "max limit")
    complete(log, 2)
    text = path.read_text()
    assert "- [x] 1.1 Task 1\n- [x] 1.2 Task 2\n" in text
    assert (
        "\n## Fix Task History\n- Task 1.1: 1 fix attempted (1.1.1) - Final: PASS\n"
        "- Task 1.3: 2 fixes attempted (1.3.1, 1.3.2) - Final: FAIL (max limit)\n\n## Learnings"
    ) in text
    assert "- Task 1.2:" not in text
    assert "- Task 1.4:" not in text
    assert log.learnings() == ["Mind the gap"]


def test_nothing_new_is_not_written(path: Path) -> None:
    log = ProgressLog(path)
    complete(log, 1)
    before = path.stat().st_mtime_ns, path.stat().st_ino
    complete(log, 1)
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before


def test_pass_is_written_at_once(path: Path) -> None:
    log = ProgressLog(path)
    names: list[str] = []
    files.on_fault_point = names.append
    try:
        log.passed([task(1)], task(1), ["1.1.1"])
    finally:
        files.on_fault_point = None
    assert names.count("after write .progress.md") == 1
    assert "1.1 Task 1" in path.read_text()
    assert "Task 1.1: 1 fix" in path.read_text()


def test_crlf_stays_crlf(path: Path) -> None:
    path.write_bytes(b"# Progress\r\n\r\n## Completed Tasks\r\n- [x] 0 Before\r\n")
    log = ProgressLog(path)
    for number in (1, 2, 3):
        complete(log, number)
    assert path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n") == 7
