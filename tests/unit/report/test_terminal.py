"""The section at the end: recovered tasks, their fixes as a tree, by verbosity, width and colour."""

from __future__ import annotations

import io
import sys
from textwrap import dedent

import pytest
from _pytest.terminal import TerminalReporter  # public only since 8.4

from pytest_ralph.report.terminal import Summary, history_line
from pytest_ralph.results import Attempt, FixResult, TaskResult

RECOVERED = TaskResult(
    "1.3",
    spec="demo",
    spec_path="specs/demo/tasks.md",
    title="Add a parser",
    outcome="recovered",
    reason="recovered by 1.3.2",
    attempts=(
        Attempt(
            1,
            command="pytest -q",
            outcome="failed",
            kind="test_failure",
            error="3 != 4",
            duration=2.04,
            decision="it runs but does not pass: fix it",
            output="E  3 != 4\n1 failed",
        ),
        Attempt(2, what="fix", fix_id="1.3.1", executor="/opt/bin/agent --fast", duration=61),
        Attempt(3, what="fix", fix_id="1.3.2", executor="claude"),
        Attempt(4, command="pytest -q"),
    ),
    fixes=(
        FixResult(
            "1.3.1",
            "1.3",
            "Fix: 3 != 4",
            "/opt/bin/agent --fast",
            "verification_mismatch",
            children=(FixResult("1.3.1.1", "1.3.1", "Fix: no idea", "claude", "failed"),),
        ),
        FixResult("1.3.2", "1.3", "Fix: 5 != 4", "claude", "completed"),
    ),
)
SAID = (
    "1.3: it runs but does not pass: fix it",
    "1.3.1: chance that this fix helps: 71%",
    "1.3.2: made a\nwip is kept in commit abc",
)
FAILED = TaskResult(
    "1.4",
    spec="demo",
    title="Wait",
    outcome="failed",
    fixes=(FixResult("1.4.1", "1.4", "Fix: it", "repair", "open"),),
)
RETRIED = TaskResult(
    "1.5", spec="demo", title="Slow", outcome="recovered", reason="passed when tried again"
)
PASSED = TaskResult("1.6", spec="demo", title="Fine", attempts=(Attempt(command="true"),))


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


