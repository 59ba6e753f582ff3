"""Every statistic against numbers worked out by hand."""

from __future__ import annotations

import json
import random
import sqlite3
import time
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.history.stats import (
    Blocker,
    Calibration,
    ExecutorScore,
    FixRate,
    Flaky,
    KindCounts,
    Recovery,
    RunCounts,
    Score,
    Share,
    Totals,
    measure,
)
from pytest_ralph.history.store import History
from tests.records import record_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.history.conftest import Diary


def test_an_empty_history_is_all_zeros(tmp_path: Path) -> None:
    with History(tmp_path / ".ralph" / "history.db") as history:
        empty = measure(history, now=0.0)
    assert empty.totals == Totals(0, 0, 0, 0, 0)
    assert empty.recovery == Recovery(0, 0, None, None)
    assert empty.calibration == Calibration(0, None, ())
    assert (empty.by_kind, empty.by_task, empty.blockers, empty.runs, empty.last_day.alert) == (
        (),
        (),
        (),
        (),
        None,
    )
    assert not (tmp_path / ".ralph").exists()


def test_failures_are_counted_by_category_and_kind(diary: Diary) -> None:
    diary.note("1.1")
    for _ in range(2):
        diary.fails("1.2", "timeout", category="timeout")
    diary.fails("1.3", "lint_error", category="tool_error")
    diary.fails("1.3", "test_failure", category=None)
    diary.fix("1.3", "test_failure", works=True, category=None)
    found = measure(diary.history, now=diary.time)
    assert found.by_category == (
        Share("timeout", 2, 50.0),
        Share(None, 1, 25.0),
        Share("tool_error", 1, 25.0),
    )
    assert found.by_kind == (
        Share("timeout", 2, 50.0),
        Share("lint_error", 1, 25.0),
        Share("test_failure", 1, 25.0),
    )
    assert found.totals == Totals(runs=1, tasks=3, attempts=6, failures=4, fixes=1)


def test_a_failed_execution_counts_a_fix_does_not(diary: Diary) -> None:
    diary.fails("1.1", "context_exhausted", what="execute", executor="claude")
    diary.note("1.1", "failed", what="fix", kind="test_failure", executor="claude")
    assert measure(diary.history, now=0.0).by_kind == (Share("context_exhausted", 1, 100.0),)


@pytest.mark.parametrize(
    ("ages", "threshold", "failures", "alert"),
    [
        ([0, 3600, 86_399], 2, 3, "High delegation failure rate: 3 failures in 24h"),
        ([0, 3600, 86_399], 3, 3, None),
        ([0, 86_401, 200_000], 0, 1, "High delegation failure rate: 1 failures in 24h"),
        # The clock was set back by an hour, or by a year.
        ([-3600, -3600], 1, 2, "High delegation failure rate: 2 failures in 24h"),
        ([-31_536_000], 0, 0, None),
    ],
)
def test_the_last_day_alerts_past_the_threshold(
    diary: Diary, ages: list[float], threshold: int, failures: int, alert: str | None
) -> None:
    now = 1_000_000_000.0
    for age in ages:
        diary.fails(time=now - age, category="partial")
    last_day = measure(diary.history, now=now, threshold=threshold).last_day
    assert (last_day.failures, last_day.alert) == (failures, alert)


def test_the_last_day_has_rate_and_categories(diary: Diary) -> None:
    now = 1_000_000_000.0
    diary.fails(time=now - 90_000, category="timeout")
    diary.fails(time=now - 10, category="partial")
    for _ in range(3):
        diary.note(time=now - 5)
    last_day = measure(diary.history, now=now).last_day
    assert (last_day.attempts, last_day.failures, last_day.percent) == (4, 1, 25.0)
    assert last_day.by_category == (Share("partial", 1, 100.0),)


