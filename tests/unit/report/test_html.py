"""The HTML report as text: safe for any output, one file, an honest headline."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.history.stats import KindCounts
from pytest_ralph.report.html import Trends, embedded, render, stats, write_report
from pytest_ralph.report.phrases import duration
from pytest_ralph.report.run_summary import RunSummary
from pytest_ralph.results import (
    Attempt,
    FixResult,
    Note,
    TaskResult,
)
from tests.records import past_run

if TYPE_CHECKING:
    from pathlib import Path

NASTY = (
    "</script><script>alert(1)</script>"
    "<!-- <img src=x onerror=alert(1)> & \u2028 \x1b[31m \udc80 ' \""
)


def run(*outcomes: str) -> RunSummary:
    return RunSummary(
        tuple(TaskResult(str(number), outcome=outcome) for number, outcome in enumerate(outcomes))
    )


def nasty_run() -> RunSummary:
    attempt = Attempt(
        outcome="failed",
        error=NASTY,
        kind=NASTY,
        output=NASTY,
        command=NASTY,
        advice=(NASTY,),
        files=(NASTY,),
    )
    fix = FixResult(NASTY, NASTY, NASTY, NASTY, NASTY)
    task = TaskResult(
        NASTY, NASTY, NASTY, NASTY, NASTY, NASTY, 1, (NASTY,), NASTY, NASTY, attempts=(attempt,)
    )
    failed = TaskResult("1", outcome="failed", fixes=(fix,), attempts=(attempt,))
    runs = (past_run(0), past_run(1))
    kinds = (KindCounts(NASTY, 1, 0),)
    return RunSummary((task, failed), 0.0, 1.0, NASTY, NASTY, NASTY, (NASTY,), runs, kinds)


class Tags(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.met: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.met.append((tag, dict(attrs)))


def test_nothing_printed_by_a_command_becomes_markup() -> None:
    tags = Tags(render(nasty_run()))
    assert [tag for tag, _ in tags.met].count("script") == 2
    assert not [
        tag
        for tag, attributes in tags.met
        if tag == "img" or any(name.startswith("on") for name in attributes)
    ]


def test_the_embedded_story_reads_back_as_it_was() -> None:
    text = embedded(nasty_run())
    assert not {"<", ">", "&", "\u2028"} & {*text}
    assert json.loads(text)["tasks"][0]["title"] == NASTY


def test_a_lone_surrogate_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "report.html"
    write_report(path, nasty_run())
    assert path.read_text("utf-8").endswith("</html>\n")


def test_a_report_respects_the_umask(tmp_path: Path) -> None:
    write_report(tmp_path / "report.html", run("passed"))
    (tmp_path / "other").touch()
    assert (tmp_path / "report.html").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_the_policy_admits_one_style_one_script() -> None:
    page = render(run("passed"))
    tags = Tags(page)
    (policy,) = (
        a["content"] for tag, a in tags.met if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    for pattern in (r"<style>(.*?)</style>", r"<script>(.*?)</script>"):
        (text,) = re.findall(pattern, page, re.DOTALL)
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy
    assert "unsafe" not in policy


def test_the_page_names_no_address_to_fetch_from() -> None:
    page = render(run("passed"))
    links = [a[name] or "" for _, a in Tags(page).met for name in ("src", "href") if name in a]
    assert not [link for link in links if not link.startswith(("#", "data:"))]
    assert "url(" not in page
    assert "@import" not in page


def test_empty_values_are_not_embedded() -> None:
    (task,) = json.loads(
        embedded(RunSummary((TaskResult("1", attempts=(Attempt(exit_code=0),)),)))
    )["tasks"]
    assert "fixes" not in task
    assert task["attempts"][0]["exit_code"] == 0


def test_a_failed_task_says_what_to_do() -> None:
    attempt = Attempt(
        outcome="failed",
        kind="lint_error",
        error="E501",
        files=("a.py",),
        decision="no fix helps",
        advice=("Run the linter",),
    )
    notes = (Note("no fix helps", "1.1"), Note("failed again", "1.1"))
    task = TaskResult("1.1", outcome="failed", attempts=(attempt,), notes=notes)
    (data,) = json.loads(embedded(RunSummary((task,))))["tasks"]
    assert data["advice"] == ["Fix the linting errors of task 1.1 (a.py)", "Run the linter"]
    # The attempt has the decision.
    assert data["notes"] == ["1.1: failed again"]


def test_backquotes_become_code() -> None:
    page = render(run("passed")._replace(notes=("<b>: run `npm install`",)))
    assert "<li>&lt;b&gt;: run <code>npm install</code></li>" in page


def test_tasks_are_in_the_order_of_specs() -> None:
    ended = [("b", 30), ("a", 20), ("b", 10), ("a", 5)]
    story = RunSummary(
        tuple(TaskResult(f"{path}{line}", spec_path=path, line=line) for path, line in ended)
    )
    assert [task["id"] for task in json.loads(embedded(story))["tasks"]] == [
        "b10",
        "b30",
        "a5",
        "a20",
    ]


def test_logs_are_named_as_seen_from_the_project() -> None:
    attempts = (Attempt(log="/p/.ralph/logs/1.log"), Attempt(log="/elsewhere/2.log"))
    (task,) = json.loads(embedded(RunSummary((TaskResult("1", attempts=attempts),), root="/p")))[
        "tasks"
    ]
    assert [attempt["log"] for attempt in task["attempts"]] == [
        ".ralph/logs/1.log",
        "/elsewhere/2.log",
    ]


def test_long_output_of_a_pass_is_shorter() -> None:
    output = "\n".join(map(str, range(10_000)))
    attempts = (Attempt(outcome="failed", output=output), Attempt(output=output))
    (task,) = json.loads(embedded(RunSummary((TaskResult("1", attempts=attempts),))))["tasks"]
    lines = [len(attempt["output"].splitlines()) for attempt in task["attempts"]]
    assert lines == [201, 11]


@pytest.mark.parametrize(
    ("outcomes", "said", "then"),
    [
        ([], "No tasks ran", "0 of 0 tasks pass."),
        (["passed"], "The task passes", "1 of 1 task passes."),
        (["passed", "passed"], "All 2 tasks pass", "2 of 2 tasks pass."),
        (
            ["passed", "recovered"],
            "All 2 tasks pass",
            "2 of 2 tasks pass, 1 of them after recovery.",
        ),
        (["failed"], "1 task needs you", "0 of 1 task passes."),
        (
            ["failed", "blocked", "regression", "passed"],
            "2 tasks need you",
            "1 of 4 tasks pass; 1 is blocked.",
        ),
        (
            ["blocked", "blocked", "passed"],
            "2 tasks are blocked",
            "1 of 3 tasks pass; 2 are blocked.",
        ),
        (["passed", "skipped"], "1 task passes", "1 of 2 tasks pass."),
        (["passed", "passed", "manual"], "2 tasks pass, 1 to check by hand", "2 of 3 tasks pass."),
        (["manual", "skipped"], "Nothing to verify", "0 of 2 tasks pass."),
    ],
)
def test_the_headline_says_what_a_person_would(outcomes: list[str], said: str, then: str) -> None:
    assert (run(*outcomes).headline, run(*outcomes).subheadline) == (said, then)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, "0 ms"),
        (0.0124, "12 ms"),
        (0.9996, "1.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1:00 min"),
        (125.4, "2:05 min"),
        (3599.6, "1:00 h"),
        (7384, "2:03 h"),
    ],
)
def test_durations_read_naturally(seconds: float, said: str) -> None:
    assert " ".join(duration(seconds)) == said


def test_recovered_needs_a_failure() -> None:
    assert [name for name, *_ in stats(run("passed"))] == ["Duration", "Attempts", "Fixes"]
    assert stats(run("recovered", "failed", "recovered"))[-1] == ("Recovered", "2", "of 3")


@pytest.mark.parametrize("story", [RunSummary(), run("passed"), run("odd", "failed"), nasty_run()])
def test_every_run_can_be_told(story: RunSummary) -> None:
    assert render(story).endswith("</html>\n")


def test_charts_need_more_than_one_run() -> None:
    assert Trends.of([past_run(0)]) is None
    past: Any = Trends.of(
        [past_run(0, 10, failed=1, recovered=3), past_run(60, 20), past_run(120, 5, failed=1)]
    )
    assert (past.shown, past.last_duration, past.longest, past.last_rate) == (
        3,
        "5.0 s",
        "20.0 s",
        "0%",
    )


def test_the_transcript_is_part_of_the_file(tmp_path: Path) -> None:
    transcript = tmp_path / "1.1.transcript.log"
    transcript.write_text("→ Running pytest\n" + "more\n" * 1_000 + "\x1b[1mdone\n")
    for path, shown in ((transcript, True), (tmp_path / "removed.log", False)):
        fixed = TaskResult("1", attempts=(Attempt(what="fix", transcript=str(path)),))
        (task,) = json.loads(embedded(RunSummary((fixed,))))["tasks"]
        text = task["attempts"][0].get("transcript", "")
        assert text.startswith("→ Running pytest\n") is shown
        assert text.endswith("\ndone") is shown
        assert len(text.splitlines()) < 250
