"""At the end of a run: recover tasks that passed and that later work may have broken.

In a run without workers, these are tasks whose files are not known. With workers, the controller
looks at all tasks: a worker knows only those that it ran itself, and the controller has all
results, and what each executor run and repair changed.

The reports of these tasks are corrected. By then pytest has logged them: the summary, the JUnit
file and `--lf` count the tasks as passed. None of the files has been written yet.
"""

from __future__ import annotations

import time
from copy import copy
from dataclasses import replace
from functools import cached_property
from stat import S_ISREG
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.files import SPEC_FILES
from pytest_ralph.fixing.errors import GitError
from pytest_ralph.healing.regressions import MAX_ROUNDS, Work, is_affected
from pytest_ralph.report import junit
from pytest_ralph.report.failure_text import FailureText
from pytest_ralph.session.messages import terminal_reporter
from pytest_ralph.session.reporting import JunitAttempts
from pytest_ralph.settings import SettingError
from pytest_ralph.spec.document import Spec, SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import pytest

    from pytest_ralph.results import TaskReport, TaskResult
    from pytest_ralph.session.run import Run
    from pytest_ralph.session.summary import RunResults
    from pytest_ralph.spec.task import Task


# Seconds by which the time of a file may be behind the clock.
CLOCK_TICK = 0.02


class ReportedWork(NamedTuple):
    """An executor run or repair for a task, which ended at `ended` and changed files."""

    result: TaskResult
    ended: float
    changed: tuple[str, ...]
    diff: str


class RewrittenFile(NamedTuple):
    """A file that was changed after a task that names it was verified last.

    `by` is the task whose Verify ran meanwhile, if there is one.
    """

    path: str
    by: TaskResult | None


def heal_rest(run: Run, results: RunResults) -> Iterator[tuple[str, TaskResult]]:
    """Verify again what may be broken; yield what broke a task, and its result after recovery.

    The caller adds what is yielded to `results`.
    """
    if run.has_workers:
        yield from _WorkersCheck(run, results.tasks).heal()
        return
    for _ in range(MAX_ROUNDS):
        _suspect_rewritten(run, results.tasks)
        found = False
        for healed in run.resources.regressions.heal_rest():
            found = True
            yield healed.line, healed.result
        if not found:
            return


def _suspect_rewritten(run: Run, results: Sequence[TaskResult]) -> None:
    """Have tasks verified again whose files something other than an executor changed."""
    rewritten = RewrittenFiles(run, results)
    for result in results:
        spec_run = run.spec_runs.get(run.root / result.spec_path)
        task = spec_run.spec_files.spec.get(result.name) if spec_run else None
        if spec_run is None or task is None or not result.passed or not result.verifications:
            continue
        for path, by in rewritten.since_pass(task, result):
            culprit = run.spec_runs.get(run.root / by.spec_path) if by else None
            work = Work(spec_run, None, (path,))
            if culprit is not None and by is not None:
                work = Work(culprit, culprit.spec_files.spec.get(by.name), (path,))
            run.resources.regressions.add_suspect(spec_run, result.name, work)


class RewrittenFiles:
    """Finds files that something other than an executor changed, such as a Verify command."""

    def __init__(self, run: Run, results: Sequence[TaskResult]) -> None:
        self._run = run
        self._results = results

    def since_pass(self, task: Task, result: TaskResult) -> list[RewrittenFile]:
        """Return the files of a task that were changed or removed after its last Verify.

        A task whose files are not known may be broken by every file that git tracks.
        """
        last = result.verifications[-1]
        verified_until = last.started + last.duration
        paths = task.files
        if not paths and not result.changed:
            paths = self._tracked
        found = []
        for path in paths:
            if path.rpartition("/")[2] in SPEC_FILES:
                # Every run writes them.
                continue
            modified = _modified(self._run.root / path, was_there=path not in result.absent)
            if modified > max(verified_until, self._worked_until(path)):
                found.append(RewrittenFile(path, self._verified_at(modified)))
        return found

    @cached_property
    def _tracked(self) -> tuple[str, ...]:
        """The tracked files that differ from what is staged; only those can have been changed."""
        git = self._run.resources.git
        if git is None:
            return ()
        try:
            return git.changed_tracked_files()
        except GitError:
            return ()

    def _worked_until(self, path: str) -> float:
        """Return when the last executor run or repair that changed the file ended."""
        ends = [work.ended for work in _work(self._results) if path in work.changed]
        return max(ends, default=0.0)

    def _verified_at(self, moment: float) -> TaskResult | None:
        """Return the task whose Verify ran at that moment; None if there were several."""
        found = []
        for result in self._results:
            for attempt in result.verifications:
                ended = attempt.started + attempt.duration
                if attempt.started - CLOCK_TICK <= moment <= ended:
                    found.append(result)
        return found[0] if len(found) == 1 else None


