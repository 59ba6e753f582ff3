"""Which worker runs what: a spec is never split, everything else spreads as the mode says."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest

from tests.integration.blocks import numbered
from tests.integration.processes import run

if TYPE_CHECKING:
    from tests.conftest import SpecMaker

TESTS = """
import time
import pytest
class TestA:
    @pytest.mark.parametrize("n", range(4))
    def test_it(self, n):
        time.sleep(0.2)
def test_alone():
    time.sleep(0.2)
"""


def workers(output: str) -> dict[str, list[str]]:
    """Node id → the workers that ran it, in the order of their reports."""
    ran = defaultdict(list)
    for worker, nodeid in re.findall(r"^\[(gw\d+)\] \[ *\d+%\] PASSED (\S+)", output, re.MULTILINE):
        ran[nodeid].append(worker)
    return ran


def spread(ran: dict[str, list[str]], part: str) -> int:
    """Over how many workers."""
    return len({worker for nodeid, by in ran.items() if part in nodeid for worker in by})


@pytest.mark.parametrize(
    ("mode", "over"),
    [
        ("load", {".py": 2}),
        ("worksteal", {".py": 2}),
        ("loadgroup", {".py": 2}),
        ("loadscope", {"a.py::TestA": 1, "b.py::TestA": 1}),
        ("loadfile", {"a.py": 1, "b.py": 1}),
    ],
)
def test_a_spec_stays_with_one_worker_and_tests_spread_by_the_mode(
    pytester: pytest.Pytester, make_spec: SpecMaker, mode: str, over: dict[str, int]
) -> None:
    for name in ("s1", "s2", "s3"):
        make_spec(numbered(4, "sleep 0.1"), name=name)
    pytester.makepyfile(test_a=TESTS, test_b=TESTS)

    code, output = run(pytester.path, "--ralph", "-n2", f"--dist={mode}", "-v")

    assert code == 0, output
    ran = workers(output)
    assert len(ran) == 3 * 4 + 2 * 5
    assert all(len(by) == 1 for by in ran.values())
    assert [spread(ran, f"specs/{name}/") for name in ("s1", "s2", "s3")] == [1, 1, 1]
    assert spread(ran, "specs/") == 2
    assert {part: spread(ran, part) for part in over} == over


def test_with_each_every_worker_runs_every_spec_and_one_after_the_other_where_it_writes(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    path = make_spec(numbered(3, "test -e fixed.{n}"))
    executor = 'touch "fixed.${RALPH_FIX_FOR#1.}"; echo $RALPH_TASK_ID >> calls.txt'

    code, output = run(
        pytester.path,
        "--ralph-recovery",
        "--ralph-executor",
        executor,
        "--tx",
        "2*popen",
        "--dist=each",
        "specs",
    )

    assert code == 0, output
    assert "3 passed, 3 recovered" in output
    assert sorted((pytester.path / "calls.txt").read_text().split()) == ["1.1.1", "1.2.1", "1.3.1"]
    assert path.read_text().count("- [x]") == 6


@pytest.mark.parametrize("arguments", [["-n0"], ["-p", "no:xdist"]], ids=" ".join)
def test_without_workers_nothing_changes(
    pytester: pytest.Pytester, make_spec: SpecMaker, arguments: list[str]
) -> None:
    make_spec(numbered(2, "true"))

    result = pytester.runpytest("--ralph", "-v", *arguments, "specs")

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        ["specs/demo/tasks.md::1.1 PASSED*", "specs/demo/tasks.md::1.2 PASSED*"]
    )


def test_workers_need_a_directory_that_can_be_written(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(numbered(1, "true"))
    (pytester.path / ".ralph").touch()

    code, output = run(pytester.path, "--ralph", "-n1")

    assert code == 4, output
    assert "ERROR: workers share files in .ralph/runs/" in output
    assert "which cannot be written (Not a directory): leave out -n" in output
    assert run(pytester.path, "--ralph")[0] == 0
