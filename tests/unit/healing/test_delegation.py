"""What an executor is asked, and what is taken from what it says."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_ralph.failure.failure import NO_FIX, Failure
from pytest_ralph.fixing.agents.base import Outcome
from pytest_ralph.healing.decide import TaskHistory
from pytest_ralph.healing.delegation import approach_of, form_of
from pytest_ralph.healing.remedy import depth_of, nobody
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
def test_an_approach_is_what_the_executor_last_called_so(output: str, approach: str) -> None:
    assert approach_of(Outcome(completed=True, output=output)) == approach


@pytest.mark.parametrize(
    ("tried", "approach"), [("by force", "by force"), (NO_FIX, "by hand"), ("", "by hand")]
)
def test_what_a_failure_says_was_tried_comes_first(tried: str, approach: str) -> None:
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
def test_the_form_of_a_prompt_fits_what_is_to_be_done(
    category: Any, action: Any, form: str
) -> None:
    assert form_of(Failure(category=category), TaskHistory(action=action)) == form


def test_without_a_failure_the_form_is_that_of_the_action() -> None:
    assert form_of(None, TaskHistory(action="execute")) == "execute"


@pytest.mark.parametrize(
    ("fix", "original", "depth"),
    [("1.3", "1.3", 0), ("1.3.1", "1.3", 1), ("1.3.1.2", "1.3", 2), ("1.1", "1.", 1)],
)
def test_the_depth_of_a_fix_is_counted_from_its_original(
    fix: str, original: str, depth: int
) -> None:
    assert depth_of(Task(fix, "a"), Task(original, "b")) == depth


@pytest.mark.parametrize(
    ("executor", "why"),
    [("repair", "no built-in repair applies"), ("none", "there is no executor")],
)
def test_a_fix_for_nobody_is_left_to_a_person_who_is_told_how(executor: str, why: str) -> None:
    decision = nobody(Task("1.3.1", "Fix: it"), executor)
    assert (decision.action, decision.final) == ("escalate", "no executor")
    assert decision.reason == f"{why}: task 1.3.1 waits in tasks.md"
    assert decision.lines[0] == "Next: do task 1.3.1 (Fix: it), then run the same command again."
    assert decision.lines[1].startswith("Or have an agent do it: --ralph-executor claude ")
