from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from pytest_ralph.history.stats import (
    Bin,
    Blocker,
    Calibration,
    ExecutorScore,
    FixRate,
    Flaky,
    LastDay,
    Recovery,
    Score,
    Share,
    Statistics,
    Totals,
)
from pytest_ralph.report.stats import ALERT, as_json, statistics_lines
from pytest_ralph.text.bounded import columns

FULL = Statistics(
    generated=1.0,
    totals=Totals(runs=3, tasks=4, attempts=20, failures=5, fixes=4),
    last_day=LastDay(
        attempts=8, failures=4, percent=50.0, threshold=3, by_category=(Share("timeout", 4, 100.0),)
    ),
    by_category=(Share("timeout", 4, 80.0), Share(None, 1, 20.0)),
    by_kind=(Share("timeout", 4, 80.0), Share("test_failure", 1, 20.0)),
    by_spec=(Score("specs/foo", "", 20, 5, 2, 1, 3.25),),
    by_task=(
        Score("specs/foo", "1.3", 12, 5, 2, 1, 130.0),
        Score("specs/foo", "1.1", 8, 0, 0, 0, 0.5),
    ),
    by_executor=(ExecutorScore("claude", 4, 3, 0.75, 61.0),),
    fix_rates=(FixRate("timeout", "claude", 4, 3, 0.75),),
    blockers=(Blocker("docker is down", 4), Blocker("E assert 1 == 2", 1)),
    flaky=(Flaky("specs/foo", "1.3", 2, 12),),
    recovery=Recovery(tasks=2, failed_tasks=3, mean_attempts=1.5, mean_seconds=50.0),
    calibration=Calibration(cases=5, brier=0.104, bins=(Bin(0.6, 0.8, 5, 0.7, 0.6),)),
    runs=(),
    kinds=(),
)


def text(**changes: Any) -> str:
    return "\n".join(line.text for line in statistics_lines(replace(FULL, **changes), 100))


def test_the_whole_page_reads_well() -> None:
    assert text() == "\n".join(
        [
            "ralph statistics",
            "3 runs, 4 tasks, 20 attempts, 5 failures (25.0%), 4 fixes",
            "",
            "last 24 hours",
            "  4 failures in 8 attempts (50.0%)",
            "  timeout: 4 (100.0%)",
            "High delegation failure rate: 4 failures in 24h",
            "",
            "failures by category",
            "  timeout: 4 (80.0%)",
            "  verification failed: 1 (20.0%)",
            "",
            "failures by kind",
            "  timed out: 4 (80.0%)",
            "  tests failed: 1 (20.0%)",
            "",
            "specs",
            "  attempts  failures  tasks recovered  tasks failed  mean time",
            "        20         5                1             1      3.2 s  specs/foo",
            "",
            "tasks that failed most",
            "  attempts  failures  runs recovered  runs failed  mean time",
            "        12         5               2            1   2:10 min  1.3 specs/foo",
            "",
            "executors",
            "  runs  succeeded   rate  mean time",
            "     4          3  75.0%   1:01 min  claude",
            "",
            "fixes by kind and executor",
            "  tried  worked   rate",
            "      4       3  75.0%  timed out by claude",
            "",
            "top blockers",
            "  docker is down: 4 occurrences",
            "  E assert 1 == 2: 1 occurrence",
            "",
            "flaky tasks (passed and failed, nothing changed)",
            "  flips  verifications",
            "      2             12  1.3 specs/foo",
            "",
            "recovery",
            "  2 of 3 failed tasks recovered (66.7%)",
            "  on average after 1.5 attempts and 50.0 s",
        ]
    )


def test_the_alert_needs_the_threshold() -> None:
    assert [line.text for line in statistics_lines(FULL) if line.markup == ALERT] == [
        "High delegation failure rate: 4 failures in 24h"
    ]
    calm = replace(FULL, last_day=replace(FULL.last_day, threshold=4))
    assert not [line for line in statistics_lines(calm) if line.markup == ALERT]


def test_a_history_without_attempts_is_one_line() -> None:
    empty = replace(FULL, totals=Totals(0, 0, 0, 0, 0))
    assert [line.text for line in statistics_lines(empty)] == [
        "ralph: no attempts are recorded yet"
    ]


def test_sections_without_anything_to_say_are_left_out() -> None:
    shown = text(by_executor=(), fix_rates=(), blockers=(), flaky=(), by_category=(), by_kind=())
    for title in ("executors", "fixes by", "blockers", "flaky", "failures by"):
        assert title not in shown


def test_long_tables_are_cut() -> None:
    many = tuple(Score("specs/foo", f"1.{n}", 2, 1, 0, 1, 1.0) for n in range(13))
    shown = text(by_task=many)
    assert "1.9 specs/foo" in shown
    assert "1.10 specs/foo" not in shown
    assert "  and 3 more: --ralph-stats=json has them all" in shown


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    wide = replace(FULL, blockers=(Blocker("データベース" * 40, 2), Blocker("x" * 500, 1)))
    assert max(columns(line.text) for line in statistics_lines(wide, width)) <= max(width - 1, 40)


def test_a_narrow_terminal_keeps_the_counts() -> None:
    wide = replace(FULL, blockers=(Blocker("x" * 500, 2),))
    shown = [line.text for line in statistics_lines(wide, 60)]
    (blocker,) = (line for line in shown if line.startswith("  xxx"))
    assert blocker.endswith("x…: 2 occurrences")
    assert columns(blocker) == 59


def test_nothing_recorded_can_steer_the_terminal() -> None:
    shown = text(blockers=(Blocker("\x1b[31mred\x1b[0m\nHigh delegation failure rate\u202e", 1),))
    assert "  red High delegation failure rate: 1 occurrence" in shown.splitlines()


def test_the_json_has_a_schema_and_every_section() -> None:
    data = json.loads(as_json(FULL))
    assert list(data) == [
        "schema",
        "generated",
        "totals",
        "last_day",
        "by_category",
        "by_kind",
        "by_spec",
        "by_task",
        "by_executor",
        "fix_rates",
        "blockers",
        "flaky",
        "recovery",
        "calibration",
        "runs",
        "kinds",
    ]
    assert data["by_task"][0] == {
        "spec": "specs/foo",
        "task": "1.3",
        "attempts": 12,
        "failures": 5,
        "recovered": 2,
        "unrecovered": 1,
        "mean_duration": 130.0,
        "cost": None,
    }
