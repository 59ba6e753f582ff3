"""What the results of a run add up to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from pytest_ralph.results import TaskResult
from pytest_ralph.session.run_results import RunResults


def results(*tasks: TaskResult) -> RunResults:
    run: Any = SimpleNamespace()
    found = RunResults(run)
    found.by_nodeid = {task.id: task for task in tasks}
    return found


def result(
    task_id: str, outcome: str, spec_path: str = "specs/a/tasks.md", *, recovery: bool = True
) -> TaskResult:
    return TaskResult(task_id, spec_path=spec_path, outcome=outcome, recovery=recovery)


def test_halted_specs_are_determined_once() -> None:
    found = results(result("1.1", "failed"))
    assert found.halted_specs is found.halted_specs


def test_a_spec_with_a_failed_task_is_halted() -> None:
    found = results(
        result("1.1", "passed", "specs/b/tasks.md"),
        result("1.2", "failed", "specs/b/tasks.md"),
        result("1.3", "passed", "specs/c/tasks.md"),
        result("1.4", "failed", "specs/a/tasks.md"),
    )
    halted = found.halted_specs
    assert [spec.path for spec in halted] == ["specs/a/tasks.md", "specs/b/tasks.md"]
    assert [result.id for result in halted[1].results] == ["1.1", "1.2"]


def test_without_recovery_no_spec_is_halted() -> None:
    assert results(result("1.1", "failed", recovery=False)).halted_specs == []
