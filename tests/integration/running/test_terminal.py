"""The terminal follows pytest's own switches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import SpecMaker


@pytest.fixture(autouse=True)
def _one_fails(make_spec: SpecMaker) -> None:
    make_spec(t1_1="true", t1_2="echo all is lost; false")


def test_quiet_is_one_letter_a_task(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--ralph", "specs", "-q", "--tb=no", "-rN")
    assert [line.split()[0] for line in result.outlines if line.strip()] == [".F", "1"]


def test_tb_line_is_a_line_that_editors_can_follow(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--ralph", "specs", "--tb=line")
    result.stdout.fnmatch_lines(["specs/demo/tasks.md:8: *: *all is lost*"])


def test_the_short_summary_quotes_the_error(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--ralph", "specs")
    result.stdout.fnmatch_lines(["FAILED specs/demo/tasks.md::1.2 - *: all is lost"])


@pytest.mark.parametrize(("colour", "drawn"), [("yes", True), ("no", False)])
def test_colour_is_drawn_when_asked_for(
    pytester: pytest.Pytester, colour: str, drawn: bool
) -> None:
    result = pytester.runpytest("--ralph", "specs", f"--color={colour}")
    first = next(line for line in result.outlines if "is lost" in line)
    assert (first.startswith("\x1b[31m\x1b[1m") and first.endswith("\x1b[0m")) is drawn


def test_without_a_terminal_plugin_the_tasks_still_run(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess(
        "--ralph", "specs", "-p", "no:terminal", "--junitxml=out.xml"
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.outlines == []
    assert 'tests="2"' in (pytester.path / "out.xml").read_text()


def test_no_workers_is_as_without_xdist(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    pytester.runpytest("--ralph", "specs", "-n0").assert_outcomes(passed=1, failed=1)


def test_collect_only_lists_the_tasks_and_runs_none(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="touch ran")
    result = pytester.runpytest("--ralph", "specs", "--co")
    result.stdout.fnmatch_lines(["*<SpecFile tasks.md>", "*<Task 1.1 Task 1.1: touch ran>"])
    assert not (pytester.path / "ran").exists()
    assert not (pytester.path / ".ralph").exists()


def test_a_file_that_looks_like_a_test_module_is_none_of_ours(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_more="def test_it(): assert False, 'theirs'")
    result = pytester.runpytest("--ralph")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["E   *theirs*"])
