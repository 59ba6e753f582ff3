"""Every mark of the charts lies where its number says."""

from __future__ import annotations

import pytest

from pytest_ralph.history.stats import KindCounts
from pytest_ralph.report import charts
from tests.records import past_run


def test_the_meter_fills_the_width_in_proportion() -> None:
    failed, passed = charts.meter({"failed": 1, "passed": 3})
    assert (failed.x, failed.width) == (0, 25)
    assert passed.x + passed.width == pytest.approx(100)
    assert passed.tip == "3 passed"


def test_one_failure_among_thousands_can_still_be_seen() -> None:
    failed, passed = charts.meter({"failed": 1, "passed": 9999})
    assert failed.width > 0.5
    assert passed.x + passed.width == pytest.approx(100)


def test_an_empty_meter_has_no_marks() -> None:
    assert charts.meter({}) == []


def test_a_column_stacks_what_failed_on_top() -> None:
    marks = charts.run_bars([past_run(0, passed=6, recovered=2, failed=2), past_run(1, passed=5)])
    first = marks[:3]
    assert [mark.look for mark in first] == ["passed", "recovered", "failed"]
    assert first[-1].y == pytest.approx(0)
    assert first[0].y + first[0].height == pytest.approx(charts.HEIGHT, abs=1.5)
    assert marks[3].y == pytest.approx(charts.HEIGHT / 2)


def test_only_the_latest_runs_are_drawn() -> None:
    marks = charts.run_bars([past_run(number, passed=1) for number in range(500)])
    assert len(marks) == charts.RUNS_SHOWN
    assert max(mark.x + mark.width for mark in marks) <= charts.WIDTH


def test_a_line_skips_runs_without_value() -> None:
    assert [x for x, _ in charts.line([1.0, None, 0.5])] == [0, charts.WIDTH]
    assert charts.line([]) == []
    assert charts.line([0.0, 0.0]) == [(0, charts.HEIGHT), (charts.WIDTH, charts.HEIGHT)]


def test_kinds_come_by_frequency_with_the_recovered_share() -> None:
    rows = charts.kind_bars([KindCounts("timeout", 2, 1), KindCounts("lint_error", 4, 4)])
    assert [(row.words, row.width, row.recovered_width) for row in rows] == [
        ("lint errors", 320, 320),
        ("timed out", 160, 80),
    ]
