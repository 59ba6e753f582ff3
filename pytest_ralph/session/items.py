"""Test items: a SpecFile collects a spec, a TaskItem runs one of its tasks."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.settings import RUN_WIDE, SettingError
from pytest_ralph.spec.document import SpecError
from pytest_ralph.spec.fix_tree import FixTree
from pytest_ralph.spec.labels import misspelt
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_ralph.results import TaskResult
    from pytest_ralph.session.run import Run
    from pytest_ralph.spec.document import Spec
    from pytest_ralph.spec.task import Task

WORD = re.compile(r"\w+(?:[-.]\w+)*")
# Problems that change what a run does. `--ralph-lint` reports the others.
WARNED = ("duplicate-id", "unclosed-fence", "no-tasks")
# Columns of a line that shows how a Verify field is read.
LONGEST_READING = 300


class RalphWarning(pytest.PytestWarning):
    """A problem of a spec that does not prevent a run."""


class TaskFailed(AssertionError):  # noqa: N818 - not an error of the program
    """Raised in `runtest` for a task that did not pass; carries its result.

    An AssertionError, because report plugins call everything else a broken test. Its text is the
    line that the summary shows, and the kind, for plugins that select failures by their text.
    """

    def __init__(self, result: TaskResult) -> None:
        # Imported with the first failure.
        from pytest_ralph.report.failure_text import headline

        last = result.last_failure
        kind = f" [{last.kind}]" if last else ""
        super().__init__(f"{headline(result)}{kind}")
        self.result = result


class Marks:
    """The marks for pytest's `-m`, created once per spec: creating them per task is slow."""

    def __init__(self) -> None:
        self.task = pytest.mark.ralph
        self.parallel = pytest.mark.ralph_parallel
        self.verify = pytest.mark.ralph_verify
        self.fix = pytest.mark.ralph_fix


class SpecFile(pytest.File):
    """A Markdown file with tasks."""

    # pytest-pspec expects every collector to be a module or a class.
    obj = None
    run: Run
    spec: Spec

    @classmethod
    def of(cls, parent: pytest.Collector, path: Path, run: Run) -> SpecFile:
        """Create the collector of a spec."""
        # Workers must collect the same node ids, wherever they find the project. Outside of it,
        # pytest would give all specs the same one.
        node: SpecFile = cls.from_parent(parent, path=path, nodeid=run.specs.relative(path))
        node.run = run
        return node

    def collect(self) -> Iterator[TaskItem]:
        try:
            self.spec = self.run.specs.load(self.path)
        except SpecError as error:
            raise self._error(f"{self.shown_path}:{error.line}: {error.message}") from None
        except SettingError as error:
            raise self._error(str(error)) from None
        self._refuse_broken_state()
        self._refuse_invalid_plan()
        self._warn_of_problems()
        marks = Marks()
        fixes = FixTree(self.spec.tasks)
        for task in self.spec.tasks:
            # The result of its original is also the result of such a fix.
            if not fixes.shares_verify(task):
                yield TaskItem.from_parent(self, name=task.name, task=task, marks=marks)

    def _refuse_broken_state(self) -> None:
        """Leave a spec alone whose state file is needed and cannot be read."""
        try:
            if self.run.specs.is_written(self.spec):
                self.run.specs.load_state(self.spec)
        except pytest.UsageError as error:
            raise self._error(f"ERROR: {error}") from None

    def _refuse_invalid_plan(self) -> None:
        problem = self.run.preflight.plan_error(self.spec)
        if problem is None:
            return
        # Imported here: most plans have no problem.
        from pytest_ralph.report.halt import refusal_lines

        heading = f"{self.shown_path}:{problem.line}: {problem.message}"
        raise self._error("\n".join([heading, "", *refusal_lines(problem)]))

    def _error(self, message: str) -> pytest.Collector.CollectError:
        """Return an error that quotes the plan, without the secrets in it."""
        return self.CollectError(self.run.resources.mask(message))

    @property
    def shown_path(self) -> str:
        return self.run.specs.relative(self.path)

    def _warn_of_problems(self) -> None:
        for problem in self.spec.problems:
            if problem.code in WARNED:
                self._warn(problem.line, problem.message)
        for conflict in self.run.preflight.tolerated(self.spec):
            self._warn(conflict.line, conflict.message)
        for name in RUN_WIDE & self.spec.settings.keys():
            line = self.spec.setting_lines[name]
            self._warn(line, f"`{name}` applies to the whole run and is ignored here")
        for task in self.spec.tasks:
            self._warn_of_misspelt_fields(task)

    def _warn_of_misspelt_fields(self, task: Task) -> None:
        """Warn of what was probably meant to be a Verify or an Expect field, which decide."""
        has_verify = bool(task.verify.checks or task.verify.manual)
        wanted = {"Expect"} if has_verify else {"Verify", "Expect"}
        if wanted.isdisjoint(map(misspelt, task.fields)):
            return
        # Imported here: few specs have such a field.
        from pytest_ralph.spec.lint import misspelt_fields

        found = misspelt_fields(self.spec, task)
        for name in wanted & found.keys():
            self._warn(found[name].line, found[name].message)

    def _warn(self, line: int, message: str) -> None:
        # Every worker of an xdist run collects everything. The first one warns for all.
        if self.run.worker and self.run.worker.worker_id != "gw0":
            return
        try:
            masked = self.run.resources.mask(message)
            warnings.warn_explicit(masked, RalphWarning, self.shown_path, line)
        except RalphWarning as warning:
            raise self.CollectError(f"{self.shown_path}:{line}: {warning}") from None


