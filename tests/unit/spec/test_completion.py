"""Whether a task is done is said by its box; of a task that has none, by the progress file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ralph.spec.completion import is_complete, with_progress, without_box
from pytest_ralph.spec.document import Spec

if TYPE_CHECKING:
    from pathlib import Path

SPEC = """\
- [x] 1.1 Ticked
  - **Verify**: `make`
- [ ] 1.2 Open
  - **Verify**: `make`

### Task 1.3: Without a box

**Verify**: `make`
"""
TICKED = SPEC.replace("[ ]", "[x]")


def loaded(directory: Path, text: str, *noted: str) -> Spec:
    (directory / "tasks.md").write_text(text)
    entries = "".join(f"- [x] {task_id} it\n" for task_id in noted)
    (directory / ".progress.md").write_text(f"## Completed Tasks\n{entries}")
    return Spec.load(directory)


def test_only_a_task_that_cannot_be_ticked_is_without_a_box(tmp_path: Path) -> None:
    assert [task.id for task in without_box(loaded(tmp_path, SPEC))] == ["1.3"]


def test_what_is_noted_counts_for_tasks_without_a_box_alone(tmp_path: Path) -> None:
    spec = with_progress(loaded(tmp_path, SPEC, "1.2", "1.3"))
    assert [task.id for task in spec.tasks if task.checked] == ["1.1", "1.3"]


@pytest.mark.parametrize(
    ("text", "noted", "complete"),
    [
        (SPEC, ["1.3"], False),
        (TICKED, [], False),
        (TICKED, ["1.3"], True),
        ("No tasks.\n", [], False),
    ],
)
def test_a_spec_is_complete_when_each_of_its_tasks_is(
    tmp_path: Path, text: str, noted: list[str], complete: bool
) -> None:
    assert is_complete(loaded(tmp_path, text, *noted)) is complete


def test_without_a_progress_file_nothing_is_noted(tmp_path: Path) -> None:
    (tmp_path / "tasks.md").write_text(TICKED)
    assert not is_complete(Spec.load(tmp_path))


def test_a_progress_file_that_cannot_be_read_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "tasks.md").write_text(TICKED)
    (tmp_path / ".progress.md").mkdir()
    assert not with_progress(Spec.load(tmp_path))["1.3"].checked
