"""Results on pytest's reports: status words, reasons, durations, JUnit properties, sections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.report import junit
from pytest_ralph.results import TaskResult, from_json, task_result, to_json
from pytest_ralph.session.items import TaskItem
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from pytest_ralph.report.failure_text import FailureText
    from pytest_ralph.session.run import Run

# By outcome: pytest's category, the letter, and the word with its colour.
WORDS: dict[str, tuple[str, str, tuple[str, dict[str, bool]]]] = {
    "recovered": ("recovered", "r", ("RECOVERED", {"green": True})),
    "flaky": ("flaky", "f", ("FLAKY", {"yellow": True})),
    "blocked": ("blocked", "b", ("BLOCKED", {"yellow": True})),
    "manual": ("manual", "m", ("MANUAL", {"yellow": True})),
}

EXPECTED = "expected to fail"


class Reporting:
    """Puts the result of a task on its report, and takes both through xdist as plain data."""

    def __init__(self, run: Run) -> None:
        self.run = run
        # The item that passed last, until its teardown has been reported.
        self._passed: TaskItem | None = None

    def pytest_sessionstart(self) -> None:
        # Only now: a conftest file may have asked for the JUnit file.
        config = self.run.config
        if junit.is_written(config):
            config.pluginmanager.register(junit.Testcases(config), junit.PLUGIN_NAME)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if isinstance(item, TaskItem) and call.when == "call" and item.result is not None:
            self._add_result(report, item, item.result)
        return report

    def _add_result(self, report: pytest.TestReport, item: TaskItem, result: TaskResult) -> None:
        if report.skipped and result.bad:
            # An `xfail` mark of the user: nothing has to be done about it.
            result = result._replace(outcome="skipped", reason=EXPECTED)
        _attach(report, item, result)
        self._passed = item if result.passed else None
        report.duration = result.duration
        if report.skipped:
            report.longrepr = (str(item.path), item.task.line, f"Skipped: {result.reason}")
        report.sections += self._sections(result)

    def _sections(self, result: TaskResult) -> Iterator[tuple[str, str]]:
        """Yield what pytest shows below a failure, or with `-rA`, each text with its heading."""
        very_verbose = self.run.config.getoption("verbose", 0) >= 2
        if result.report and very_verbose and not self.run.is_failure_one_line:
            yield "ralph failure report", result.report
        if result.outcome == "recovered":
            for attempt in result.verifications:
                if attempt.failed and attempt.output:
                    yield f"attempt {attempt.number}: {attempt.error}", attempt.output

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take back the pass of a task whose final report failed.

        Other plugins may change a report until it is logged, and tear-downs may fail.
        """
        item = self._passed
        if item is None or not report.failed or report.nodeid != item.nodeid:
            return
        self._passed = None
        reason = f"passed, but another plugin made it fail: {_last_line(report)}"
        spec_run = self.run.spec_run(item.parent.spec)
        spec_run.take_back(item.task, reason)
        result = task_result(report)
        if result is not None:
            result = result._replace(outcome="failed", reason=reason)
            _attach(report, item, result)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        result = task_result(report)
        if result is None or report.when != "call":
            return None
        return WORDS.get(result.outcome)

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(
        self, report: object
    ) -> Generator[None, dict[str, Any], dict[str, Any]]:
        data = yield
        result = task_result(report)
        if result is not None:
            data["ralph"] = to_json(result)
        return data

    @pytest.hookimpl(wrapper=True)
    def pytest_report_from_serializable(self) -> Generator[None, Any, Any]:
        report = yield
        if hasattr(report, "ralph"):
            report.ralph = from_json(TaskResult, report.ralph)
            if report.failed and report.longrepr and isinstance(report.longrepr, str):
                report.longrepr = self._failure_text(report.longrepr, report.ralph)
        return report

    def _failure_text(self, text: str, result: TaskResult) -> FailureText:
        # Imported with the first failure.
        from pytest_ralph.report.failure_text import FailureText

        return FailureText.from_worker(text, result, shown=not self.run.is_failure_one_line)


def _attach(report: pytest.TestReport, item: TaskItem, result: TaskResult) -> None:
    """Put a result on a report, and into the properties that the JUnit file has of both."""
    report.ralph = result  # type: ignore[attr-defined]
    junit.set_properties(item, result)
    junit.set_properties(report, result)


def _last_line(report: pytest.TestReport) -> str:
    lines = report.longreprtext.strip().splitlines()
    return one_line(lines[-1]) if lines else report.when
