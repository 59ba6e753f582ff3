"""A task as a test item: SpecFile collects, TaskItem runs."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.settings import RUN_WIDE, SettingError
from pytest_ralph.spec.document import Problem, SpecError
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_ralph.results import TaskResult
    from pytest_ralph.session.run import Run
    from pytest_ralph.spec.document import Spec
    from pytest_ralph.spec.plan_problems import PlanProblem
    from pytest_ralph.spec.task import Task

WORD = re.compile(r"\w+(?:[-.]\w+)*")
# What changes the meaning of a run; a wrong total in the front matter, say, is for the linter.
WARNED = ("duplicate-id", "unclosed-fence", "no-tasks")


class RalphWarning(pytest.PytestWarning):
    """Something in a spec that is worth a look."""


class TaskFailed(Exception):  # noqa: N818 - a task that failed, not an error of the program
    """Carries what a person is shown about a task that did not pass."""

    def __init__(self, result: TaskResult) -> None:
        super().__init__(result.reason or "failed")
        self.result = result


class Marks:
    """For pytest's `-m`. Made once for a spec: to make one for every task is slow."""

    def __init__(self) -> None:
        self.task = pytest.mark.ralph
        self.parallel = pytest.mark.ralph_parallel
        self.verify = pytest.mark.ralph_verify
        self.fix = pytest.mark.ralph_fix


class SpecFile(pytest.File):
    """A tasks.md."""

    run: Run
    spec: Spec

    @classmethod
    def of(cls, parent: pytest.Collector, path: Path, run: Run) -> SpecFile:
        node: SpecFile = cls.from_parent(parent, path=path)
        node.run = run
        return node

    def collect(self) -> Iterator[TaskItem]:
        try:
            self.spec = self.run.load(self.path)
        except SpecError as error:
            raise self.CollectError(f"{self.shown_path}:{error.line}: {error.message}") from None
        except SettingError as error:
            raise self.CollectError(str(error)) from None
        for problem in self.spec.problems:
            if problem.code in WARNED:
                self._warn(problem)
        for conflict in self.run.holding.tolerated(self.spec):
            self._warn(conflict)
        for name in RUN_WIDE & self.spec.settings.keys():
            self._warn(
                Problem(
                    self.spec.setting_lines[name],
                    f"`{name}` is for the whole run: not heeded here",
                    name,
                )
            )
        marks = Marks()
        for task in self.spec.tasks:
            yield TaskItem.from_parent(self, name=task.name, task=task, marks=marks)

    @property
    def shown_path(self) -> str:
        return self.run.relative(self.path)

    def _warn(self, problem: Problem | PlanProblem) -> None:
        # Of the workers of an xdist run one speaks for all: each collects everything.
        if getattr(self.config, "workerinput", {}).get("workerid", "gw0") != "gw0":
            return
        try:
            warnings.warn_explicit(problem.message, RalphWarning, self.shown_path, problem.line)
        except RalphWarning as warning:
            raise self.CollectError(f"{self.shown_path}:{problem.line}: {warning}") from None


class TaskItem(pytest.Item):
    """One task; its Verify command is the test."""

    result: TaskResult | None = None
    parent: SpecFile

    def __init__(self, *, task: Task, marks: Marks, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.task = task
        self.add_marker(marks.task)
        if task.has_marker("P"):
            self.add_marker(marks.parallel)
        if task.has_marker("VERIFY"):
            self.add_marker(marks.verify)
        if task.fix_for:
            self.add_marker(marks.fix)
        phase = WORD.findall(task.phase)
        self.extra_keyword_matches.update(
            WORD.findall(task.title), phase, ["-".join(phase), self.parent.spec.name]
        )

    @property
    def run(self) -> Run:
        return self.parent.run

    def runtest(self) -> None:
        self.result = self.run.perform(self)
        if self.result.skipped:
            pytest.skip(self.result.reason)
        if not self.result.passed:
            raise TaskFailed(self.result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, TaskFailed):
            from pytest_ralph.report.failure_text import FailureText

            result, whole = excinfo.value.result, self.config.getoption("tbstyle", "") != "line"
            return FailureText.of(result, result.notes, self.run.root, drawn=whole)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        # Where it equals the end of the node id, pytest takes its dots for those of a class and its method.
        heading = one_line(self.task.heading) if self.task.title else f"task {self.task.id}"
        return self.path, self.task.line - 1, heading
