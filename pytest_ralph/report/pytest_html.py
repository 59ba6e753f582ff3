"""Our columns in the table of pytest-html, where that plugin is in use. Register an instance only then."""

from __future__ import annotations

from html import escape

import pytest

from pytest_ralph.results import task_report

# After Result and Test, before Duration and Links.
PLACE = 2
COLUMNS = {
    "ralphOutcome": "Outcome",
    "ralphAttempts": "Attempts",
    "ralphFixes": "Fixes",
    "ralphKind": "Kind",
}


class HtmlColumns:
    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        cells[PLACE:PLACE] = [
            f'<th class="sortable" data-column-type="{name}">{title}</th>'
            for name, title in COLUMNS.items()
        ]

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: pytest.TestReport, cells: list[str]) -> None:
        # Another plugin may have emptied a row to leave it out.
        if cells:
            values = zip(COLUMNS, _values(report), strict=True)
            cells[PLACE:PLACE] = [
                f'<td class="col-{name}">{escape(value)}</td>' for name, value in values
            ]


def _values(report: pytest.TestReport) -> tuple[str, str, str, str]:
    told = task_report(report)
    if told is None:
        return "", "", "", ""
    task = told.result
    kind = task.last_failure.kind if task.last_failure else ""
    return task.outcome, str(len(task.verifications)), str(len(task.all_fixes)), kind
