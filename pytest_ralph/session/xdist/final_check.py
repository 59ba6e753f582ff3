"""After a run with workers: verify again what the work on another spec may have broken.

A worker knows only the tasks that it ran itself. The controller knows all results, and what each
executor run and repair changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.healing.spec_run import is_affected
from pytest_ralph.healing.task_run import task_timeout
from pytest_ralph.running.checks import RunContext, run_checks
from pytest_ralph.running.environment import task_environment
from pytest_ralph.running.runner import RunError
from pytest_ralph.settings import SettingError
from pytest_ralph.spec.document import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_ralph.results import TaskResult
    from pytest_ralph.session.run import Run
    from pytest_ralph.spec.document import Spec
    from pytest_ralph.spec.task import Task


class Work(NamedTuple):
    """An executor run or repair for a task, which ended at `ended` and changed files."""

    result: TaskResult
    ended: float
    changed: tuple[str, ...]


def broken_by_others(run: Run, results: Sequence[TaskResult]) -> Iterator[tuple[str, str]]:
    """Yield the path of each spec with a task that no longer passes, and what happened to it."""
    all_work = list(_work(results))
    specs: dict[str, Spec | None] = {}
    for result in results:
        others = _later_work_elsewhere(result, all_work)
        if not others:
            continue
        if result.spec_path not in specs:
            specs[result.spec_path] = _load(run, result.spec_path)
        spec = specs[result.spec_path]
        task = spec.get(result.name) if spec else None
        if spec is None or task is None:
            continue
        files = (*task.files, *result.changed)
        culprits = [work for work in others if is_affected(files, work.changed)]
        if culprits and not passes(run, spec, task):
            culprit = culprits[-1]
            by = f"{culprit.result.spec} {culprit.result.id}"
            changed = ", ".join(culprit.changed[:3])
            yield (
                result.spec_path,
                f"{result.spec} {result.id} no longer passes since {by} changed {changed}",
            )


def _work(results: Iterable[TaskResult]) -> Iterator[Work]:
    """Yield every executor run and repair that changed files."""
    for result in results:
        for attempt in result.attempts:
            if attempt.changed:
                yield Work(result, attempt.started + attempt.duration, attempt.changed)


def _later_work_elsewhere(result: TaskResult, all_work: Iterable[Work]) -> list[Work]:
    """Return the work on other specs that ended after a task was seen to pass."""
    if not result.passed or not result.verifications:
        return []
    verified = result.verifications[-1].started
    later = [work for work in all_work if work.ended > verified]
    return [work for work in later if work.result.spec_path != result.spec_path]


def _load(run: Run, path: str) -> Spec | None:
    try:
        return run.specs.load(run.root / path)
    except (SpecError, SettingError):
        return None


def passes(run: Run, spec: Spec, task: Task) -> bool:
    """Verify a task in the project, without recording the attempt."""
    settings = run.specs.settings_of(spec)
    context = RunContext(
        root=run.root,
        timeout=task_timeout(task, settings.timeout),
        env=task_environment(spec, task, directory=spec.directory),
        label=f"{spec.name}-{task.name}",
    )
    try:
        return run_checks(task.verify, run.resources.runner(settings.shell), context).passed
    except RunError:
        return False
