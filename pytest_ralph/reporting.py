"""Between our results and pytest's reports: status words, reasons, durations, properties, and the end of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.items import TaskItem
from pytest_ralph.report import junit
from pytest_ralph.report.live import live_of
from pytest_ralph.report.story import TaskStory
from pytest_ralph.report.terminal import Summary

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_ralph.session import Run

WORDS: dict[str, tuple[str, str, tuple[str, dict[str, bool]]]] = {
    "recovered": ("recovered", "R", ("RECOVERED", {"green": True})),
    "blocked": ("skipped", "b", ("BLOCKED", {"yellow": True})),
    "manual": ("skipped", "m", ("MANUAL", {"yellow": True})),
}


class Reporting:
    """Registered for a run with `--ralph`. What it puts on a report is plain data, so that it travels through xdist."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.stories: dict[str, TaskStory] = {}
        self.lines: dict[str, list[str]] = {}

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.run.session = session
        self.run.live = live_of(self.run.config)

    def pytest_keyboard_interrupt(self) -> None:
        self.run.stop()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, pytest.TestReport]:
        report: pytest.TestReport = yield
        if isinstance(item, TaskItem) and call.when == "call" and item.result is not None:
            self._tell(report, item)
        return report

    def _tell(self, report: pytest.TestReport, item: TaskItem) -> None:
        assert item.result is not None
        story = item.result.story
        report.ralph = {"story": story.to_json(), "lines": list(item.result.lines)}  # type: ignore[attr-defined]
        report.user_properties.extend(junit.properties(story.to_json()))
        report.duration = story.duration
        if report.skipped:
            report.longrepr = (str(item.path), item.task.line, f"Skipped: {story.reason}")
        for number, attempt in enumerate(story.attempts, 1):
            if story.outcome == "recovered" and attempt.failed and attempt.output:
                report.sections.append((f"attempt {number}: {attempt.error}", attempt.output))

    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        told = getattr(report, "ralph", None)
        return WORDS.get(told["story"]["outcome"]) if told and report.when == "call" else None

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told = getattr(report, "ralph", None)
        if not told:
            return
        self.stories[report.nodeid] = TaskStory.from_json(told["story"])
        self.lines[report.nodeid] = told["lines"]
        junit.add_attempts(self.run.config, report, told["story"])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        complete = [
            work.workspace.spec.name for work in self.run.works.values() if work.recovery and work.workspace.complete
        ]
        Summary(terminalreporter, self.run.config.option.verbose).write([*self.stories.values()], self.lines, complete)
