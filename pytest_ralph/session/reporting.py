"""Between our results and pytest's reports: status words, reasons, durations, properties, attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_ralph.report import junit
from pytest_ralph.results import TaskReport, task_report
from pytest_ralph.session.items import TaskItem

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_ralph.results import TaskResult
    from pytest_ralph.session.run import Run

WORDS: dict[str, tuple[str, str, tuple[str, dict[str, bool]]]] = {
    "recovered": ("recovered", "R", ("RECOVERED", {"green": True})),
    "blocked": ("skipped", "b", ("BLOCKED", {"yellow": True})),
    "manual": ("skipped", "m", ("MANUAL", {"yellow": True})),
}


class Reporting:
    """Registered for a run with `--ralph`. What it puts on a report travels with it through xdist."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._summing_up = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if isinstance(item, TaskItem) and call.when == "call" and item.result is not None:
            self._tell(report, item, item.result)
        return report

    def _tell(self, report: pytest.TestReport, item: TaskItem, result: TaskResult) -> None:
        work = self.run.work(item.parent.spec)
        report.ralph = TaskReport(result, work.recovery, work.services.max_attempts)  # type: ignore[attr-defined]
        junit.add_properties(item, report, result)
        report.duration = result.duration
        if report.skipped:
            report.longrepr = (str(item.path), item.task.line, f"Skipped: {result.reason}")
        if result.report and work.recovery and item.config.getoption("tbstyle", "") != "line":
            report.sections.append(("ralph failure report", result.report))
        if result.outcome == "recovered":
            failed = (
                attempt for attempt in result.verifications if attempt.failed and attempt.output
            )
            report.sections.extend(
                (f"attempt {one.number}: {one.error}", one.output) for one in failed
            )

    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        told = task_report(report)
        if told is None or report.when != "call" or (self._summing_up and report.skipped):
            return None
        return WORDS.get(told.result.outcome)

    def pytest_terminal_summary(self) -> None:
        # The short summary puts all that were skipped under one word, and that is not ours.
        self._summing_up = True

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(
        self, report: object
    ) -> Generator[None, dict[str, Any], dict[str, Any]]:
        data = yield
        if told := task_report(report):
            data["ralph"] = told.to_json()
        return data

    @pytest.hookimpl(wrapper=True)
    def pytest_report_from_serializable(self) -> Generator[None, Any, Any]:
        report = yield
        if told := task_report(report):
            report.ralph = TaskReport.from_json(cast("dict[str, Any]", told))
        return report


class JunitAttempts:
    """Registered beside it where pytest writes a JUnit file."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if told := task_report(report):
            junit.add_attempts(self.run.config, report, told.result)
