"""Runs of executors are counted, by all who share them, and end at their number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ralph.healing.budget import Budget

if TYPE_CHECKING:
    from pathlib import Path


def test_a_budget_is_spent_run_by_run() -> None:
    budget = Budget(2)
    assert [(budget.left, budget.take()) for _ in range(3)] == [(2, True), (1, True), (0, False)]
    assert budget.left == 0


def test_processes_that_share_a_file_share_a_budget(tmp_path: Path) -> None:
    file = tmp_path / "run" / "deep" / "budget"
    one, other = Budget(3, file), Budget(3, file)
    assert (one.take(), other.take()) == (True, True)
    assert (one.left, other.left) == (1, 1)
    assert (one.take(), other.take(), one.take()) == (True, False, False)
    assert one.left == 0


def test_a_smaller_budget_within_another_takes_of_both() -> None:
    whole = Budget(3)
    part, rest = Budget(2, within=whole), Budget(9, within=whole)
    assert (part.left, rest.left) == (2, 3)
    assert [part.take() for _ in range(3)] == [True, True, False]
    assert (part.left, rest.left, whole.left) == (0, 1, 1)
    assert [rest.take(), rest.take()] == [True, False]
    assert rest.left == 0


def test_what_the_whole_refuses_is_not_counted_in_the_part() -> None:
    whole = Budget(1)
    part = Budget(1, within=whole)
    whole.take()
    assert not part.take()
    assert Budget(5, within=Budget(5)).left == 5
    assert part.left == 0
    whole.give_back()
    assert part.left == 1


def test_a_run_is_given_back_to_both(tmp_path: Path) -> None:
    whole = Budget(2, tmp_path / "budget")
    part = Budget(1, within=whole)
    assert part.take()
    part.give_back()
    assert (part.left, whole.left) == (1, 2)


def test_the_budget_that_is_used_up_is_named() -> None:
    run = Budget(3)
    spec = Budget(10, within=run)
    assert spec.spent_total == 10
    while run.take():
        pass
    assert spec.spent_total == 3


@pytest.mark.parametrize("nonsense", [float("nan"), -100.0])
def test_a_cost_that_is_no_amount_does_not_count(nonsense: float) -> None:
    budget = Budget(3, max_cost=1.0)
    budget.spend(nonsense)
    budget.spend(2.0)
    assert budget.is_cost_reached
