"""What the results of a run add up to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from pytest_ralph.results import TaskReport, TaskResult
from pytest_ralph.session.summary import RunResults


def results(*reports: TaskReport) -> RunResults:
    run: Any = SimpleNamespace()
    found = RunResults(run)
    found.reports = {report.result.id: report for report in reports}
    return found


def report(
    task_id: str, outcome: str, spec_path: str = "specs/a/tasks.md", **more: Any
) -> TaskReport:
    result = TaskResult(task_id, spec_path=spec_path, outcome=outcome)
    return TaskReport(result, **{"recovery": True, **more})


def test_halted_specs_are_determined_once() -> None:
    found = results(report("1.1", "failed"))
    assert found.halted_specs is found.halted_specs


def test_a_spec_with_a_failed_task_is_halted() -> None:
    found = results(
        report("1.1", "passed", "specs/b/tasks.md"),
        report("1.2", "failed", "specs/b/tasks.md", max_attempts=4),
        report("1.3", "passed", "specs/c/tasks.md"),
        report("1.4", "failed", "specs/a/tasks.md", max_attempts=2),
    )
    halted = found.halted_specs
    assert [(spec.path, spec.max_attempts) for spec in halted] == [
        ("specs/a/tasks.md", 2),
        ("specs/b/tasks.md", 4),
    ]
    assert [result.id for result in halted[1].results] == ["1.1", "1.2"]


def test_without_recovery_no_spec_is_halted() -> None:
    assert results(report("1.1", "failed", recovery=False)).halted_specs == []
