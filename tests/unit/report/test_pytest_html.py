"""Our columns in pytest-html's table, for tasks and for ordinary tests beside them."""

from __future__ import annotations

import html
import json
import re

import pytest

pytest.importorskip("pytest_html", minversion="4.0")

CONFTEST = """
    import pytest
    from pytest_ralph.report.pytest_html import HtmlColumns
    from pytest_ralph.results import Attempt, FixResult, TaskResult, TaskReport

    STORY = TaskResult(
        "1.3", outcome="recovered", fixes=(FixResult("1.3.1"),),
        attempts=(Attempt(outcome="failed", kind="<b>timeout"), Attempt()),
    )

    def pytest_configure(config):
        config.pluginmanager.register(HtmlColumns())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(item, call):
        report = yield
        if call.when == "call" and item.name == "test_task":
            report.ralph = TaskReport(STORY)
        return report
"""


def test_the_table_gets_outcome_attempts_fixes_and_kind(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile("def test_task(): pass\ndef test_other(): pass")
    pytester.runpytest_inprocess(
        "--html=out.html", "--self-contained-html", "-p", "no:ralph"
    ).assert_outcomes(passed=2)
    page = (pytester.path / "out.html").read_text()
    found = re.search(r'data-jsonblob="([^"]*)"', page)
    assert found is not None
    tests = json.loads(html.unescape(found[1]))["tests"]
    rows = {name.rsplit("::")[-1]: rows[0]["resultsTableRow"] for name, rows in tests.items()}
    assert rows["test_task"][2:6] == [
        '<td class="col-ralphOutcome">recovered</td>',
        '<td class="col-ralphAttempts">2</td>',
        '<td class="col-ralphFixes">1</td>',
        '<td class="col-ralphKind">&lt;b&gt;timeout</td>',
    ]
    assert rows["test_other"][2:6] == [
        f'<td class="col-ralph{name}"></td>' for name in ("Outcome", "Attempts", "Fixes", "Kind")
    ]
    assert page.index(">Outcome</th>") < page.index(">Kind</th>") < page.index(">Duration</th>")
