"""The prompt an executor gets, and what is read from its answer."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_ralph.failure.failure import NO_FIX, Failure
from pytest_ralph.fixing.agents.base import Outcome
from pytest_ralph.healing.decide import TaskHistory, no_executor
from pytest_ralph.healing.executor_run import approach_of, form_of, live_row
from pytest_ralph.healing.fixer import depth_of
from pytest_ralph.spec.task import Task


@pytest.mark.parametrize(
    ("output", "approach"),
    [
        ("Approach: rewrite the parser\n", "rewrite the parser"),
        ("**Approach**: one\nmore\n- approach: two \n", "two"),
        ("The approach is good\n", ""),
        ("", ""),
    ],
)
def test_the_last_approach_line_counts(output: str, approach: str) -> None:
    assert approach_of(Outcome(completed=True, output=output)) == approach


@pytest.mark.parametrize(
    ("tried", "approach"), [("by force", "by force"), (NO_FIX, "by hand"), ("", "by hand")]
)
def test_the_attempted_fix_of_a_failure_comes_first(tried: str, approach: str) -> None:
    failure = Failure(attempted_fix=tried)
    assert (
        approach_of(Outcome(completed=False, failure=failure, output="Approach: by hand"))
        == approach
    )


@pytest.mark.parametrize(
    ("category", "action", "form"),
    [
        ("partial", "fix", "continue"),
        ("partial", "retry", "retry"),
        ("timeout", "fix", "fix"),
        (None, "rollback", "fix"),
        (None, "execute", "execute"),
        (None, "continue", "continue"),
        (None, "enrich", "enrich"),
        (None, "split", "split"),
    ],
)
def test_the_prompt_fits_the_action(category: Any, action: Any, form: str) -> None:
    assert form_of(Failure(category=category), TaskHistory(action=action)) == form


def test_without_a_failure_the_action_picks_the_prompt() -> None:
    assert form_of(None, TaskHistory(action="execute")) == "execute"


@pytest.mark.parametrize(
    ("fix", "original", "depth"),
    [("1.3", "1.3", 0), ("1.3.1", "1.3", 1), ("1.3.1.2", "1.3", 2), ("1.1", "1.", 1)],
)
def test_depth_is_counted_from_the_original(fix: str, original: str, depth: int) -> None:
    assert depth_of(Task(fix, "a"), Task(original, "b")) == depth


@pytest.mark.parametrize(
    ("executor", "why"),
    [("repair", "no built-in repair applies"), ("none", "there is no executor")],
)
def test_without_an_executor_the_fix_waits(executor: str, why: str) -> None:
    decision = no_executor(Task("1.3.1", "Fix: it"), executor)
    assert (decision.action, decision.final) == ("escalate", "no executor")
    assert decision.reason == f"{why}; task 1.3.1 waits in tasks.md"


@pytest.mark.parametrize(
    ("target", "fixes", "action", "row"),
    [
        ("1.3", (), "fix", "1.3.3 fix 1 of 3 by claude"),
        ("1.3", ("1.3.1", "1.3.2"), "fix", "1.3.3 fix 3 of 3 by claude"),
        ("1.3.3", (), "continue", "1.3.3 continue by claude"),
    ],
)
def test_the_live_row_counts_fixes(
    target: str, fixes: tuple[str, ...], action: Any, row: str
) -> None:
    fix = Task("1.3.3", "Fix: it", markers=("FIX 1.3",))
    history = TaskHistory(task_id=target, fixes=fixes, action=action)
    assert live_row(fix, history, "claude", None) == row
