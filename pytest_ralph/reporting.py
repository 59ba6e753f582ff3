"""Between our results and pytest's reports: status words, reasons, durations, properties, attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.items import TaskItem
from pytest_ralph.report import junit

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_ralph.session import Run
    from pytest_ralph.story import TaskStory

WORDS: dict[str, tuple[str, str, tuple[str, dict[str, bool]]]] = {
    "recovered": ("recovered", "R", ("RECOVERED", {"green": True})),
    "blocked": ("skipped", "b", ("BLOCKED", {"yellow": True})),
    "manual": ("skipped", "m", ("MANUAL", {"yellow": True})),
}


class Reporting:
    """Registered for a run with `--ralph`. What it puts on a report is plain data, so that it travels through xdist."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._summing_up = False
        self._writes_junit = bool(run.config.getoption("xmlpath", None))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if isinstance(item, TaskItem) and call.when == "call" and item.result is not None:
            self._tell(report, item, item.result.story)
        return report

    def _tell(self, report: pytest.TestReport, item: TaskItem, story: TaskStory) -> None:
        assert item.result is not None
        self.run.stories[item.nodeid] = story
        work = self.run.work(item.parent.spec)
        report.ralph = {  # type: ignore[attr-defined]
            "story": story.to_json(),
            "lines": list(item.result.lines),
            "recovery": work.recovery,
            "max_attempts": work.desk.options.max_fixes + 1,
        }
        junit.add_properties(item, report, story)
        report.duration = story.duration
        if report.skipped:
            report.longrepr = (str(item.path), item.task.line, f"Skipped: {story.reason}")
        if item.result.report and work.recovery and item.config.getoption("tbstyle", "") != "line":
            report.sections.append(("ralph failure report", item.result.report))
        if story.outcome == "recovered":
            failed = (attempt for attempt in story.verifications if attempt.failed and attempt.output)
            report.sections.extend((f"attempt {one.number}: {one.error}", one.output) for one in failed)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        told = getattr(report, "ralph", None)
        if not told or report.when != "call" or (self._summing_up and report.skipped):
            return None
        return WORDS.get(told["story"]["outcome"])

    def pytest_terminal_summary(self) -> None:
        # The short summary puts all that were skipped under one word, and that is not ours.
        self._summing_up = True

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._writes_junit and (told := getattr(report, "ralph", None)):
            junit.add_attempts(self.run.config, report, told["story"])
