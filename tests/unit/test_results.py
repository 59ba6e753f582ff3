"""Results travel as plain values and answer the questions of every report."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from pytest_ralph.failure.failure import Failure
from pytest_ralph.report.run_summary import RunSummary
from pytest_ralph.results import (
    Attempt,
    FixResult,
    Note,
    TaskResult,
    fix_tree,
    from_json,
    to_json,
)


def verify(outcome: str, **facts: Any) -> Attempt:
    return Attempt(outcome=outcome, **facts)


def a_task() -> TaskResult:
    nested = FixResult(
        "1.3.1", "1.3", "Fix: import", "claude", "failed", (FixResult("1.3.1.1", "1.3.1"),)
    )
    return TaskResult(
        "1.3",
        spec="foo",
        spec_path="specs/foo/tasks.md",
        title="Add parser",
        markers=("P",),
        outcome="recovered",
        attempts=(
            verify("failed", kind="test_failure", files=("a.py", "b.py"), missing="yaml"),
            verify("passed"),
        ),
        fixes=(nested,),
        notes=(Note("a line", "1.3"),),
        report="a report",
    )


def test_json_of_results_holds_plain_values_only() -> None:
    def plain(value: object) -> bool:
        if isinstance(value, dict):
            return all(type(key) is str and plain(item) for key, item in value.items())
        if type(value) in (list, tuple):
            return all(map(plain, cast("list[object]", value)))
        return value is None or type(value) in (str, int, float, bool)

    assert plain(to_json(a_task()))


def test_a_task_result_survives_json_unchanged() -> None:
    broken = a_task()._replace(recovery=True, max_attempts=4)
    result = a_task().with_regression(broken)
    assert from_json(TaskResult, json.loads(json.dumps(to_json(result)))) == result


def test_fields_of_a_later_version_are_ignored() -> None:
    data = {
        **to_json(TaskResult("1.1")),
        "mood": "good",
        "attempts": [{"number": 2, "colour": "red"}],
    }
    assert from_json(TaskResult, data) == TaskResult("1.1", attempts=(Attempt(number=2),))


FAIL, PASS = verify("failed"), verify("passed")
EXECUTOR_FAILED = Attempt(what="fix", outcome="failed")


@pytest.mark.parametrize(
    ("outcome", "attempts", "earlier"),
    [
        ("passed", (PASS,), 0),
        ("recovered", (FAIL, PASS), 1),
        ("recovered", (FAIL, FAIL, PASS), 2),
        ("recovered", (FAIL, EXECUTOR_FAILED, PASS), 1),
        ("failed", (FAIL,), 0),
        ("failed", (FAIL, FAIL, FAIL), 2),
        ("failed", (FAIL, EXECUTOR_FAILED), 0),
        ("failed", (EXECUTOR_FAILED,), 0),
        ("regression", (FAIL, FAIL), 1),
        ("manual", (), 0),
    ],
)
def test_earlier_failures_exclude_the_deciding_verification(
    outcome: str, attempts: tuple[Attempt, ...], earlier: int
) -> None:
    assert len(TaskResult("1", outcome=outcome, attempts=attempts).earlier_failures) == earlier


def test_the_last_failed_verification_is_quoted() -> None:
    first, second = verify("failed", error="one"), verify("failed", error="two")
    assert TaskResult("1", attempts=(first, second, EXECUTOR_FAILED)).last_failure == second
    assert TaskResult("1", attempts=(EXECUTOR_FAILED,)).last_failure == EXECUTOR_FAILED
    assert TaskResult("1", attempts=(PASS,)).last_failure is None


def test_a_flat_list_of_fixes_becomes_a_tree() -> None:
    flat = [
        FixResult("1.3.1", "1.3"),
        FixResult("1.3.1.1", "1.3.1"),
        FixResult("1.3.2", "1.3"),
        FixResult("9.1", "9"),
    ]
    task = TaskResult("1.3", fixes=fix_tree(flat, "1.3"))
    assert [(depth, fix.id) for depth, fix in task.all_fixes] == [
        (0, "1.3.1"),
        (1, "1.3.1.1"),
        (0, "1.3.2"),
    ]


def test_a_fix_for_itself_is_left_out() -> None:
    assert fix_tree([FixResult("1.3", "1.3")], "1.3") == ()


def test_an_attempt_holds_the_evidence_of_its_failure() -> None:
    failure = Failure(
        kind="dependency_missing",
        type="BROKEN_BUILD",
        category="tool_error",
        retryable=False,
        error="No module named 'yaml'",
        missing="yaml",
        raw_output="Traceback",
        suggested_actions=("Install it",),
        guidance="Check requirements",
        exit_code=1,
    )
    attempt = Attempt.of_failure(failure, number=2, log="x.log")
    assert (attempt.failed, attempt.number, attempt.kind, attempt.missing) == (
        True,
        2,
        "dependency_missing",
        "yaml",
    )
    assert attempt.advice == ("Install it", "Check requirements")
    assert (attempt.output, attempt.log, attempt.exit_code, attempt.retryable) == (
        "Traceback",
        "x.log",
        1,
        False,
    )


def test_counts_list_failures_first() -> None:
    run = RunSummary(
        tuple(TaskResult(str(n), outcome=o) for n, o in enumerate(["passed", "failed", "passed"]))
    )
    assert list(run.counts.items()) == [("failed", 1), ("passed", 2)]


@pytest.mark.parametrize(
    ("outcome", "ok"),
    [
        ("passed", True),
        ("recovered", True),
        ("manual", True),
        ("blocked", False),
        ("failed", False),
        ("regression", False),
    ],
)
def test_a_run_is_ok_unless_something_failed_or_blocked(outcome: str, ok: bool) -> None:
    assert RunSummary((TaskResult("1", outcome=outcome),)).ok is ok


def test_changed_files_and_cost_are_summed_over_attempts() -> None:
    fix = Attempt(what="fix", changed=("b.py", "a.py"), cost=0.25)
    again = Attempt(what="fix", changed=("a.py", "c.py"), cost=0.5)
    task = TaskResult("1", attempts=(FAIL, fix, FAIL, again, PASS))
    assert (task.changed, task.cost) == (("b.py", "a.py", "c.py"), 0.75)
    assert (TaskResult("1", attempts=(FAIL,)).changed, TaskResult("1").cost) == ((), None)


def test_what_several_fixes_did_wrong_is_one_finding() -> None:
    fixes = [
        Attempt(what="fix", findings=("1.1 changed tests: a.py", "1.1 changed the stash")),
        Attempt(what="fix", findings=("1.2 changed tests: a.py",)),
        Attempt(what="fix", findings=("1.2 changed tests: a.py",)),
    ]
    task = TaskResult("1", attempts=tuple(fixes))
    assert task.findings == ("1.1, 1.2 changed tests: a.py", "1.1 changed the stash")


def test_an_answer_carries_the_failure_it_answers() -> None:
    failure = Failure(
        kind="timeout", type="UNKNOWN", error="slow", fingerprint="f", blocked_on="db"
    )
    stored = Attempt(what="fix", executor="claude", error="gave up").answering(failure)
    assert (stored.kind, stored.error, stored.fingerprint, stored.blocked_on, stored.executor) == (
        "timeout",
        "slow",
        "f",
        "db",
        "claude",
    )
    assert PASS.answering(None) == PASS


def test_advice_is_for_people_and_fits_the_decision() -> None:
    attempt = Attempt(
        outcome="failed",
        advice=("Retry with timeout=2s", "Split the task", "Use more tools"),
        guidance="Use more tools",
    )
    task = TaskResult("1.1", outcome="failed", attempts=(attempt,))
    assert task.advice == ("Raise the time limit: `**Timeout**: 2s`", "Split the task")
    hung = task._replace(reason="no progress in 1 s: more time would not help")
    assert hung.advice == ("Split the task",)


def test_fixes_for_each_other_are_listed_once() -> None:
    (fix,) = fix_tree([FixResult("1.4", "1.3"), FixResult("1.3", "1.4")], "1.3")
    assert [(depth, one.id) for depth, one in fix.walk()] == [(0, "1.4"), (1, "1.3")]


def test_a_task_that_is_broken_keeps_what_it_broke() -> None:
    first = TaskResult("1.3").with_regression(TaskResult("1.1", outcome="failed"))
    later = TaskResult("1.3").with_regression(TaskResult("1.2", outcome="failed"))
    assert [one.id for one in first.followed_by(later).regressions] == ["1.1", "1.2"]
