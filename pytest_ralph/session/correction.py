"""Correct the report of a task that passed and was broken later, at the end of the run.

By then pytest has logged all reports: the summary, the JUnit file and `--lf` count the task as
passed. None of them has been written yet.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from pytest_ralph.report import junit
from pytest_ralph.report.failure_text import FailureText
from pytest_ralph.session.reporting import JunitAttempts
from pytest_ralph.session.screen import terminal_reporter

if TYPE_CHECKING:
    import pytest

    from pytest_ralph.results import TaskReport
    from pytest_ralph.session.run import Run


def correct_report(run: Run, report: pytest.TestReport, found: TaskReport) -> None:
    """Replace `report`, the last one of a task, by one with its final result."""
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
