"""The story travels as plain values and answers what every report asks."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from pytest_ralph.failure.failure import Failure
from pytest_ralph.results import (
    Attempt,
    FixResult,
    PastKind,
    PastRun,
    RunHistory,
    RunSummary,
    TaskReport,
    TaskResult,
    fix_tree,
)


def verify(outcome: str, **facts: Any) -> Attempt:
    return Attempt(outcome=outcome, **facts)


def a_run() -> RunSummary:
    nested = FixResult(
        "1.3.1", "1.3", "Fix: import", "claude", "failed", (FixResult("1.3.1.1", "1.3.1"),)
    )
    task = TaskResult(
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
        estimate=1.5,
    )
    history = RunHistory((PastRun(1.0, passed=2, failed=1),), (PastKind("timeout", 3, 1),))
    return RunSummary((task,), 10.0, 2.5, "pytest --ralph", "/p", "1.0", history, ("a note",))


def test_a_story_survives_json_unchanged() -> None:
    run = a_run()
    assert RunSummary.from_json(json.loads(json.dumps(run.to_json()))) == run


def test_json_of_a_story_holds_nothing_but_plain_values() -> None:
    def plain(value: object) -> bool:
        if isinstance(value, dict):
            return all(type(key) is str and plain(item) for key, item in value.items())
        if type(value) in (list, tuple):
            return all(map(plain, cast("list[object]", value)))
        return value is None or type(value) in (str, int, float, bool)

    assert plain(a_run().to_json())
    assert plain(TaskReport(a_run().tasks[0], ("a line",)).to_json())


def test_what_a_report_tells_survives_json_unchanged() -> None:
    told = TaskReport(a_run().tasks[0], ("a line",), recovery=True, max_attempts=4)
    assert TaskReport.from_json(json.loads(json.dumps(told.to_json()))) == told


def test_fields_of_a_later_version_are_ignored() -> None:
    data = {
        **TaskResult("1.1").to_json(),
        "mood": "good",
        "attempts": [{"number": 2, "colour": "red"}],
    }
    assert TaskResult.from_json(data) == TaskResult("1.1", attempts=(Attempt(number=2),))


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
def test_earlier_failures_are_the_failed_verifications_before_the_deciding_one(
    outcome: str, attempts: tuple[Attempt, ...], earlier: int
) -> None:
    assert len(TaskResult("1", outcome=outcome, attempts=attempts).earlier_failures) == earlier


def test_the_failure_to_quote_is_the_last_verification_that_failed() -> None:
    first, second = verify("failed", error="one"), verify("failed", error="two")
    assert TaskResult("1", attempts=(first, second, EXECUTOR_FAILED)).last_failure == second
    assert TaskResult("1", attempts=(EXECUTOR_FAILED,)).last_failure == EXECUTOR_FAILED
    assert TaskResult("1", attempts=(PASS,)).last_failure is None


def test_a_flat_list_of_fixes_becomes_the_tree_of_their_lineage() -> None:
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


def test_an_attempt_tells_the_evidence_of_its_failure() -> None:
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


def test_counts_put_what_needs_a_hand_first() -> None:
    run = RunSummary(
        tuple(
            TaskResult(str(n), outcome=o)
            for n, o in enumerate(["passed", "failed", "passed", "odd"])
        )
    )
    assert list(run.counts.items()) == [("failed", 1), ("passed", 2), ("odd", 1)]


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
def test_a_run_is_well_when_nothing_failed_or_is_blocked(outcome: str, ok: bool) -> None:
    assert RunSummary((TaskResult("1", outcome=outcome),)).ok is ok