def test_tasks_and_specs_are_scored_worst_first(diary: Diary) -> None:
    diary.note("1.1", duration=2.0)
    diary.fails("1.2", duration=4.0)
    diary.fix("1.2", works=True, verify={"duration": 6.0})
    diary.fails("2.1", spec="specs/bar", duration=1.0)
    diary.run = "r2"
    diary.fails("1.2", duration=8.0)
    found = measure(diary.history, now=0.0)
    assert found.by_task == (
        Score(
            "specs/foo",
            "1.2",
            attempts=3,
            failures=2,
            recovered=1,
            unrecovered=1,
            mean_duration=6.0,
        ),
        Score(
            "specs/bar",
            "2.1",
            attempts=1,
            failures=1,
            recovered=0,
            unrecovered=1,
            mean_duration=1.0,
        ),
        Score(
            "specs/foo",
            "1.1",
            attempts=1,
            failures=0,
            recovered=0,
            unrecovered=0,
            mean_duration=2.0,
        ),
    )
    assert found.by_spec == (
        Score(
            "specs/foo", "", attempts=4, failures=2, recovered=1, unrecovered=1, mean_duration=5.0
        ),
        Score(
            "specs/bar", "", attempts=1, failures=1, recovered=0, unrecovered=1, mean_duration=1.0
        ),
    )


def test_executors_and_kinds_have_success_rates(diary: Diary) -> None:
    diary.fails("1.1")
    diary.fix("1.1", works=False, duration=10.0)
    diary.fix("1.1", works=True, duration=20.0)
    diary.fails("1.2", "lint_error")
    diary.fix(
        "1.2",
        "lint_error",
        works=True,
        what="repair",
        executor="repair",
        fix_id="lint",
        duration=1.0,
    )
    diary.note("1.3", "failed", what="execute", executor="claude", duration=30.0)
    found = measure(diary.history, now=0.0)
    assert found.by_executor == (
        ExecutorScore("claude", runs=3, succeeded=1, rate=1 / 3, mean_duration=20.0),
        ExecutorScore("repair", runs=1, succeeded=1, rate=1.0, mean_duration=1.0),
    )
    assert found.fix_rates == (
        FixRate("test_failure", "claude", tried=2, worked=1, rate=0.5),
        FixRate("lint_error", "repair", tried=1, worked=1, rate=1.0),
    )


def test_a_failed_fix_is_one_executor_run(diary: Diary) -> None:
    diary.fails("1.1")
    diary.note("1.1", "failed", what="execute", kind="timeout", executor="claude", fix_id="1.1.1")
    diary.note("1.1", "failed", what="fix", kind="test_failure", executor="claude", fix_id="1.1.1")
    found = measure(diary.history, now=0.0)
    assert found.by_executor == (
        ExecutorScore("claude", runs=1, succeeded=0, rate=0.0, mean_duration=0.0),
    )


def test_an_unverified_fix_is_not_a_case(diary: Diary) -> None:
    diary.fails("1.1")
    diary.note("1.1", what="fix", kind="test_failure", executor="claude")
    diary.run = "r2"
    diary.note("1.1")
    found = measure(diary.history, now=0.0)
    assert found.fix_rates == ()
    assert found.by_executor == (
        ExecutorScore("claude", runs=1, succeeded=0, rate=0.0, mean_duration=0.0),
    )


def test_a_failed_fix_gets_no_later_credit(diary: Diary) -> None:
    diary.fails("1.1")
    diary.note("1.1", "failed", what="fix", kind="test_failure", executor="claude", fix_id="1.1.1")
    diary.fix("1.1", works=True, fix_id="1.1.1.1")
    assert measure(diary.history, now=0.0).fix_rates == (
        FixRate("test_failure", "claude", 2, 1, 0.5),
    )


def test_only_a_verification_says_whether_a_fix_worked(diary: Diary) -> None:
    diary.fails("1.1")
    diary.note("1.1", what="fix", kind="test_failure", executor="claude", fix_id="1.1.1")
    diary.fix("1.1", works=False, fix_id="1.1.1")
    assert measure(diary.history, now=0.0).fix_rates == (
        FixRate("test_failure", "claude", 2, 0, 0.0),
    )


def test_the_ten_worst_blockers_are_named(diary: Diary) -> None:
    for number in range(12):
        for _ in range(number + 1):
            diary.fails(blocked_on=f"blocker {number:02}")
    found = measure(diary.history, now=0.0).blockers
    assert found == tuple(Blocker(f"blocker {n:02}", n + 1) for n in range(11, 1, -1))


def test_without_a_blocker_the_error_counts(diary: Diary) -> None:
    diary.fails(error="x.py:3: boom", fingerprint="boom")
    diary.fails(error="x.py:9: boom", fingerprint="boom")
    diary.fails(error="nothing alike")
    diary.fails(blocked_on="docker is down", error="connection refused", fingerprint="refused")
    assert measure(diary.history, now=0.0).blockers == (
        Blocker("x.py:9: boom", 2),
        Blocker("docker is down", 1),
        Blocker("nothing alike", 1),
    )


