"""Windows, simulated: specs can be read there, not run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import SpecMaker

SCRIPT = Path(__file__).with_name("windows.py")


def run_on_windows(directory: Path, *arguments: str) -> tuple[int, str]:
    """Return the exit status and all output."""
    ended = subprocess.run(
        [sys.executable, SCRIPT, *arguments],
        cwd=directory,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout


def test_a_run_is_refused_in_one_line(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(t1_1="test 1 = 1")
    status, output = run_on_windows(pytester.path, "--ralph-recovery", "specs")
    assert status == pytest.ExitCode.USAGE_ERROR
    lines = [line for line in output.splitlines() if line.strip()]
    assert len(lines) == 1
    assert lines[0].startswith("ERROR: ralph: specs are not run on Windows, only inside WSL")


def test_ordinary_tests_run_without_the_specs(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="test 1 = 1")
    pytester.makepyfile("def test_it(): pass")
    pytester.makeini("[pytest]\nralph = true\n")
    status, output = run_on_windows(pytester.path)
    assert status == 0
    assert "ralph: specs are not run on Windows" in output
    assert "1 passed" in output


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["--ralph-lint", "specs"], "1 spec, 0 errors"),
        (["--ralph", "--collect-only", "specs"], "<Task 1.1 Task 1.1: test 1 = 1>"),
        (["--ralph-explain", "specs"], "prompt for an executor:"),
        (["--ralph-stats"], "no attempts are recorded yet"),
    ],
)
def test_what_runs_nothing_works(
    pytester: pytest.Pytester, make_spec: SpecMaker, arguments: list[str], shown: str
) -> None:
    make_spec(t1_1="test 1 = 1")
    status, output = run_on_windows(pytester.path, *arguments)
    assert status == 0, output
    assert shown in output


def test_statistics_of_a_history_are_printed(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="test 1 = 1")
    pytester.runpytest("--ralph-recovery", "--ralph-executor=none", "specs")
    status, output = run_on_windows(pytester.path, "--ralph-stats")
    assert status == 0, output
    assert "1" in output
    assert "no attempts" not in output
