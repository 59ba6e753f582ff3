"""The `ralph` section: recovered tasks and their fixes, by verbosity, width and colour."""

from __future__ import annotations

import io
import sys
from textwrap import dedent

import pytest
from _pytest.terminal import TerminalReporter  # public only since 8.4

from pytest_ralph.report.fix_tree import history_line
from pytest_ralph.report.not_run import not_run_lines
from pytest_ralph.report.terminal import Summary
from pytest_ralph.results import Attempt, FixResult, Note, TaskResult

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
            decision="verification failed; creating a fix task",
            output="E  3 != 4\n1 failed",
        ),
        Attempt(2, what="fix", fix_id="1.3.1", executor="/opt/bin/agent --fast", duration=61),
        Attempt(
            3,
            what="fix",
            fix_id="1.3.2",
            executor="claude",
            changed=("src/a.py", "src/b.py"),
            cost=0.1234,
            tokens=5000,
        ),
        # Verifications are numbered by themselves.
        Attempt(2, command="pytest -q"),
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
    notes=(
        Note("verification failed; creating a fix task", "1.3"),
        Note("made a", "1.3.2"),
        Note("wip is kept in commit abc"),
    ),
)
FAILED = TaskResult(
    "1.4",
    spec="demo",
    title="Wait",
    outcome="failed",
    fixes=(FixResult("1.4.2", "1.4", "Fix: it", "repair", "open"),),
)
RETRIED = TaskResult(
    "1.5", spec="demo", title="Slow", outcome="recovered", reason="passed when tried again"
)
PASSED = TaskResult("1.6", spec="demo", title="Fine", attempts=(Attempt(command="true"),))


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


class Recorder:
    """Writes a section through a reporter of pytest, and returns it."""

    reporter: TerminalReporter

    def __init__(self, pytester: pytest.Pytester) -> None:
        self._pytester = pytester

    def summary(
        self, *tasks: TaskResult, verbosity: int = 0, width: int = 0, colour: bool = False
    ) -> str:
        file = Tty() if width else io.StringIO()
        config = self._pytester.parseconfig()
        self.reporter = reporter = TerminalReporter(config, file)
        config.pluginmanager.register(reporter, "terminalreporter")
        writer = config.get_terminal_writer()
        writer.hasmarkup = colour
        writer.fullwidth = width or 80
        summary = Summary(reporter, verbosity)
        summary.write(tasks, ["demo"] if PASSED in tasks else [])
        summary.notes(["report: out.html"] if PASSED in tasks else [])
        return file.getvalue()

    def after_letters(self, letters: str) -> str:
        """Write a note after the progress letters of `-q`."""
        file = io.StringIO()
        config = self._pytester.parseconfig("-q")
        reporter = TerminalReporter(config, file)
        config.pluginmanager.register(reporter, "terminalreporter")
        reporter.write(letters)
        Summary(reporter, -1).notes(["a note"])
        return file.getvalue()


