"""The decision table: every rule by its own row, and the order they stand in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_ralph.failure.failure import (
    BROKEN_BUILD,
    CIRCULAR_FIX,
    CONTEXT_EXHAUSTED,
    VERIFICATION_FAILED,
    Failure,
)
from pytest_ralph.healing.budget import Budget
from pytest_ralph.healing.decide import (
    RULES,
    SERVICE_PAUSE,
    Decision,
    FailedAttempt,
    TaskHistory,
    budget_spent,
    decide,
    pause_before_probe,
)
from pytest_ralph.spec.document import Spec

AGENT: dict[str, Any] = {"has_agent": True, "task_id": "1.3"}
TIMEOUT = Failure(kind="timeout", category="timeout", timed_out=True)
EXHAUSTED = Failure(kind="context_exhausted", type=CONTEXT_EXHAUSTED)
BUILD = Failure(kind="build_error", type=BROKEN_BUILD)
TESTS = Failure(kind="test_failure", type=VERIFICATION_FAILED)
UNKNOWN = Failure()
MISSING = Failure(kind="dependency_missing", type=BROKEN_BUILD, retryable=False, missing="leftpad")
LOST = Failure(kind="missing_context", category="missing_context", retryable=False)
INVALID = Failure(kind="invalid_task", category="invalid_task", retryable=False)
SPENT = budget_spent(Budget(0))
STUCK: dict[str, Any] = {"fixes": ("1",), "fingerprints": ("a", "a"), "trees": ("t", "t")}
ALIKE = (
    "Using async await for fetch",
    "Using async/await with try-catch",
    "Using async await pattern",
)

ROWS: list[tuple[str, Failure, dict[str, Any], str, str]] = [
    # what, failure, past, action, final or a part of the reason
    ("timeout with progress", TIMEOUT, {"made_progress": True}, "retry", "trying again with 600 s"),
    (
        "timeout doubled",
        TIMEOUT,
        {**AGENT, "made_progress": True, "extended": True},
        "fix",
        "one fix",
    ),
    (
        "timeout doubled and fixed",
        TIMEOUT,
        {**AGENT, "made_progress": True, "extended": True, "fixes": ("1",), "timeout": 600.0},
        "escalate",
        "still not done after 600 s, and after a fix",
    ),
    ("timeout, several steps", TIMEOUT, {**AGENT, "steps": 3}, "split", "its 3 steps"),
    ("timeout, one step", TIMEOUT, {**AGENT, "steps": 1}, "fix", "one fix task for the hang"),
    (
        "timeout, fixed once",
        TIMEOUT,
        {**AGENT, "steps": 1, "fixes": ("1",)},
        "escalate",
        "not retryable",
    ),
    (
        "executor out of time",
        TIMEOUT,
        {**AGENT, "by_executor": True, "made_progress": True, "extended": True},
        "escalate",
        "did not finish",
    ),
    ("no executor is available", TESTS, {"outage": "rate limit"}, "escalate", "no executor"),
    (
        "a repair needs no executor",
        TESTS,
        {"outage": "rate limit", "repair": "format"},
        "repair",
        "format",
    ),
    (
        "an executor asks for a person",
        replace(TESTS, error="this needs a human: the key is in a safe"),
        {**AGENT, "by_executor": True},
        "escalate",
        "the executor says",
    ),
    (
        "timeout, split before",
        TIMEOUT,
        {**AGENT, "steps": 3, "split": True},
        "escalate",
        "not retryable",
    ),
    ("timeout, nobody to split for", TIMEOUT, {"steps": 3}, "escalate", "not retryable"),
    (
        "timeout, no run left to split",
        TIMEOUT,
        {**AGENT, "steps": 3, "spent": SPENT},
        "escalate",
        "not retryable",
    ),
    ("words of a timeout are none", replace(TIMEOUT, timed_out=False), AGENT, "fix", "one fix"),
    ("context exhausted", EXHAUSTED, AGENT, "continue", "(1 of 3)"),
    ("context exhausted again", EXHAUSTED, {**AGENT, "continuations": 2}, "continue", "(3 of 3)"),
    ("context exhausted for good", EXHAUSTED, {**AGENT, "continuations": 3}, "fix", "one fix"),
    (
        "context exhausted, fixed once",
        EXHAUSTED,
        {**AGENT, "continuations": 3, "fixes": ("a",)},
        "escalate",
        "unknown",
    ),
    ("context exhausted, nobody to go on", EXHAUSTED, {}, "fix", "one fix"),
    ("context exhausted at any depth", EXHAUSTED, {**AGENT, "depth": 3}, "continue", ""),
    ("context missing", LOST, AGENT, "enrich", "trying again with more context"),
    (
        "context missing to an executor",
        LOST,
        {**AGENT, "by_executor": True, "depth": 3},
        "enrich",
        "trying again with more context",
    ),
    ("context missing again", LOST, {**AGENT, "enriched": True}, "escalate", "not retryable"),
    ("context missing, nobody to ask", LOST, {}, "escalate", "not retryable"),
    ("too deep", TESTS, {**AGENT, "depth": 3}, "escalate", "max depth"),
    ("not yet too deep", TESTS, {**AGENT, "depth": 2}, "fix", ""),
    ("too many", TESTS, {**AGENT, "fixes": ("1", "2", "3")}, "escalate", "max limit"),
    ("not yet too many", TESTS, {**AGENT, "fixes": ("1", "2")}, "fix", "different approach"),
    ("none allowed", TESTS, {**AGENT, "max_fixes": 0}, "escalate", "max limit"),
    ("called circular", replace(TESTS, type=CIRCULAR_FIX), AGENT, "escalate", "circular"),
    ("approaches alike", TESTS, {**AGENT, "approaches": ALIKE}, "escalate", "circular"),
    ("two approaches alike", TESTS, {**AGENT, "approaches": ALIKE[:2]}, "fix", ""),
    ("nothing changed", TESTS, {**AGENT, **STUCK}, "escalate", "circular"),
    ("nothing was fixed", TESTS, {**AGENT, **STUCK, "fixes": ()}, "fix", ""),
    ("something changed", TESTS, {**AGENT, **STUCK, "trees": ("t", "u")}, "fix", ""),
    ("another error", TESTS, {**AGENT, **STUCK, "fingerprints": ("a", "b")}, "fix", ""),
    ("no tree to know", TESTS, {**AGENT, **STUCK, "trees": ("", "")}, "fix", ""),
    ("a repair applies", MISSING, {"repair": "install"}, "repair", "install"),
    ("a repair before an agent", TESTS, {**AGENT, "repair": "format"}, "repair", "format"),
    (
        "a repair needs no budget",
        TESTS,
        {**AGENT, "repair": "format", "spent": SPENT},
        "repair",
        "format",
    ),
    (
        "a repair past the limit",
        TESTS,
        {"repair": "format", "fixes": ("1", "2", "3")},
        "escalate",
        "max limit",
    ),
    ("budget budget_spent", TESTS, {**AGENT, "spent": SPENT}, "escalate", "budget"),
    ("budget budget_spent, nobody to spend it", TESTS, {"spent": SPENT}, "fix", ""),
    ("missing package, agent", MISSING, AGENT, "fix", "one fix task"),
    (
        "missing package, agent tried",
        MISSING,
        {**AGENT, "fixes": ("1",)},
        "escalate",
        "not retryable",
    ),
    ("missing package, no agent", MISSING, {}, "escalate", "(leftpad)"),
    (
        "missing for the executor of a fix",
        MISSING,
        {**AGENT, "by_executor": True, "depth": 1},
        "escalate",
        "not retryable",
    ),
    ("not retryable", INVALID, AGENT, "escalate", "not retryable"),
    (
        "not retryable, kind unknown",
        replace(INVALID, kind="unknown"),
        AGENT,
        "escalate",
        "invalid task: trying again cannot help",
    ),
    ("broken build", BUILD, AGENT, "fix", "build is broken"),
    ("broken build, rollback", BUILD, {**AGENT, "rollback": True}, "rollback", "last good commit"),
    ("failed verification", TESTS, AGENT, "fix", "verification failed"),
    ("failed verification again", TESTS, {**AGENT, "fixes": ("1",)}, "fix", "different approach"),
    ("failed verification, nobody", TESTS, {}, "fix", ""),
    ("unknown", UNKNOWN, AGENT, "fix", "one fix task only"),
    (
        "unknown after another failure",
        UNKNOWN,
        {**AGENT, "fixes": ("1",), "is_new_kind": True},
        "fix",
        "one fix task only",
    ),
    ("unknown again", UNKNOWN, {**AGENT, "fixes": ("1",)}, "escalate", "unknown error"),
]


@pytest.mark.parametrize(
    ("failure", "past", "action", "told"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_the_table(failure: Failure, past: dict[str, Any], action: str, told: str) -> None:
    decision = decide(failure, TaskHistory(**past))

    assert decision.action == action
    assert told in decision.reason or told == decision.final
    assert decision.reason
    assert "\n" not in decision.reason
    assert bool(decision.final) == (action == "escalate")


def test_every_rule_has_a_row_of_its_own() -> None:
    def rule(failure: Failure, past: TaskHistory) -> int:
        return next(at for at, (applies, _) in enumerate(RULES) if applies(failure, past))

    assert {rule(failure, TaskHistory(**past)) for _, failure, past, *_ in ROWS} == set(
        range(len(RULES))
    )


def test_the_lines_of_the_guide() -> None:
    limit = decide(TESTS, TaskHistory(task_id="1.3", fixes=("1.3.1", "1.3.2", "1.3.3")))
    assert limit.lines == (
        "ERROR: Max fix attempts (3) reached for task 1.3",
        "Fix attempts: 1.3.1, 1.3.2, 1.3.3",
    )

    depth = decide(TESTS, TaskHistory(task_id="1.3.1.1.1", depth=3))
    assert depth.lines == ("ERROR: Max fix task depth (3) exceeded for task 1.3.1.1.1",)

    assert budget_spent(Budget(7)).lines == ("ERROR: Max global iterations (7) reached",)
    costly = Budget(7, max_cost=1.5)
    costly.spend(2.0)
    assert budget_spent(costly).lines == ("ERROR: Max cost ($1.50) reached",)


@pytest.mark.parametrize(
    ("kind", "timed_out", "pause"),
    [
        ("timeout", True, 0.0),
        ("timeout", False, SERVICE_PAUSE),
        ("service_unavailable", False, SERVICE_PAUSE),
        ("test_failure", False, 0.0),
        ("lint_error", False, None),
    ],
)
def test_what_others_are_slow_with_gets_time(
    kind: str, timed_out: bool, pause: float | None
) -> None:
    failure = Failure(kind=kind, type="UNKNOWN", timed_out=timed_out)
    task = Spec.parse("- [ ] 1.1 Work\n  - **Verify**: `true`\n", Path("tasks.md"))["1.1"]
    failed = FailedAttempt(task=task, failure=failure, timeout=300)

    assert pause_before_probe(failed, Decision("fix", "")) == pause
