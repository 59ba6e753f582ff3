"""`--ralph-stats` after real runs, against what can be counted by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.blocks import spec, task

if TYPE_CHECKING:
    from tests.conftest import SpecMaker


@pytest.fixture
def _two_runs(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    """First a repair recovers 1.1 and 1.2 fails for good; then 1.1 and 1.3 are verified again."""
    make_spec(
        spec(
            task("1.1 Run", "./run.sh"),
            task("1.2 Fail", "cat wrong.txt; exit 1"),
            task("1.3 Pass", "test -d ."),
        )
    )
    script = pytester.path / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o644)
    (pytester.path / "wrong.txt").write_text("AssertionError: wrong\n")
    pytester.runpytest("--ralph-recovery", "--ralph-keep-going", "specs").assert_outcomes(
        failed=1, passed=1
    )
    again = [f"specs/demo/tasks.md::{name}" for name in ("1.1", "1.3")]
    pytester.runpytest("--ralph", "--no-ralph-recovery", *again).assert_outcomes(passed=2)


@pytest.mark.usefixtures("_two_runs")
def test_the_numbers_are_those_of_the_runs(pytester: pytest.Pytester) -> None:
    data: Any = json.loads(str(pytester.runpytest_subprocess("--ralph-stats=json").stdout))

    totals = data["totals"]
    # VerifyResult: 1.1 twice, 1.2 and 1.3 once; then 1.1 and 1.3 again.
    assert (totals["runs"], totals["tasks"], totals["attempts"], totals["failures"]) == (2, 3, 6, 2)
    assert {row["name"]: row["count"] for row in data["by_kind"]} == {
        "permission_denied": 1,
        "test_failure": 1,
    }
    assert {row["task"]: (row["attempts"], row["failures"]) for row in data["by_task"]} == {
        "1.1": (3, 1),
        "1.2": (1, 1),
        "1.3": (2, 0),
    }
    assert [(row["executor"], row["runs"], row["succeeded"]) for row in data["by_executor"]] == [
        ("repair:chmod", 1, 1)
    ]
    assert (data["recovery"]["tasks"], data["recovery"]["failed_tasks"]) == (1, 2)
    assert data["last_day"]["failures"] == 2


@pytest.mark.usefixtures("_two_runs")
@pytest.mark.parametrize(("threshold", "alerted"), [(1, True), (2, False)])
def test_the_text_says_the_same_and_alerts_past_the_threshold(
    pytester: pytest.Pytester, threshold: int, alerted: bool
) -> None:
    pytester.makeini(f"[pytest]\nralph_alert = {threshold}")
    result = pytester.runpytest("--ralph-stats")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "ralph statistics",
            "2 runs, 3 tasks, 6 attempts, 2 failures (33.3%), 1 fix",
            "*1 of 2 failed tasks recovered (50.0%)",
        ]
    )
    assert ("High delegation failure rate: 2 failures in 24h" in result.outlines) is alerted
