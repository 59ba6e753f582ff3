"""What only the HTML report shows: fields of tasks, earlier runs, where the run took place."""

from __future__ import annotations

import platform
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_ralph import __version__
from pytest_ralph.fixing.errors import GitError
from pytest_ralph.report.html import write_report

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pytest_ralph.history.stats import RunCounts
    from pytest_ralph.report.run_summary import RunSummary
    from pytest_ralph.results import TaskResult
    from pytest_ralph.session.run import Run
    from pytest_ralph.session.run_results import RunResults
    from pytest_ralph.spec.document import Spec
    from pytest_ralph.spec.task import Task


def write_html_report(path: Path, run: Run, results: RunResults) -> None:
    """Write the HTML report of a run. Raise OSError or ValueError if that fails."""
    statistics = run.resources.advisor.statistics()
    summary = results.summary
    write_report(
        path,
        summary._replace(
            tasks=tuple(_with_fields(run, summary.tasks)),
            runs=_with_duration(statistics.runs, summary) if statistics else (),
            failure_kinds=statistics.kinds if statistics else (),
            environment=_environment(run),
            halts=results.halts(),
        ),
    )


def _with_fields(run: Run, results: Sequence[TaskResult]) -> list[TaskResult]:
    """Add the fields of the tasks, as they are in the specs by now."""
    specs: dict[str, Spec | None] = {}
    tasks = []
    for result in results:
        path = result.spec_path
        if path not in specs:
            specs[path] = run.specs.reread(path)
        spec = specs[path]
        # Without the spec, the report does without the fields of its tasks.
        task = spec.get(result.name or result.id) if spec else None
        tasks.append(_with_fields_of(task, result, run.resources.mask) if task else result)
    return tasks


def _with_fields_of(task: Task, result: TaskResult, mask: Callable[[str], str]) -> TaskResult:
    return result._replace(
        do=mask(task.fields.get("Do", "")),
        done_when=mask(task.fields.get("Done when", "")),
        verify=mask(task.verify.text),
        unread=tuple(map(mask, task.verify.unread)),
    )


def _with_duration(runs: tuple[RunCounts, ...], summary: RunSummary) -> tuple[RunCounts, ...]:
    """Give this run, the last one, its duration.

    The history knows only the time between its first and its last attempt.
    """
    if not runs or runs[-1].started < summary.started:
        return runs
    return (*runs[:-1], replace(runs[-1], duration=summary.duration))


def _environment(run: Run) -> tuple[tuple[str, str], ...]:
    """Return where the run took place, for a reader who was not there."""
    facts = [
        *_position_in_git(run),
        ("Host", platform.node()),
        ("System", platform.platform(terse=True)),
        ("Python", platform.python_version()),
        ("pytest", pytest.__version__),
        ("pytest-ralph", __version__),
    ]
    if run.settings.recovery is not False or run.settings.execute:
        facts.append(("Executor", ", then ".join(run.settings.executor)))
    mask = run.resources.mask
    return tuple((name, mask(value)) for name, value in facts if value)


def _position_in_git(run: Run) -> list[tuple[str, str]]:
    git = run.resources.git
    if git is None:
        return []
    try:
        position = git.position()
    except GitError:
        # An executor may have removed the repository.
        return []
    return [("Branch", position.branch), ("Commit", position.commit[:12])]
