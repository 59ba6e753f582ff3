"""`--ralph-explain`: how each selected task is read, what a failure leads to, and the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ralph.failure.failure import Failure
from pytest_ralph.fixing.prompts import PromptContext
from pytest_ralph.healing.services import settings_of_task
from pytest_ralph.healing.spec_run import complete_already, unverifiable
from pytest_ralph.running.expectations import in_words
from pytest_ralph.session.items import task_items
from pytest_ralph.session.messages import terminal_reporter
from pytest_ralph.settings import NO_EXECUTOR
from pytest_ralph.spec.lint import shell_error
from pytest_ralph.text.inert import one_line
from pytest_ralph.text.listing import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ralph.session.items import TaskItem
    from pytest_ralph.session.run import Run
    from pytest_ralph.settings import Settings
    from pytest_ralph.spec.task import Task
    from pytest_ralph.verify.model import Check

# Stands in the prompt for what only a run can know.
UNKNOWN_ERROR = "(the error of the failed Verify)"


class Explanation:
    """Writes an explanation of each selected task instead of running it."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.config.option.collectonly:
            return None
        reporter = terminal_reporter(session.config)
        if reporter is None:
            return True
        tasks = task_items(session)
        self._count_in_last_line(reporter, len(tasks))
        for item in tasks:
            reporter.write_line("")
            mask = self.run.resources.mask
            reporter.write_line(f"{item.nodeid}  {one_line(mask(item.task.title))}", bold=True)
            for line in self._explain(item):
                reporter.write_line(f"  {mask(line)}")
        return True

    def _count_in_last_line(self, reporter: pytest.TerminalReporter, number: int) -> None:
        """Make the last line say how many tasks were explained, beside any collection errors."""
        errors = len(reporter.getreports("error"))
        parts = [(f"{number} explained", {"green": True})]
        colour = "green"
        if errors:
            parts.append((count(errors, "error"), {"red": True}))
            colour = "red"
        reporter.build_summary_stats_line = lambda: (parts, colour)  # type: ignore[method-assign]

    def _explain(self, item: TaskItem) -> Iterator[str]:
        settings = settings_of_task(self.run.specs.settings_of(item.parent.spec), item.task)
        reason = why_not_run(item.task, settings)
        for number, check in enumerate(item.task.verify.checks, start=1):
            yield f"check {number}: {one_line(check.command)}"
            yield f"  expects {expected(check)}"
        if item.task.verify.mode == "any":
            yield "one of these checks is enough"
        for words in item.task.verify.unread:
            yield f"not checked: {one_line(words)}"
        if reason is not None:
            yield f"not run: {reason}"
            return
        yield f"if it fails: {what_follows(settings)}"
        yield "prompt for an executor:"
        for line in self._prompt(item).splitlines():
            yield f"  | {line}"

    def _prompt(self, item: TaskItem) -> str:
        spec = item.parent.spec
        checks = item.task.verify.checks
        failure = Failure(task_id=item.task.id, error=UNKNOWN_ERROR, command=checks[0].command)
        context = PromptContext(
            task=item.task,
            spec_name=spec.name,
            spec_path=self.run.specs.relative(spec.path),
            root=str(self.run.root),
            done=[task for task in spec.tasks if task.checked and not task.fix_for],
            original=item.task,
            failure=failure,
            verified=failure,
            tasks_completed=sum(task.checked for task in spec.tasks),
            tasks_total=len(spec.tasks),
        )
        return self.run.resources.prompts.write("fix", context)


def why_not_run(task: Task, settings: Settings) -> str | None:
    """Return why the Verify field of a task is not run, or None if it is."""
    if task.verify.invalid:
        return f"fails as invalid: {one_line(task.verify.invalid)}"
    complete = complete_already(task, settings, is_complete=task.checked)
    if complete:
        return complete
    skip = unverifiable(task, settings)
    if skip is not None:
        _, reason = skip
        return reason
    for check in task.verify.checks:
        error = shell_error(check.command)
        if error:
            return f"fails as invalid: the shell cannot parse it: {one_line(error)}"
    return None


def expected(check: Check) -> str:
    """Return what is expected of a check in words."""
    words = [in_words(expect) for expect in check.expect]
    words += [f"file {name} to exist" for name in check.files]
    return "; ".join(words) or "exit status 0"


def what_follows(settings: Settings) -> str:
    """Return in one line what a failure leads to with these settings."""
    # None: the state file decides, which only a run reads.
    if settings.recovery is not True:
        return "the failure is reported and nothing is changed (add --ralph-recovery to heal it)"
    steps = []
    if settings.repair and "none" not in settings.executor:
        steps.append(f"built-in repairs ({', '.join(settings.repair)})")
    agents = [name for name in settings.executor if name not in NO_EXECUTOR]
    if not agents:
        return ", then ".join([*steps, "it is reported"])
    steps.append(f"at most {settings.max_fixes} fix tasks for {', then '.join(agents)}")
    return f"{', then '.join(steps)}; Verify decides after each"
