"""The end of a run with tasks that failed for good: what is shown, what still runs, who is told."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pexpect
import pytest

from pytest_ralph.text.bounded import columns
from tests.integration.blocks import spec, task

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import SpecMaker

HALTED = spec(
    task("1.1 Set up", "true", commit="`feat: set up`"),
    task(
        "1.2 Backend", "echo 'E   AssertionError: 3 tests failing'; exit 1", files="`src/auth.py`"
    ),
    task("1.3 Frontend", "true"),
    task("1.4 Docs", "true", depends_on="1.1"),
)


@pytest.fixture
def halted(make_spec: SpecMaker) -> Path:
    """1.1 passes, 1.2 fails, 1.3 waits for it, 1.4 does not."""
    return make_spec(HALTED)


def section(lines: list[str], heading: str) -> list[str]:
    """The lines of one section of a summary in a box."""
    start = lines.index(heading) + 2
    end = next((at for at, line in enumerate(lines[start:], start) if set(line) & set("─╚")))
    return [line for line in lines[start:end] if line]


def test_the_summary_has_its_six_sections(pytester: pytest.Pytester, halted: Path) -> None:
    result = pytester.runpytest("-vv", "--ralph-recovery", "--ralph-executor=none", "specs/demo")

    assert result.ret == 1
    assert result.parseoutcomes() == {"passed": 2, "failed": 1, "blocked": 1}
    lines = [line.strip("║ ") for line in result.stdout.lines]
    assert "Reason: Task 1.2 failed" in lines
    assert [line.split(" .")[0] for line in section(lines, "COMPLETED TASKS")] == [
        "Task 1.1: Set up",
        "Task 1.4: Docs",
    ]
    failed = section(lines, "FAILED TASK")
    assert failed[0].startswith("Task 1.2: Backend ...")
    assert failed[0].endswith("... FAILED")
    assert failed[1] == "Attempts: 1/4"
    assert failed[2].startswith("Error: ")
    assert failed[3].endswith("3 tests failing")
    blocked = section(lines, "BLOCKED TASKS")
    assert blocked[0].endswith("... blocked")
    assert blocked[1] == "Blocked by: 1.2"
    assert section(lines, "STATE PRESERVED") == [
        "State: specs/demo/.ralph-state.json",
        "Logs: .ralph/logs/",
        "History: .ralph/history.db",
    ]
    resume = section(lines, "RESUME INSTRUCTIONS")
    assert resume[0].startswith("1. Do task 1.2.1 (Fix: ")
    assert resume[0].endswith("in specs/demo/tasks.md") or resume[1].endswith("specs/demo/tasks.md")
    assert "To start fresh: Add --ralph-fresh flag" in lines


def test_what_does_not_depend_on_the_failure_still_runs(
    pytester: pytest.Pytester, halted: Path
) -> None:
    result = pytester.runpytest("--ralph-recovery", "--ralph-executor=none", "-v", "specs/demo")

    result.stdout.fnmatch_lines(
        ["*::1.2 FAILED*", "*::1.3 BLOCKED*blocked by 1.2*", "*::1.4 PASSED*"]
    )
    assert "- [x] 1.4 Docs" in halted.read_text()
    assert "- [ ] 1.3 Frontend" in halted.read_text()


def test_the_command_shown_can_be_copied_and_goes_on(
    pytester: pytest.Pytester, halted: Path
) -> None:
    executor = "--ralph-executor=true 'a b' \\\\\nfalse"
    arguments = ["--ralph-recovery", "--ralph-fresh", executor, "-k", "not Zebra", "specs"]
    run = [sys.executable, "-m", "pytest", *arguments]
    first = subprocess.run(
        run, cwd=pytester.path, capture_output=True, text=True, timeout=60, check=False
    )
    prefix = "  Continue: "
    shown = [line for line in first.stdout.splitlines() if line.startswith(prefix)]

    (command,) = (line.removeprefix(prefix) for line in shown)
    assert "--ralph-fresh" not in command
    words = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, text=True, check=True
    ).stdout.split("\0")[:-1]
    assert words[3:] == [argument for argument in arguments if argument != "--ralph-fresh"]


def test_with_q_only_the_essential_lines_are_shown(pytester: pytest.Pytester, halted: Path) -> None:
    result = pytester.runpytest("-q", "--ralph-recovery", "--ralph-executor=none", "specs/demo")

    result.stdout.fnmatch_lines(
        [
            "demo: 1.3 blocked by 1.2",
            "RALPH HALTED: Task 1.2 failed",
            "  Continue: *pytest -q --ralph-recovery --ralph-executor=none*",
        ]
    )
    assert "COMPLETED TASKS" not in result.stdout.str()


@pytest.mark.parametrize("width", [60, 100])
def test_on_a_terminal_the_box_is_as_wide_as_it(
    pytester: pytest.Pytester, halted: Path, width: int
) -> None:
    environ = {**os.environ, "COLUMNS": str(width), "TERM": "xterm", "PYTHONUTF8": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-vv",
        "--ralph-recovery",
        "--ralph-executor=none",
        "specs/demo",
    ]
    terminal = pexpect.spawn(
        shlex.join(command),
        cwd=str(pytester.path),
        env=environ,
        dimensions=(40, width),
        encoding="utf-8",
        timeout=60,
    )
    output = terminal.read()
    terminal.close()

    assert terminal.exitstatus == 1
    box = [line for line in output.splitlines() if line[:1] in "╔║╠╚" and line]
    assert box[0][0] + box[-1][0] == "╔╚"
    assert {columns(line) for line in box} == {width}
    assert any("RALPH HALTED" in line for line in box)


def test_a_missing_dependency_is_told_in_a_text_of_its_own(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="python -c 'import no_such_module_anywhere'")

    result = pytester.runpytest("-vv", "--ralph-recovery", "--ralph-executor=none", "specs/demo")

    result.stdout.fnmatch_lines(
        [
            "ERROR: dependency_missing (NON-RETRYABLE)",
            "  Package: no_such_module_anywhere",
            "  Required by: Task 1.1 Task 1.1",
            "RALPH CANNOT PROCEED",
            "  Then resume: *pytest -vv --ralph-recovery*",
            "[[]HALTED - Manual intervention required[]]",
        ]
    )


def test_plugins_are_told_of_each_spec_that_halted(pytester: pytest.Pytester, halted: Path) -> None:
    pytester.makeconftest(
        """
        def pytest_ralph_halted(spec, failed, blocked):
            print("told:", spec.name, failed, blocked)
        """
    )

    result = pytester.runpytest("-s", "--ralph-recovery", "--ralph-executor=none", "specs/demo")

    assert result.stdout.str().count("told:") == 1
    assert "told: demo ('1.2',) ('1.3',)" in result.stdout.str()


def test_a_run_that_only_verifies_does_not_halt(pytester: pytest.Pytester, halted: Path) -> None:
    result = pytester.runpytest("--ralph", "specs/demo")

    result.assert_outcomes(passed=3, failed=1)
    assert "RALPH HALTED" not in result.stdout.str()


CLEANED = spec(
    task("VE1 [VERIFY] E2E startup", "echo startup >> ran.txt"),
    task("VE2 [VERIFY] E2E check", "echo check >> ran.txt; false"),
    task("2.1 Other", "echo other >> ran.txt"),
    task("VE3 [VERIFY] E2E cleanup", "echo cleanup >> ran.txt"),
)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--ralph-recovery", "--ralph-executor=none"], {"passed": 2, "failed": 1, "blocked": 1}),
        (["--ralph", "-x"], {"passed": 2, "failed": 1}),
        (["--ralph-recovery", "--ralph-executor=none", "--maxfail=1"], {"passed": 2, "failed": 1}),
    ],
)
def test_the_cleanup_runs_whatever_failed_before_it(
    pytester: pytest.Pytester, make_spec: SpecMaker, arguments: list[str], expected: dict[str, int]
) -> None:
    make_spec(CLEANED)

    assert pytester.runpytest(*arguments, "specs").parseoutcomes() == expected

    assert (pytester.path / "ran.txt").read_text().split() == ["startup", "check", "cleanup"]


def test_a_cleanup_is_not_run_for_a_spec_that_was_never_begun(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="false", name="a")
    make_spec(CLEANED, name="b")

    pytester.runpytest("--ralph", "-x", "specs").assert_outcomes(failed=1)

    assert not (pytester.path / "ran.txt").exists()


def test_a_commit_is_shown_with_what_is_complete(pytester: pytest.Pytester, halted: Path) -> None:
    for command in (
        "init -q",
        "config user.name T",
        "config user.email t@example.com",
        "add -A",
        "commit -qm start",
    ):
        subprocess.run(["git", *command.split()], cwd=pytester.path, check=True)

    result = pytester.runpytest(
        "-vv", "--ralph-recovery", "--ralph-executor=none", "--ralph-commit=auto", "specs/demo"
    )

    result.stdout.re_match_lines(
        [r".*Task 1\.1: Set up \.+ complete", r".*  Commit: feat: set up \([0-9a-f]{7,12}\)"]
    )
