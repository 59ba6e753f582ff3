"""The HTML report of a real run: what the fixes changed, what was asked for, and where it ran."""

from __future__ import annotations

import json
import platform
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project

HELPS_AT_LAST = """
    text = "fixed" if task == "1.3.2" else f"broken by {task}"
    Path("parser.txt").write_text(text + "\\n")
"""


def tasks_of(page: str) -> dict[str, Any]:
    data = re.search(r'<script type="application/json" id="results">(.*?)</script>', page)
    assert data
    return {task["id"]: task for task in json.loads(data[1])["tasks"]}


def test_report_shows_the_diff_of_every_fix(one_task: Project) -> None:
    one_task.run("--ralph-report=out.html", executor=one_task.executor(HELPS_AT_LAST))
    page = (one_task.root / "out.html").read_text(encoding="utf-8")
    task = tasks_of(page)["1.3"]
    diffs = {
        attempt["fix_id"]: attempt["diff"]
        for attempt in task["attempts"]
        if attempt.get("what") == "fix"
    }
    assert "\n-broken\n+broken by 1.3.1\n" in diffs["1.3.1"]
    assert "\n-broken by 1.3.1\n+fixed\n" in diffs["1.3.2"]
    assert task["reason"] == "recovered by 1.3.2"
    assert task["do"]
    assert task["verify"]
    assert f"<dt>Python</dt><dd>{platform.python_version()}</dd>" in page


def test_report_of_a_halted_spec_has_the_halt_summary(one_task: Project) -> None:
    one_task.run("--ralph-report=out.html")
    page = (one_task.root / "out.html").read_text(encoding="utf-8")
    assert "<summary>Halt summary</summary>" in page
    assert "RESUME INSTRUCTIONS" in page
    assert "&lt;task_metadata&gt;" not in page
    assert "<task_metadata>" in tasks_of(page)["1.3"]["report"]