@pytest.mark.parametrize(
    ("story", "flips"),
    [
        ("pass A, fail A", 1),
        ("pass A, fail A, pass A", 2),
        ("fail A, pass A", 1),
        ("pass A, fail B, pass C", 0),
        ("fail A, fix A, pass A", 0),
        ("pass A, fix A, fail A", 0),
        ("fail A, repair A, pass A", 0),
        ("fail A, retry A, pass A", 1),
        ("fail -, pass -", 1),
        ("fail -, new run -, pass -", 0),
        ("fail A, new run A, pass A", 1),
        ("fail A/dependency_missing, new run A, pass A", 0),
        ("fail A/timeout/300, pass A//600", 0),
        ("fail A/timeout/300, pass A//300", 1),
        ("fail A, fail A, pass A, pass A", 1),
        ("execute A, pass A", 0),
    ],
)
def test_a_task_that_flips_unchanged_is_flaky(diary: Diary, story: str, flips: int) -> None:
    verifications = 0
    for step in story.split(", "):
        what, _, facts = step.rpartition(" ")
        tree, kind, limit = ([*facts.split("/"), "", ""])[:3]
        fields: dict[str, Any] = {
            "tree": tree.strip("-"),
            "kind": kind,
            "timeout": float(limit) if limit else None,
        }
        verifications += what in ("pass", "fail")
        if what == "new run":
            diary.run = "r2"
        elif what in ("pass", "fail"):
            diary.note(outcome="passed" if what == "pass" else "failed", **fields)
        else:
            diary.note(outcome="failed" if what == "execute" else "passed", what=what, **fields)
    expected = (Flaky("specs/foo", "1.1", flips, verifications),) if flips else ()
    assert measure(diary.history, now=0.0).flaky == expected


def test_recovery_lasts_from_failure_to_pass(diary: Diary) -> None:
    diary.fails("1.1", time=100.0)
    diary.fix("1.1", works=False, time=150.0, verify={"time": 160.0})
    diary.fix("1.1", works=True, time=180.0, verify={"time": 190.0})
    diary.fails("1.2", time=200.0)
    diary.fix("1.2", works=True, time=205.0, verify={"time": 210.0})
    diary.fails("1.3", time=300.0)
    diary.note("1.4", time=301.0)
    assert measure(diary.history, now=0.0).recovery == Recovery(
        tasks=2, failed_tasks=3, mean_attempts=1.5, mean_seconds=50.0
    )


@pytest.mark.parametrize("later", [(), ("passed",)])
def test_a_flaky_task_was_not_recovered(diary: Diary, later: tuple[str, ...]) -> None:
    diary.fails("1.1")
    for outcome in ("flaky", *later):
        diary.note("1.1", outcome)
    statistics = measure(diary.history, now=0.0)
    assert statistics.recovery.failed_tasks == 0
    assert [(run.passed, run.recovered) for run in statistics.runs] == [(1, 0)]


def test_a_flaky_task_that_fails_later_has_failed(diary: Diary) -> None:
    for outcome in ("failed", "flaky", "failed"):
        diary.note("1.1", outcome)
    assert measure(diary.history, now=0.0).recovery.failed_tasks == 1


def test_recovery_counts_each_task_once(diary: Diary) -> None:
    diary.fails("1.1", time=100.0)
    diary.run = "r2"
    diary.fails("1.1", time=200.0)
    diary.fix("1.1", works=True, time=205.0, verify={"time": 210.0})
    recovery = measure(diary.history, now=0.0).recovery
    assert (recovery.tasks, recovery.failed_tasks) == (1, 1)


def test_setting_back_the_clock_shortens_no_recovery(diary: Diary) -> None:
    diary.fails("1.1", time=5000.0)
    diary.fix(
        "1.1", works=True, time=1000.0, duration=30.0, verify={"time": 1010.0, "duration": 10.0}
    )
    assert measure(diary.history, now=0.0).recovery == Recovery(
        1, 1, mean_attempts=1.0, mean_seconds=40.0
    )


