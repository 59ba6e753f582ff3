"""A Verify command that is pytest again never runs specs, and writes JUnit for the outer run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import SpecMaker

PYTEST = f"{sys.executable} -m pytest -p no:cacheprovider"


@pytest.fixture(autouse=True)
def _a_test_and_a_spec_that_nobody_holds(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    pytester.makepyfile(test_it="def test_price(): assert 1 + 1 == 3")
    make_spec(t1_1="echo inner >> runs", name="other")


def spec(make_spec: SpecMaker, command: str) -> None:
    make_spec(f"- [ ] 1.1 Count\n  - **Verify**: `echo outer >> runs; {command}`\n")


def runs(pytester: pytest.Pytester) -> list[str]:
    return (pytester.path / "runs").read_text().split()


def test_the_flag_in_the_command_does_not_recurse(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    spec(make_spec, f"{PYTEST} --ralph specs/other test_it.py")
    result = pytester.runpytest("--ralph", "specs/demo", "-v")
    result.assert_outcomes(failed=1)
    assert runs(pytester) == ["outer"]
    result.stdout.fnmatch_lines(["*inside another ralph run*"])


def test_the_flag_in_pytest_addopts_does_not_recurse(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--ralph --ralph-timeout 50")
    spec(make_spec, f"{PYTEST} specs/other test_it.py")
    pytester.runpytest_subprocess("specs/demo").assert_outcomes(failed=1)
    assert runs(pytester) == ["outer"]


@pytest.mark.parametrize("key", ["ralph", "ralph_recovery"])
def test_the_ini_file_does_not_recurse(
    pytester: pytest.Pytester, make_spec: SpecMaker, key: str
) -> None:
    pytester.makeini(f"[pytest]\n{key} = true\nralph_executor = none\n")
    spec(make_spec, f"{PYTEST} specs/other test_it.py")
    result = pytester.runpytest("specs/demo")
    result.assert_outcomes(failed=1)
    # With recovery a failed test is verified once more.
    assert set(runs(pytester)) == {"outer"}


def test_a_nested_run_with_a_clean_environment_finds_the_spec_held(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    pytester.makeini("[pytest]\nralph = true\n")
    spec(make_spec, f"env -u RALPH_NESTED {PYTEST} specs/demo")
    result = pytester.runpytest("specs/demo")
    result.assert_outcomes(failed=1)
    assert runs(pytester) == ["outer"]
    result.stdout.fnmatch_lines(["*being worked on by another run (pid *"])


def test_the_failing_tests_of_the_nested_run_are_known(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    spec(make_spec, f"{PYTEST} -q > /dev/null test_it.py")
    result = pytester.runpytest("--ralph", "specs/demo", "-v")
    result.stdout.fnmatch_lines(["tests failed: *", "*failing tests: *test_it*test_price*"])


def test_a_junit_file_the_command_writes_itself_is_left_to_it(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    spec(make_spec, f"{PYTEST} --junitxml=mine.xml test_it.py > /dev/null")
    result = pytester.runpytest("--ralph", "specs/demo")
    result.stdout.fnmatch_lines(["*failing tests: *test_price*"])
    assert "test_price" in (pytester.path / "mine.xml").read_text()