@pytest.fixture
def recorder(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    return Recorder(pytester)


def test_a_recovered_task_shows_its_fixes(recorder: Recorder) -> None:
    heading, *lines = recorder.summary(RECOVERED).splitlines()
    assert heading.strip("=") == " ralph "
    assert "\n".join(lines) == dedent("""\
        RECOVERED demo 1.3 Add a parser
          ├─ ✗ 1.3.1 Fix: 3 != 4 (by agent --fast, did not help)
          │  └─ ✗ 1.3.1.1 Fix: no idea (by claude, failed)
          └─ ✓ 1.3.2 Fix: 5 != 4 (by claude)
               changed src/a.py, src/b.py, cost $0.12
               made a
          wip is kept in commit abc
          - Task 1.3: 2 fixes attempted (1.3.1, 1.3.2) - Final: PASS""")


def test_a_failed_task_shows_its_fixes(recorder: Recorder) -> None:
    tried = [
        FixResult(f"1.4.{number}", "1.4", f"Fix: {number}", "claude", "verification_mismatch")
        for number in (1, 2)
    ]
    attempts = [
        Attempt(what="fix", fix_id="1.4.1", executor="claude", changed=("a.py",), cost=0.1),
        Attempt(what="fix", fix_id="1.4.2", executor="claude", changed=("a.py", "b.py"), cost=0.2),
    ]
    waiting = FixResult("1.4.3", "1.4", "Fix: it", "repair", "open")
    task = FAILED._replace(
        fixes=(*tried, waiting), attempts=tuple(attempts), final="max limit", reason="given up"
    )
    assert recorder.summary(task).splitlines()[1:] == [
        "FAILED demo 1.4 Wait",
        "  ├─ ✗ 1.4.1 and 1.4.2 by claude, did not help, changed a.py, b.py, cost $0.30",
        "  └─ ○ 1.4.3 Fix: it (waits)",
    ]
    assert recorder.summary(task, verbosity=-1) == ""
    assert recorder.summary(task, verbosity=1).splitlines()[1:] == [
        "FAILED demo 1.4 Wait",
        "  ├─ ✗ 1.4.1 Fix: 1 (by claude, did not help)",
        "  │    changed a.py, cost $0.10",
        "  ├─ ✗ 1.4.2 Fix: 2 (by claude, did not help)",
        "  │    changed a.py, b.py, cost $0.20",
        "  └─ ○ 1.4.3 Fix: it (waits)",
        "  - Task 1.4: 3 fixes attempted (1.4.1, 1.4.2, 1.4.3) - Final: FAIL (max limit)",
    ]


def test_an_executed_task_says_what_was_done(recorder: Recorder) -> None:
    executed = Attempt(1, what="execute", executor="claude", changed=("a.py",), cost=0.2)
    task = TaskResult(
        "1.7",
        spec="demo",
        title="Add",
        attempts=(executed, Attempt(2)),
        commit="0123456789abcdef",
    )
    assert recorder.summary(task).splitlines()[1:] == [
        "PASSED demo 1.7 Add",
        "  carried out by claude, changed a.py, cost $0.20",
        "  committed as 0123456789ab",
    ]
    assert recorder.summary(task, verbosity=-1) == ""


def test_a_failed_execution_says_what_was_done(recorder: Recorder) -> None:
    executed = Attempt(1, what="execute", executor="claude", changed=("a.py",), cost=0.2)
    attempts = (executed, Attempt(2, outcome="failed"), executed, Attempt(4, outcome="failed"))
    task = TaskResult("1.7", spec="demo", title="Add", outcome="failed", attempts=attempts)
    assert recorder.summary(task).splitlines()[1:] == [
        "FAILED demo 1.7 Add",
        "  carried out 2 times by claude, changed a.py, cost $0.40",
    ]


def test_an_open_fix_alone_is_not_repeated(recorder: Recorder) -> None:
    assert recorder.summary(FAILED) == ""


def test_a_retried_task_says_so(recorder: Recorder) -> None:
    assert recorder.summary(RETRIED).splitlines()[1:] == [
        "RECOVERED demo 1.5 Slow",
        "  passed when tried again",
    ]


def test_notes_come_last(recorder: Recorder) -> None:
    assert recorder.summary(PASSED, RETRIED).splitlines()[-2:] == [
        "ALL_TASKS_COMPLETE: demo",
        "ralph: report: out.html",
    ]


def test_plain_passes_write_nothing(recorder: Recorder) -> None:
    assert recorder.summary(TaskResult("1.6")) == ""


def test_quiet_is_one_line_per_task(recorder: Recorder) -> None:
    assert recorder.summary(RECOVERED, FAILED, RETRIED, verbosity=-1).splitlines() == [
        "demo: - Task 1.3: 2 fixes attempted (1.3.1, 1.3.2) - Final: PASS",
        "demo: - Task 1.5: passed when tried again",
    ]


def test_last_line_ends_with_the_cost(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = [("1 recovered", {"green": True})]
    monkeypatch.setattr(TerminalReporter, "build_summary_stats_line", lambda _: (counts, "green"))
    recorder.summary(RECOVERED)
    parts, _ = recorder.reporter.build_summary_stats_line()
    assert [text for text, _ in parts] == ["1 recovered", "$0.12"]


def test_verbose_shows_the_tokens(recorder: Recorder) -> None:
    assert "\ncost: $0.12 (5,000 tokens)\n" in recorder.summary(RECOVERED, verbosity=1)


def test_verbose_adds_what_was_decided(recorder: Recorder) -> None:
    assert "\n  1.3: verification failed; creating a fix task\n" in recorder.summary(
        RECOVERED, verbosity=1
    )


def test_very_verbose_states_decisions_once(recorder: Recorder) -> None:
    shown = recorder.summary(RECOVERED, verbosity=2)
    assert shown.count("creating a fix task") == 1


def test_only_verbose_shows_checks_without_consequence(recorder: Recorder) -> None:
    notes = (
        Note("failed again with nothing changed", "1.3", is_detail=True),
        Note("verified again, still passing: 1.2", "1.3", is_detail=True),
    )
    task = RECOVERED._replace(notes=notes)
    assert "again" not in recorder.summary(task)
    assert all(f"\n  {note.line}\n" in recorder.summary(task, verbosity=1) for note in notes)


def test_a_fix_may_uncover_another_failure(recorder: Recorder) -> None:
    first, fix, *_ = RECOVERED.attempts
    attempts = (first, fix, first._replace(kind="lint_error"))
    shown = recorder.summary(RECOVERED._replace(attempts=attempts))
    assert "1.3.1 Fix: 3 != 4 (by agent --fast, another failure followed)" in shown


def test_a_repair_may_uncover_another_error(recorder: Recorder) -> None:
    first, fix, *_ = RECOVERED.attempts
    attempts = (first, fix, first._replace(fingerprint="of another error"))
    tree = RECOVERED.fixes[0]
    repaired = tree._replace(executor="repair:install")
    task = RECOVERED._replace(attempts=attempts, fixes=(repaired,))
    assert "another failure followed" in recorder.summary(task)
    assert "another failure followed" not in recorder.summary(task._replace(fixes=(tree,)))


def test_manual_tasks_are_named(recorder: Recorder) -> None:
    task = TaskResult("1.8", spec="demo", outcome="manual", reason="manual: look at it")
    tasks = (task, task._replace(id="1.9", line=2, reason="manual: and at this"))
    assert "demo: 1.8 and 1.9 left for you to check (manual)" in recorder.summary(*tasks)
    assert "for you" not in recorder.summary(*tasks, verbosity=1)


def test_very_verbose_shows_every_attempt(recorder: Recorder) -> None:
    shown = recorder.summary(RECOVERED, PASSED, verbosity=2)
    assert (
        dedent("""\
        1. verify failed in 2.0 s: pytest -q
             tests failed: 3 != 4
             → verification failed; creating a fix task
             | E  3 != 4
             | 1 failed
          2. fix 1.3.1 done in 1:01 min: agent --fast
          3. fix 1.3.2 done in 0 ms: claude
          4. verify passed in 0 ms: pytest -q
        PASSED demo 1.6 Fine
          1. verify passed in 0 ms: true
        """)
        in shown
    )


@pytest.mark.parametrize("width", [40, 60])
def test_titles_are_cut_to_the_width(recorder: Recorder, width: int) -> None:
    lines = recorder.summary(RECOVERED, width=width).splitlines()
    assert all(len(line) <= width for line in lines if "Final:" not in line)
    assert f"  {history_line(RECOVERED)}" in lines
    assert [line for line in lines if line.endswith("did not help)")]


def test_colours_are_those_of_the_outcome(recorder: Recorder) -> None:
    shown = recorder.summary(RECOVERED, FAILED, colour=True, verbosity=2)
    assert "\x1b[32mRECOVERED\x1b[0m\x1b[1m demo 1.3 Add a parser\x1b[0m" in shown
    assert "\x1b[31mFAILED\x1b[0m" in shown
    assert "\x1b[32m✓\x1b[0m 1.3.2 Fix: 5 != 4\x1b[2m (by claude)\x1b[0m" in shown
    assert "\x1b[33m○\x1b[0m 1.4.2" in shown


def test_sentences_keep_the_colour_of_text(recorder: Recorder) -> None:
    """Yellow text is hard to read on a light background."""
    finding = ("1.3.1 changed tests: test_a.py",)
    attempts = tuple(attempt._replace(findings=finding) for attempt in RECOVERED.attempts[1:3])
    manual = TaskResult("1.7", spec="demo", outcome="manual", reason="manual: look at it")
    guarded = RECOVERED._replace(attempts=attempts)
    shown = recorder.summary(guarded, manual, colour=True)
    assert "\x1b[33m  warning:\x1b[0m 1.3.1 changed tests: test_a.py\n" in shown
    assert "\ndemo: 1.7 left for you to check (manual)\n" in shown


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


def test_foreign_text_sends_no_terminal_commands(recorder: Recorder) -> None:
    task = TaskResult(
        "1.1",
        title="\x1b[2Jgone",
        outcome="recovered",
        fixes=(FixResult("1.1.1", "1.1", "Fix: \x1b]0;x\x07", "a\x1b[A"),),
    )
    assert "\x1b" not in recorder.summary(task)


def blocked(task_id: str, line: int, by: str) -> TaskResult:
    return TaskResult(task_id, spec="demo", line=line, outcome="blocked", reason=f"blocked by {by}")


def test_blocked_tasks_are_collapsed() -> None:
    tasks = [
        TaskResult("1.2", spec="demo", line=1, outcome="failed"),
        blocked("1.3", 2, "1.2"),
        blocked("2.1", 3, "1.2"),
        blocked("2.7", 4, "1.2"),
        TaskResult("3.1", spec="demo", line=5),
        blocked("3.2", 6, "1.2"),
        blocked("3.3", 7, "3.1"),
    ]
    assert not_run_lines(reversed(tasks)) == [
        "demo: 1.3 to 2.7 and 3.2 blocked by 1.2",
        "demo: 3.3 blocked by 3.1",
    ]


def test_tasks_that_need_permission_are_named(recorder: Recorder) -> None:
    reason = "changes something outside: git push"
    task = TaskResult("1.8", spec="demo", outcome="skipped", reason=reason)
    assert recorder.summary(task, task._replace(id="2.1"), verbosity=-1).splitlines() == [
        "demo: 1.8 and 2.1 not run: changes something outside (to allow it: --ralph-allow=remote)"
    ]


def test_a_note_starts_a_line_after_letters(recorder: Recorder) -> None:
    assert recorder.after_letters("..F") == "..F\nralph: a note\n"


def test_specs_of_one_name_are_told_apart() -> None:
    tasks = []
    for path in ("a/demo/tasks.md", "b/demo/tasks.md"):
        for line in (1, 2, 3):
            blocked = TaskResult(
                f"1.{line}",
                spec="demo",
                spec_path=path,
                line=line,
                outcome="blocked",
                reason="blocked by 1.0",
            )
            tasks.append(blocked)
    assert not_run_lines(tasks) == ["demo: 1.1 to 1.3 blocked by 1.0"] * 2


def test_a_listed_task_has_its_node_id(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "-rR")
    assert "RECOVERED specs/demo/tasks.md::1.3~2 - by" in recorder.summary(
        RECOVERED._replace(name="1.3~2")
    )