def test_predictions_are_scored_by_what_came_true(diary: Diary) -> None:
    diary.fails()
    for prediction, works in [(0.9, True), (0.9, True), (0.7, False), (0.1, False), (1.0, True)]:
        diary.fix(works=works, prediction=prediction)
    found = measure(diary.history, now=0.0).calibration
    # (0.1² + 0.1² + 0.7² + 0.1² + 0²) / 5
    assert found.brier == pytest.approx(0.104)
    assert found.cases == 5
    assert [(bin_.low, bin_.high, bin_.cases, bin_.observed) for bin_ in found.bins] == [
        (0.0, 0.2, 1, 0.0),
        (0.6, 0.8, 1, 0.0),
        (0.8, 1.0, 3, 1.0),
    ]
    assert [bin_.predicted for bin_ in found.bins] == pytest.approx([0.1, 0.7, 2.8 / 3])


def test_no_score_is_claimed_under_five_predictions(diary: Diary) -> None:
    diary.fails()
    for _ in range(4):
        diary.fix(prediction=0.5)
    found = measure(diary.history, now=0.0).calibration
    assert (found.cases, found.brier) == (4, None)


def test_runs_and_kinds_are_summed_up_for_charts(diary: Diary) -> None:
    diary.note("1.1", time=10.0, duration=4.0)
    diary.fails("1.2", time=12.0, duration=1.0)
    diary.fix("1.2", works=True, time=14.0, verify={"time": 16.0})
    diary.run = "r2"
    diary.fails("1.2", "timeout", time=30.0, duration=5.0)
    found = measure(diary.history, now=0.0)
    assert found.runs == (
        RunCounts("r1", started=6.0, duration=10.0, passed=1, recovered=1, failed=0),
        RunCounts("r2", started=25.0, duration=5.0, passed=0, recovered=0, failed=1),
    )
    assert found.kinds == (KindCounts("test_failure", 1, 1), KindCounts("timeout", 1, 0))


def test_the_latest_forty_runs_are_kept(diary: Diary) -> None:
    for number in range(45):
        diary.run = f"r{number}"
        diary.note("1.1")
    assert [run.run for run in measure(diary.history, now=0.0).runs] == [
        f"r{number}" for number in range(5, 45)
    ]


def test_the_json_is_plain_and_named(diary: Diary) -> None:
    diary.fails("1.1", category="partial", blocked_on="disk")
    data = json.loads(json.dumps(measure(diary.history, now=diary.time, threshold=0).to_json()))
    assert data["schema"] == 1
    assert data["by_category"] == [{"name": "partial", "count": 1, "percent": 100.0}]
    assert data["last_day"]["alert"] == "High delegation failure rate: 1 failures in 24h"
    assert data["blockers"] == [{"name": "disk", "count": 1}]


def test_measuring_changes_nothing_and_can_be_repeated(diary: Diary) -> None:
    diary.fails("1.1")
    first = measure(diary.history, now=1.0)
    diary.note("1.1")
    again = measure(diary.history, now=1.0)
    assert (first.totals.attempts, again.totals.attempts) == (1, 2)
    with sqlite3.connect(diary.history.path) as stranger:
        tables = {
            name
            for (name,) in stranger.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
            )
        }
    stranger.close()
    assert tables == {"attempts", "sqlite_sequence"}


def test_measuring_takes_linear_time(tmp_path: Path) -> None:
    few = _time_to_measure(tmp_path / "few.db", 3_000)
    many = _time_to_measure(tmp_path / "many.db", 24_000)
    # Eight times as many: a quadratic query takes 64 times as long.
    assert many / few < 24


def _time_to_measure(path: Path, attempts: int) -> float:
    """Return the least CPU time that measuring so many attempts took in two tries."""
    chance = random.Random(7)
    with History(path) as history:
        history.record(record_of("r0", 0.0, "specs/s0", "1.0", outcome="failed"))
    rows = (
        (
            f"run{n // 400}",
            float(n),
            f"specs/s{n % 10}",
            f"1.{n % 200}",
            chance.choice(("passed", "passed", "failed")),
        )
        for n in range(attempts)
    )
    connection = sqlite3.connect(path)
    connection.executemany(
        "INSERT INTO attempts (run, time, spec, task, outcome, number, what, kind, type, error,"
        ' fingerprint, duration, decision, fix, executor, "commit", tree)'
        " VALUES (?, ?, ?, ?, ?, 1, 'verify', 'k', 't', 'e', 'f', 0.5, '', '', '', '', 'T')",
        rows,
    )
    connection.commit()
    connection.close()
    times: list[float] = []
    with History(path) as history:
        for _ in range(2):
            begun = time.process_time()
            assert measure(history).totals.attempts == attempts + 1
            times.append(time.process_time() - begun)
    return min(times)
