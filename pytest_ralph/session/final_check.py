"""At the end of a run: verify tasks again that later work may have broken, and recover them.

By then, tasks whose files are known have been verified again after each change of them, as far as
the same process worked on both. This check is for tasks whose files are not known, for work in
other workers, and for files that a Verify command or the user changed.

The reports of these tasks are corrected. By then pytest has logged them: the summary, the JUnit
file and `--lf` count the tasks as passed. None of the files has been written yet.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from stat import S_ISREG
from typing import TYPE_CHECKING

from pytest_ralph.files import SPEC_FILES
from pytest_ralph.fixing.errors import GitError
from pytest_ralph.healing.regressions import (
    PassedTask,
    Work,
    key_of,
    listed_files,
    name_of,
)
from pytest_ralph.report import junit
from pytest_ralph.report.failure_text import FailureText
from pytest_ralph.session.messages import terminal_reporter
from pytest_ralph.spec.document import Spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import pytest

    from pytest_ralph.healing.regressions import Key
    from pytest_ralph.results import TaskResult
    from pytest_ralph.session.run import Run
    from pytest_ralph.spec.task import Task


# Seconds by which the time of a file may be behind the clock.
CLOCK_TICK = 0.02
# How many of the tasks that may have broken another are named.
MOST_CULPRITS = 3


class FinalCheck:
    """Verifies again what may be broken, in the process that has all results.

    Without `recover`, because the run was stopped, what is broken only fails.

    verifying: What is verified again, or recovered, at the moment.
    """

    def __init__(self, run: Run, results: Sequence[TaskResult], *, recover: bool) -> None:
        self._run = run
        self._results = results
        self._recover = recover
        self.verifying = "the last check"
        self._specs: dict[str, Spec | None] = {}
        self._work: list[Work] = []
        self._recovered: set[Key] = set()
        # When the last work on each file ended.
        self._worked_until: dict[str, float] = {}
        for result in results:
            self._add_work(result)

    def _add_work(self, result: TaskResult) -> None:
        work = Work.of(result)
        if work is None:
            return
        self._work.append(work)
        for path in work.changed:
            ended = self._worked_until.get(path, 0.0)
            self._worked_until[path] = max(ended, work.ended)

    def broken(self) -> Iterator[tuple[str, TaskResult]]:
        """Yield, for each task that was broken, what broke it and its result after that."""
        watched = [task for task in map(self._watch, self._results) if task is not None]
        work_before = -1
        # Recovering one task may break another.
        while len(self._work) > work_before:
            work_before = len(self._work)
            for task in list(watched):
                culprits = self._culprits(task)
                change = _named_work(culprits) or self._rewritten_file(task)
                if not change:
                    continue
                diff = "".join(work.diff for work in culprits)
                line, result = self._verify_again(task, change, diff)
                if result is None:
                    continue
                yield line, result
                if result.bad:
                    watched.remove(task)
                task.verified_from = task.verified_until
                self._add_work(result)

    def _verify_again(
        self, task: PassedTask, change: str, diff: str
    ) -> tuple[str, TaskResult | None]:
        """Verify a task after a change; return what to say, and its result if that is a new one.

        Each task is recovered once at most.
        """
        name = name_of(task.result)
        self.verifying = name
        key = key_of(task.result)
        if key in self._recovered:
            line = f"{name} was recovered, and no longer passes since {change}"
            return line, task.verify_again(line, diff, recover=False)

        line = f"{name} no longer passes since {change}"
        result = task.verify_again(line, diff, recover=self._recover)
        if result is not None and result.outcome == "recovered":
            self._recovered.add(key)
        return line, result

    def _watch(self, result: TaskResult) -> PassedTask | None:
        """Return what to know about a task; None if it has not passed or is gone."""
        if not result.passed or not result.verifications:
            return None
        spec = self._spec(result.spec_path)
        if spec is None:
            return None
        task = self._task(spec, result)
        if task is None or task.has_marker("RED"):
            return None
        passed = PassedTask(result, task, partial(self._run.spec_run, spec))
        known = self._run.resources.regressions.passed.get(key_of(result))
        if known is not None:
            # It was verified again since.
            passed.verified_from = max(passed.verified_from, known.verified_from)
            passed.verified_until = max(passed.verified_until, known.verified_until)
        return passed

    def _task(self, spec: Spec, result: TaskResult) -> Task | None:
        """Return a task, checked off only if it was that before the run."""
        name = result.name
        spec_run = self._run.spec_runs.get(spec.path)
        if spec_run is not None and name in spec_run.begun:
            return spec_run.begun[name].task
        task = spec.get(name)
        if task is None:
            return None
        source = self._run.specs.snapshots.get(result.spec_path, "")
        before = Spec.parse(source, spec.path).get(name)
        was_checked = before is not None and before.checked
        return replace(task, checked=was_checked)

    def _spec(self, relative: str) -> Spec | None:
        """Return the spec at a path; None if it cannot be read any more."""
        path = self._run.root / relative
        if path in self._run.spec_runs:
            return self._run.spec_runs[path].spec_files.spec
        if relative not in self._specs:
            self._specs[relative] = self._run.specs.reread(relative)
        return self._specs[relative]

    def _culprits(self, watched: PassedTask) -> list[Work]:
        """Return the work on other tasks, later than the last Verify, that may have broken it.

        Work on files that the commands name is more likely to have done so than other work.
        """
        found = [work for work in self._work if watched.may_be_broken_by(work, self._run.root)]
        commands = " ".join(check.command for check in watched.task.verify.checks)
        likely = [work for work in found if any(path in commands for path in work.changed)]
        culprits = likely or found
        return culprits[-MOST_CULPRITS:]

    # Files that something other than an executor changed

    def _rewritten_file(self, watched: PassedTask) -> str:
        """Say which file of a task was changed or removed after its last Verify; "" if none.

        A task whose files are not known may be broken by every file that git tracks. What was
        changed for a task need not matter to it: it may be a log.
        """
        result = watched.result
        if result.elsewhere:
            # What the executor changed came home later, and what Verify wrote stayed there.
            return ""
        paths = watched.task.files
        if not watched.files:
            paths = self._tracked
        for path in paths:
            if path.rpartition("/")[2] in SPEC_FILES:
                # Every run writes them.
                continue
            modified = _modified(self._run.root / path, was_there=path not in result.absent)
            if modified > max(watched.verified_until, self._worked_until.get(path, 0.0)):
                by = self._verified_at(modified)
                return f"{name_of(by)} changed {path}" if by else f"{path} changed"
        return ""

    @cached_property
    def _tracked(self) -> tuple[str, ...]:
        """The tracked files that differ from what is staged; only those can have been changed."""
        git = self._run.resources.git
        if git is None:
            return ()
        try:
            return git.listing.changed_tracked_files()
        except GitError:
            return ()

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


def _named_work(culprits: Iterable[Work]) -> str:
    """Return `demo 1.2 changed a.py or demo 1.3 changed b.py`, each task once."""
    changes = {}
    for work in culprits:
        changed = listed_files(work.changed)
        changes[key_of(work.result)] = f"{name_of(work.result)} changed {changed}"
    return " or ".join(changes.values())


def correct_report(run: Run, report: pytest.TestReport, result: TaskResult) -> pytest.TestReport:
    """Replace `report`, the last one of a task, by one with its final result, and return that."""
    config = run.config
    corrected = copy(report)
    corrected.ralph = result  # type: ignore[attr-defined]
    corrected.duration = result.duration
    junit.set_properties(corrected, result)
    if result.bad:
        corrected.outcome = "failed"
        corrected.longrepr = FailureText.of(result, run.root)  # type: ignore[assignment]

    testcases = config.pluginmanager.get_plugin(junit.PLUGIN_NAME)
    if testcases is not None:
        testcases.replace(corrected, result)
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