class TaskItem(pytest.Item):
    """One task. The test is its Verify command.

    result: How it ended; None as long as it has not.
    group_suffix: Not empty while a worker tells the controller what it has collected.
    """

    parent: SpecFile
    result: TaskResult | None = None
    group_suffix = ""
    # Plugins that expect every item to be a test function read these.
    obj = None
    function = None
    fixturenames: tuple[str, ...] = ()

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
        phase_words = WORD.findall(task.phase)
        self.extra_keyword_matches.update(WORD.findall(task.title), phase_words)
        self.extra_keyword_matches.update(["-".join(phase_words), self.parent.spec.name])

    @property
    def nodeid(self) -> str:
        return super().nodeid + self.group_suffix

    def __repr__(self) -> str:
        """Show title and reading in the output of `--co`."""
        mask = self.run.resources.mask
        reading = mask(f"{self.task.heading}: {self.task.verify.describe()}")
        return f"<Task {one_line(reading, LONGEST_READING)}>"

    @property
    def run(self) -> Run:
        return self.parent.run

    def _initrequest(self) -> None:
        """Do nothing; pytest-retry calls it before it runs an item again."""

    @property
    def expected_to_fail(self) -> bool:
        """Whether a conftest file or a plugin marked the task with `xfail`."""
        if self.config.getoption("runxfail"):
            return False
        return any(_applies(mark) for mark in self.iter_markers("xfail"))

    def runtest(self) -> None:
        self.result = self.run.perform(self)
        if self.result.skipped:
            pytest.skip(self.result.reason)
        if not self.result.passed:
            raise TaskFailed(self.result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if not isinstance(excinfo.value, TaskFailed):
            return super().repr_failure(excinfo, style)
        # Imported with the first failure.
        from pytest_ralph.report.failure_text import FailureText

        return FailureText.of(
            excinfo.value.result,
            self.run.root,
            verbosity=self.config.getoption("verbose", 0),
            shown=not self.run.is_failure_one_line,
            earlier=self.session.testsfailed,
        )

    def reportinfo(self) -> tuple[Path, int, str]:
        # Were this equal to the end of the node id, pytest would take its dots for a class and a
        # method.
        heading = f"task {self.task.id}"
        if self.task.title:
            heading = one_line(self.run.resources.mask(self.task.heading))
        return self.path, self.task.line - 1, heading


def task_items(session: pytest.Session) -> list[TaskItem]:
    """Return the tasks among the collected items."""
    return [item for item in session.items if isinstance(item, TaskItem)]


def _applies(mark: pytest.Mark) -> bool:
    """Whether an `xfail` mark has no condition, or one that holds."""
    conditions = [*mark.args, *filter(None, [mark.kwargs.get("condition")])]
    return not conditions or any(conditions)
