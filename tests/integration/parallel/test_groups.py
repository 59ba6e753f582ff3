"""The tasks of a [P] group at once: each reported in its turn, as if it had run alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.integration.blocks import numbered, spec, task

if TYPE_CHECKING:
    from tests.conftest import SpecMaker


def started(pytester: pytest.Pytester) -> set[str]:
    path = pytester.path / "started.txt"
    return set(path.read_text().split()) if path.exists() else set()


def test_each_task_is_told_in_its_turn_with_its_own_output_and_duration(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(
        spec(
            task("1.1 [P] Slow", "sleep 2; echo of slow; false"),
            task("1.2 [P] Quick", "echo of quick; false"),
            task("1.3 [P] Good", "sleep 0.2"),
        )
    )

    result = pytester.inline_run("--ralph", "--ralph-jobs=3", "specs")

    reports = [
        report for report in result.getreports("pytest_runtest_logreport") if report.when == "call"
    ]
    assert [(report.nodeid[-3:], report.outcome) for report in reports] == [
        ("1.1", "failed"),
        ("1.2", "failed"),
        ("1.3", "passed"),
    ]
    slow, quick, good = reports
    assert slow.duration >= 2
    assert quick.duration < slow.duration
    assert 0.2 <= good.duration < slow.duration
    assert "of slow" in str(slow.longrepr)
    assert "of quick" not in str(slow.longrepr)
    assert "of quick" in str(quick.longrepr)


def test_no_more_tasks_run_at_once_than_jobs_allow(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(
        numbered(
            7, "touch run.{n}; ls run.* | wc -l >> at_once.txt; sleep 0.3; rm run.{n}", marks="[P]"
        )
    )

    pytester.runpytest("--ralph", "--ralph-jobs=3", "specs").assert_outcomes(passed=7)

    assert max(map(int, (pytester.path / "at_once.txt").read_text().split())) == 3


@pytest.mark.parametrize(("option", "failed", "most"), [("-x", 1, 3), ("--maxfail=2", 2, 4)])
def test_after_as_many_failures_as_are_allowed_no_more_are_started(
    pytester: pytest.Pytester, make_spec: SpecMaker, option: str, failed: int, most: int
) -> None:
    """Two run at once: beside the ones that failed, one more may have begun before it was known."""
    make_spec(numbered(12, "echo {n} >> started.txt; sleep 0.1; exit 3", marks="[P]"))

    result = pytester.runpytest("--ralph", "--ralph-jobs=2", option, "specs")

    result.assert_outcomes(failed=failed)
    assert failed <= len(started(pytester)) <= most


def test_the_failures_of_earlier_tests_count_too(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(
        spec(
            task("1.1 Bad", "false"),
            *(task(f"2.{n} [P] T", f"echo {n} >> started.txt; exit 1") for n in range(9)),
        )
    )

    result = pytester.runpytest("--ralph", "--ralph-jobs=2", "--maxfail=2", "specs")

    result.assert_outcomes(failed=2)
    assert len(started(pytester)) <= 3


def test_what_was_held_back_runs_at_once_when_the_failure_is_recovered(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    """-x ends a run for what failed in the end, not for what was recovered."""
    first = task("1.1 [P] Broken", "test -e fixed")
    # What runs after the recovery waits a while for a second one to run at the same time.
    together = "test -e fixed || exit 0; echo >> begun; for i in {1..40}; do"
    together += " test $(wc -l < begun) -ge 2 && exit 0; sleep 0.05; done; echo >> alone"
    make_spec(spec(first, *(task(f"1.{n} [P] T", together) for n in range(2, 8))))

    result = pytester.runpytest(
        "--ralph-recovery", "--ralph-executor", "touch fixed", "--ralph-jobs=2", "-x", "specs"
    )

    result.assert_outcomes(passed=6)
    assert "1 recovered" in result.stdout.str()
    alone = pytester.path / "alone"
    assert not alone.exists() or len(alone.read_text().splitlines()) == 1


def test_one_task_that_cannot_even_start_does_not_take_its_siblings_along(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(numbered(3, "true", marks="[P]"))
    pytester.makeconftest(
        """
        def pytest_ralph_failed(task):
            raise RuntimeError("a plugin of somebody")
        """
    )
    path = pytester.path / "specs/demo/tasks.md"
    path.write_text(path.read_text().replace("`true`", "`false`", 1))

    result = pytester.runpytest("--ralph", "--ralph-jobs=3", "specs")

    result.assert_outcomes(passed=2, failed=1)
    assert "a plugin of somebody" in result.stdout.str()


def test_a_single_task_of_a_group_can_be_run(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(numbered(4, "echo {n} >> started.txt", marks="[P]"))

    pytester.runpytest("--ralph", "--ralph-jobs=4", "specs/demo/tasks.md::1.3").assert_outcomes(
        passed=1
    )

    assert started(pytester) == {"3"}


def test_a_task_that_is_rerun_runs_alone(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(numbered(3, "echo {n} >> all.txt; test $(grep -c 1 all.txt) -ge 2", marks="[P]"))

    result = pytester.runpytest("--ralph", "--ralph-jobs=3", "--reruns=1", "specs")

    assert re.search(r"3 passed.* [123] rerun", result.stdout.str())
    assert len((pytester.path / "all.txt").read_text().split()) <= 6