class Services:
    """A terminal reporter of pytest's, and what it wrote."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self._pytester = pytester

    def summary(
        self, *stories: TaskResult, verbosity: int = 0, width: int = 0, colour: bool = False
    ) -> str:
        file = Tty() if width else io.StringIO()
        config = self._pytester.parseconfig()
        reporter = TerminalReporter(config, file)
        config.pluginmanager.register(reporter, "terminalreporter")
        writer = config.get_terminal_writer()
        writer.hasmarkup = colour
        writer.fullwidth = width or 80
        summary = Summary(reporter, verbosity)
        summary.write(stories, {RECOVERED.node_id: SAID}, ["demo"] if PASSED in stories else [])
        summary.notes(["report: out.html"] if PASSED in stories else [])
        return file.getvalue()


@pytest.fixture
def services(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Services:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    return Services(pytester)


def test_a_recovered_task_shows_its_fixes(services: Services) -> None:
    heading, *lines = services.summary(RECOVERED).splitlines()
    assert heading.strip("=") == " ralph "
    assert "\n".join(lines) == dedent("""\
        RECOVERED demo 1.3 Add a parser
          ├─ ✗ 1.3.1 Fix: 3 != 4 (by agent --fast, did not help)
          │    chance that this fix helps: 71%
          │  └─ ✗ 1.3.1.1 Fix: no idea (by claude, failed)
          └─ ✓ 1.3.2 Fix: 5 != 4 (by claude)
               made a
          wip is kept in commit abc
          - Task 1.3: 2 fixes attempted (1.3.1, 1.3.2) - Final: PASS""")


def test_a_failed_task_shows_its_open_fix(services: Services) -> None:
    assert services.summary(FAILED).splitlines()[1:] == [
        "FAILED demo 1.4 Wait",
        "  └─ ○ 1.4.1 Fix: it (waits)",
    ]


def test_one_that_only_needed_another_try_says_so(services: Services) -> None:
    assert services.summary(RETRIED).splitlines()[1:] == [
        "RECOVERED demo 1.5 Slow",
        "  passed when tried again",
    ]


def test_notes_come_last(services: Services) -> None:
    assert services.summary(PASSED, RETRIED).splitlines()[-2:] == [
        "ALL_TASKS_COMPLETE: demo",
        "ralph: report: out.html",
    ]


def test_where_nothing_happened_nothing_is_said(services: Services) -> None:
    assert services.summary(TaskResult("1.6")) == ""


def test_quiet_is_a_line_a_task(services: Services) -> None:
    assert services.summary(RECOVERED, FAILED, RETRIED, verbosity=-1).splitlines() == [
        "demo: - Task 1.3: 2 fixes attempted (1.3.1, 1.3.2) - Final: PASS",
        "demo: - Task 1.5: passed when tried again",
    ]


def test_verbose_adds_what_was_decided(services: Services) -> None:
    assert "\n  1.3: it runs but does not pass: fix it\n" in services.summary(
        RECOVERED, verbosity=1
    )


def test_very_verbose_tells_every_attempt_of_every_task(services: Services) -> None:
    shown = services.summary(RECOVERED, PASSED, verbosity=2)
    assert (
        dedent("""\
        1. verify failed in 2.0 s: pytest -q
             test_failure: 3 != 4
             → it runs but does not pass: fix it
             | E  3 != 4
             | 1 failed
          2. fix passed in 1:01 min: agent --fast
          3. fix passed in 0 ms: claude
          4. verify passed in 0 ms: pytest -q
        PASSED demo 1.6 Fine
          1. verify passed in 0 ms: true
        """)
        in shown
    )


@pytest.mark.parametrize("width", [40, 60])
def test_titles_are_cut_to_the_width(services: Services, width: int) -> None:
    lines = services.summary(RECOVERED, width=width).splitlines()
    assert all(len(line) <= width for line in lines if "Final:" not in line)
    assert lines[-1] == f"  {history_line(RECOVERED)}"
    assert [line for line in lines if line.endswith("did not help)")]


def test_colours_are_those_of_the_outcome(services: Services) -> None:
    shown = services.summary(RECOVERED, FAILED, colour=True)
    assert "\x1b[32mRECOVERED\x1b[0m\x1b[1m demo 1.3 Add a parser\x1b[0m" in shown
    assert "\x1b[31mFAILED\x1b[0m" in shown
    assert "\x1b[32m✓\x1b[0m 1.3.2 Fix: 5 != 4\x1b[2m (by claude)\x1b[0m" in shown
    assert "\x1b[33m○\x1b[0m 1.4.1" in shown


def test_the_tree_can_be_ascii(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    shown = services.summary(RECOVERED, FAILED)
    assert shown.isascii()
    assert "  |- x 1.3.1 Fix: 3 != 4" in shown
    assert "  |  `- x 1.3.1.1 Fix: no idea" in shown


@pytest.mark.parametrize(
    ("outcome", "final", "ids", "line"),
    [
        ("recovered", "", ["1"], "- Task 9: 1 fix attempted (1) - Final: PASS"),
        (
            "failed",
            "max limit",
            ["1", "2"],
            "- Task 9: 2 fixes attempted (1, 2) - Final: FAIL (max limit)",
        ),
    ],
)
def test_the_history_line_matches_the_progress_log(
    outcome: str, final: str, ids: list[str], line: str
) -> None:
    fixes = tuple(FixResult(id_) for id_ in ids)
    assert history_line(TaskResult("9", outcome=outcome, final=final, fixes=fixes)) == line


def test_foreign_text_sends_no_terminal_commands(services: Services) -> None:
    story = TaskResult(
        "1.1",
        title="\x1b[2Jgone",
        outcome="recovered",
        fixes=(FixResult("1.1.1", "1.1", "Fix: \x1b]0;x\x07", "a\x1b[A"),),
    )
    assert "\x1b" not in services.summary(story)
