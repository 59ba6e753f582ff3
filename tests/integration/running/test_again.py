"""What failed can be run again, first, or until it passes, as with any test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import SpecMaker


@pytest.fixture(autouse=True)
def _two_of_four_fail(make_spec: SpecMaker) -> None:
    make_spec(t1_1="true", t1_2="test -e two", t1_3="test -e three", t1_4="true")
    make_spec(t1_1="true", name="other")


def order(result: pytest.RunResult) -> list[str]:
    lines = (
        line.partition("tasks.md::")[2]
        for line in result.outlines
        if line.startswith("specs/demo/")
    )
    return [" ".join(line.split()[:2]) for line in lines if line]


def test_lf_runs_the_failed_tasks_only(pytester: pytest.Pytester) -> None:
    pytester.runpytest("--ralph", "specs").assert_outcomes(passed=3, failed=2)
    result = pytester.runpytest("--ralph", "specs", "--lf", "-v")
    assert order(result) == ["1.2 FAILED", "1.3 FAILED"]
    (pytester.path / "two").touch()
    pytester.runpytest("--ralph", "specs", "--lf", "-v").assert_outcomes(passed=1, failed=1)
    assert order(pytester.runpytest("--ralph", "specs", "--lf", "-v")) == ["1.3 FAILED"]


def test_ff_begins_with_the_spec_that_failed_and_keeps_the_order_of_its_tasks(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="true", name="a-good-one")
    pytester.runpytest("--ralph", "specs")
    result = pytester.runpytest("--ralph", "specs", "--ff", "-v")
    assert order(result) == ["1.1 PASSED", "1.2 FAILED", "1.3 FAILED", "1.4 PASSED"]
    first = next(line for line in result.outlines if "tasks.md::" in line)
    assert first.startswith("specs/demo/tasks.md::1.1 ")


def test_sw_stops_at_a_failure_and_goes_on_from_there(pytester: pytest.Pytester) -> None:
    assert order(pytester.runpytest("--ralph", "specs/demo", "--sw", "-v")) == [
        "1.1 PASSED",
        "1.2 FAILED",
    ]
    (pytester.path / "two").touch()
    assert order(pytester.runpytest("--ralph", "specs/demo", "--sw", "-v")) == [
        "1.2 PASSED",
        "1.3 FAILED",
    ]


@pytest.mark.parametrize(("flag", "ran"), [("-x", 2), ("--maxfail=1", 2), ("--maxfail=2", 3)])
def test_the_run_stops_after_as_many_failures_as_asked(
    pytester: pytest.Pytester, flag: str, ran: int
) -> None:
    result = pytester.runpytest("--ralph", "specs/demo", flag, "-v")
    assert len(order(result)) == ran
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_durations_are_those_of_the_commands(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="sleep 0.3", t1_2="true", name="slow")
    result = pytester.runpytest("--ralph", "specs/slow", "--durations=1", "--durations-min=0.2")
    result.stdout.re_match_lines([r"0\.[34]\ds call +specs/slow/tasks\.md::1\.1"])


def test_without_a_cache_it_runs_the_same(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--ralph", "specs", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=3, failed=2)
    assert not (pytester.path / ".pytest_cache").exists()
