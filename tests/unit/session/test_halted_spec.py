"""What is said about a spec that was left with failed tasks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from pytest_ralph.results import TaskResult
from pytest_ralph.session.halted_spec import HaltedSpec
from pytest_ralph.spec.document import Spec

if TYPE_CHECKING:
    from pathlib import Path

TASKS = """\
- [x] 1.3 One
  - **Verify**: `test -e one`
  - **Commit**: feat: one

- [x] 1.3 Two
  - **Verify**: `test -e two`
  - **Commit**: feat: two

- [ ] 1.4 Three
  - **Verify**: `test -e three`
"""


def test_tasks_with_the_same_id_have_their_own_commits(tmp_path: Path) -> None:
    spec = Spec.parse(TASKS, tmp_path / "tasks.md")
    run: Any = SimpleNamespace(
        specs=SimpleNamespace(reread=lambda _: spec), next_command="pytest --ralph"
    )
    results = [
        TaskResult("1.3", name=task.name, title=task.title, commit="abc123")
        for task in spec.tasks[:2]
    ]
    lines = HaltedSpec(run, "tasks.md", [*results, TaskResult("1.4", outcome="failed")]).lines()

    text = "\n".join(lines)
    assert text.count("feat: one (abc123)") == 1
    assert text.count("feat: two (abc123)") == 1
