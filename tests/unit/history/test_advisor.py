"""Questions to a history, and what becomes of them when it has no answer or is broken."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.failure.failure import Failure
from pytest_ralph.history.advisor import Advisor
from pytest_ralph.history.store import History
from tests.records import record_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.unit.history.conftest import Diary

FAILURE = Failure(kind="test_failure", error="3 != 4", fingerprint="f1")


@pytest.fixture
def advisor(diary: Diary) -> Advisor:
    return Advisor(lambda: diary.history, pytest.fail)


def test_an_empty_history_has_no_answers(advisor: Advisor) -> None:
    assert advisor.hints(FAILURE) == ()
    assert advisor.chance("test_failure", "claude") is None
    assert not advisor.prefers("test_failure", "repair:lint", "claude")
    assert advisor.time_limit("specs/foo", "1.1") is None
    assert advisor.lasting("specs/foo", "1.1", 300) == ()
    assert advisor.risks("specs/foo") == ()


@pytest.mark.parametrize(
    ("durations", "limit", "told"),
    [
        ([1.0] * 4, 300, ()),
        # Three times what nearly all took.
        (
            [20.0] * 9 + [25.0],
            30,
            ("95% of 10 passes took at most 25 s: a limit of 75 s is enough",),
        ),
        (
            [0.26] * 5,
            300,
            ("95% of 5 passes took at most 0.3 s: more time is unlikely to help",),
        ),
    ],
)
def test_how_long_a_task_usually_takes(
    diary: Diary, advisor: Advisor, durations: list[float], limit: float, told: tuple[str, ...]
) -> None:
    for duration in durations:
        diary.note("1.1", duration=duration)
    assert advisor.lasting("specs/foo", "1.1", limit) == told


@pytest.mark.parametrize(("cases", "preferred"), [(4, False), (5, True)])
def test_the_better_executor_is_preferred_from_five_cases(
    diary: Diary, advisor: Advisor, cases: int, preferred: bool
) -> None:
    diary.fails()
    for _ in range(cases):
        diary.fix(executor="claude")
    assert advisor.prefers("test_failure", "repair:lint", "claude") is preferred
    assert not advisor.prefers("test_failure", "claude", "repair:lint")


def test_a_chance_belongs_to_kind_and_executor(diary: Diary, advisor: Advisor) -> None:
    diary.fails()
    for works in (True, True, True, False, False):
        diary.fix(works=works)
    chance = advisor.chance("test_failure", "claude")
    assert chance is not None
    assert (chance.hits, chance.cases, chance.probability) == (3, 5, 4 / 7)


class TestSilence:
    """After one question that failed, no more are asked, and one warning is enough."""

    @pytest.fixture
    def locked(self, tmp_path: Path) -> Iterator[Path]:
        path = tmp_path / "history.db"
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        yield path
        other.close()

    def test_a_locked_history_costs_its_patience_once(self, locked: Path) -> None:
        warnings: list[str] = []
        history = History(locked, busy_timeout=0.2)
        advisor = Advisor(lambda: history, warnings.append)
        began = time.monotonic()
        for _ in range(20):
            assert advisor.chance("test_failure", "claude") is None
            assert advisor.statistics() is None
        # Forty questions would wait eight seconds.
        assert time.monotonic() - began < 6
        assert warnings == [f"history is not recorded: {locked}: database is locked"]

    def test_answers_equal_those_of_the_history(self, locked: Path) -> None:
        """So that, of the same trouble, a person reads once."""
        said: set[str] = set()
        history = History(locked, busy_timeout=0.1, warn=said.add)
        history.record(record_of("r1", 1.0, "specs/foo", "1.1", outcome="failed"))
        Advisor(lambda: history, said.add).hints(FAILURE)
        assert len(said) == 1
