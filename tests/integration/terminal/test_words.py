"""Letters, words and colours of task results, and how pytest's own switches affect them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.blocks import spec, task

if TYPE_CHECKING:
    from tests.conftest import SpecMaker

GREEN, RED, YELLOW = "\x1b[32m", "\x1b[31m", "\x1b[33m"


@pytest.fixture(autouse=True)
def _every_outcome(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    """Recovered, passed, failed, blocked and manual, in this order."""
    make_spec(
        spec(
            task("1.1 Recovered", "./run.sh"),
            task("1.2 Passed", "test -d specs"),
            task("1.3 Failed", "cat wrong.txt; exit 1"),
            task("1.4 Blocked", "test -d specs", depends_on="1.3"),
            task("1.5 Manual", "x").replace("`x`", "Manual: look at it"),
        )
    )
    script = pytester.path / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o644)
    (pytester.path / "wrong.txt").write_text("AssertionError: wrong\n")


def run(pytester: pytest.Pytester, *args: str) -> pytest.RunResult:
    return pytester.runpytest("--ralph-recovery", "--ralph-keep-going", "specs", *args)


def test_letters(pytester: pytest.Pytester) -> None:
    result = run(pytester)
    result.stdout.fnmatch_lines(["specs/demo/tasks.md r.Fbm *"])
    result.stdout.fnmatch_lines(["*= 1 failed, 1 passed, 1 recovered, 1 blocked, 1 manual in *"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_words_in_their_colours(pytester: pytest.Pytester) -> None:
    result = run(pytester, "-v", "--color=yes")
    for name, colour, word in (
        ("1.1", GREEN, "RECOVERED"),
        ("1.2", GREEN, "PASSED"),
        ("1.3", RED, "FAILED"),
        ("1.4", YELLOW, "BLOCKED\x1b[0m (blocked by 1.3)"),
        ("1.5", YELLOW, "MANUAL\x1b[0m (manual: look at it)"),
    ):
        assert f"specs/demo/tasks.md::{name} {colour}{word}" in str(result.stdout)


def test_no_colour_codes_in_a_file(pytester: pytest.Pytester) -> None:
    assert "\x1b" not in str(run(pytester, "-vv").stdout)


def test_quiet_says_no_more_than_it_must(pytester: pytest.Pytester) -> None:
    result = run(pytester, "-q", "--tb=no", "-rN")
    lines = [line for line in result.outlines if line]
    assert lines[0].startswith("r.Fbm")
    assert lines[1] == "demo: - Task 1.1: 1 fix attempted (1.1.1) - Final: PASS"
    assert lines[2] == "demo: 1.4 blocked by 1.3"
    assert lines[3] == "Next"
    assert lines[-1].startswith("1 failed, 1 passed, 1 recovered, 1 blocked, 1 manual in ")


def test_a_line_for_each_failure_where_lines_are_asked_for(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--tb=line")
    after = result.outlines[
        next(at for at, line in enumerate(result.outlines) if "= FAILURES =" in line) + 1 :
    ]
    assert after[0] == "specs/demo/tasks.md:11: tests failed: AssertionError: wrong"
    assert "= ralph =" in after[1]


def test_words_come_from_workers_too(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    result = run(pytester, "-n1", "-v")
    for name, word in (("1.1", "RECOVERED"), ("1.4", "BLOCKED"), ("1.5", "MANUAL")):
        result.stdout.fnmatch_lines([f"*{word} specs/demo/tasks.md::{name}*"])
    assert str(result.stdout).count("- Task 1.1: 1 fix attempted") == 1


def test_whoever_looks_at_our_plugins_early_changes_nothing(pytester: pytest.Pytester) -> None:
    """As older versions of pytest do, in search of fixtures."""
    pytester.makeconftest("""
        def pytest_collection(session):
            for plugin in session.config.pluginmanager.get_plugins():
                if type(plugin).__module__.startswith("pytest_ralph"):
                    for name in dir(plugin):
                        getattr(plugin, name)
    """)
    run(pytester, "--ralph-report=out.html").stdout.fnmatch_lines(
        ["*= ralph =*", "RECOVERED demo 1.1 *"]
    )
    assert "1.3" in (pytester.path / "out.html").read_text()


@pytest.mark.parametrize("chars", ["-rA", "-rR"])
def test_recovered_tasks_are_listed(pytester: pytest.Pytester, chars: str) -> None:
    result = run(pytester, chars)
    result.stdout.fnmatch_lines(["RECOVERED specs/demo/tasks.md::1.1 - by 1.1.1"])


def test_the_error_of_an_executor_is_shown(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(t1_1="test -f x")
    result = pytester.runpytest("--ralph-recovery", "--ralph-executor=echo oops; exit 3", "specs")
    result.stdout.fnmatch_lines(["*1.1.1 by *, failed: oops"])