def _modified(path: Path, *, was_there: bool) -> float:
    """Return when a file was written, or removed at the latest; 0 if there never was one.

    A directory that a task names does not count: it changes with every file that a tool leaves
    there.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        if not was_there:
            return 0.0
        parents = [parent for parent in path.parents if parent.is_dir()]
        return parents[0].stat().st_mtime
    except (OSError, ValueError):
        return 0.0
    return status.st_mtime if S_ISREG(status.st_mode) else 0.0


class _WorkersCheck:
    """The check in the controller, after all workers have ended."""

    def __init__(self, run: Run, results: Sequence[TaskResult]) -> None:
        self._run = run
        self._work = list(_work(results))
        self._specs: dict[str, Spec | None] = {}
        self._rewritten_files = RewrittenFiles(run, results)
        # The tasks whose files have been compared: once is enough.
        self._rechecked: set[int] = set()
        # The tasks to watch, and when each of them was verified last.
        self._passed = [one for one in results if one.passed and one.verifications]
        self._verified = [one.verifications[-1].started for one in self._passed]

    def heal(self) -> Iterator[tuple[str, TaskResult]]:
        for _ in range(MAX_ROUNDS):
            work_before = len(self._work)
            for number in range(len(self._passed)):
                healed = self._heal(number)
                if healed is not None:
                    yield healed
            if len(self._work) == work_before:
                return

    def _heal(self, number: int) -> tuple[str, TaskResult] | None:
        result = self._passed[number]
        spec = self._spec(result.spec_path)
        task = spec.get(result.name) if spec else None
        if spec is None or task is None:
            return None

        culprits = self._culprits(number, task)
        change = _named_change(culprits[-1]) if culprits else self._rewritten_file(number, task)
        if not change:
            return None

        line = f"{result.spec} {result.id} no longer passes since {change}"
        diff = "".join(work.diff for work in culprits)
        self._verified[number] = time.time()
        task = replace(task, checked=self._was_checked(result))
        healed = self._run.spec_run(spec).heal(task, line, diff)
        if healed is None:
            return None
        self._work += _work([healed])
        self._verified[number] = time.time()
        return line, healed

    def _culprits(self, number: int, task: Task) -> list[ReportedWork]:
        """Return the work on other tasks, later than the last Verify, that may have broken it."""
        result = self._passed[number]
        later = [work for work in self._work if work.ended > self._verified[number]]
        later = [work for work in later if not _is_same_task(work.result, result)]
        if task.files:
            # Its worker has seen to the work on its own spec.
            later = [work for work in later if work.result.spec_path != result.spec_path]
        files = (*task.files, *result.changed)
        return [work for work in later if is_affected(files, work.changed)]

    def _rewritten_file(self, number: int, task: Task) -> str:
        """Say which file of a task something other than an executor changed; "" if none."""
        rewritten = self._rewritten(number, task)
        if rewritten is None:
            return ""
        by = f"{rewritten.by.spec} {rewritten.by.id}" if rewritten.by else "something"
        return f"{by} changed {rewritten.path}"

    def _rewritten(self, number: int, task: Task) -> RewrittenFile | None:
        """Return a file of a task that something other than an executor changed later.

        Files that were changed for the task itself may have been merged later.
        """
        if number in self._rechecked:
            return None
        self._rechecked.add(number)
        result = self._passed[number]
        for file in self._rewritten_files.since_pass(task, result):
            if file.path not in result.changed:
                return file
        return None

    def _was_checked(self, result: TaskResult) -> bool:
        """Return whether a task was checked off before the run, and not by one of its workers."""
        source = self._run.specs.snapshots.get(result.spec_path, "")
        before = Spec.parse(source, self._run.root / result.spec_path).get(result.name)
        return before is not None and before.checked

    def _spec(self, path: str) -> Spec | None:
        if path not in self._specs:
            try:
                self._specs[path] = self._run.specs.load(self._run.root / path)
            except (SpecError, SettingError):
                self._specs[path] = None
        return self._specs[path]


def _named_change(work: ReportedWork) -> str:
    changed = ", ".join(work.changed[:3])
    return f"{work.result.spec} {work.result.id} changed {changed}"


def _work(results: Iterable[TaskResult]) -> Iterator[ReportedWork]:
    """Yield every executor run and repair that changed files."""
    for result in results:
        for attempt in result.attempts:
            if attempt.changed:
                ended = attempt.started + attempt.duration
                yield ReportedWork(result, ended, attempt.changed, attempt.diff)


def _is_same_task(one: TaskResult, other: TaskResult) -> bool:
    return one.spec_path == other.spec_path and one.name == other.name


def correct_report(run: Run, report: pytest.TestReport, found: TaskReport) -> pytest.TestReport:
    """Replace `report`, the last one of a task, by one with its final result, and return that."""
    config = run.config
    corrected = copy(report)
    corrected.ralph = found  # type: ignore[attr-defined]
    corrected.duration = found.result.duration
    foreign = [pair for pair in report.user_properties if not pair[0].startswith("ralph.")]
    corrected.user_properties = [*foreign, *junit.properties(found.result)]
    if found.result.bad:
        corrected.outcome = "failed"
        corrected.longrepr = FailureText.of(found.result, run.root)  # type: ignore[assignment]

    writer = config.pluginmanager.get_plugin(JunitAttempts.name)
    if writer is not None:
        writer.testcases.replace(corrected, found.result)
    last_failed = config.pluginmanager.get_plugin("lfplugin")
    if last_failed is not None:
        last_failed.pytest_runtest_logreport(corrected)
    _replace_in_summary(config, report, corrected)
    return corrected


def _replace_in_summary(
    config: pytest.Config, report: pytest.TestReport, corrected: pytest.TestReport
) -> None:
    """Move the report to the category in which pytest's summary shows and counts it."""
    reporter = terminal_reporter(config)
    if reporter is None:
        return
    for reports in reporter.stats.values():
        if report in reports:
            reports.remove(report)
    status = config.hook.pytest_report_teststatus(report=corrected, config=config)
    reporter.stats.setdefault(status[0], []).append(corrected)
