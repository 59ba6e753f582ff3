"""Columns for pytest-html's table. Register an instance only if that plugin is active."""

from __future__ import annotations

from html import escape

import pytest

from pytest_ralph.results import task_report

# After Result and Test, before Duration and Links.
POSITION = 2
COLUMNS = {
    "ralphOutcome": "Outcome",
    "ralphAttempts": "Attempts",
    "ralphFixes": "Fixes",
    "ralphKind": "Kind",
}


class HtmlColumns:
    """Adds the outcome, attempts, fixes and failure kind of each task."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        cells[POSITION:POSITION] = [
            f'<th class="sortable" data-column-type="{name}">{title}</th>'
            for name, title in COLUMNS.items()
        ]

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: pytest.TestReport, cells: list[str]) -> None:
        # Another plugin may have emptied the row to leave it out.
        if not cells:
            return
        values = zip(COLUMNS, _values(report), strict=True)
        cells[POSITION:POSITION] = [
            f'<td class="col-{name}">{escape(value)}</td>' for name, value in values
        ]


def _values(report: pytest.TestReport) -> tuple[str, str, str, str]:
    found = task_report(report)
    if found is None:
        return "", "", "", ""
    task = found.result
    kind = task.last_failure.kind if task.last_failure else ""
    return task.outcome, str(len(task.verifications)), str(len(task.all_fixes)), kind
