"""Siblings of a failing task complete and keep their results; only failures are retried."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.integration.blocks import spec, task

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import SpecMaker

# What an executor and the tasks of these specs do is noted with its time, in one file.
NOTE = 'echo "$1 $RALPH_TASK_ID $(date +%s.%N)" >> times.txt'


@pytest.fixture
def note(pytester: pytest.Pytester) -> None:
    (pytester.path / "note").write_text(f"#!/bin/sh\n{NOTE}\n")
    (pytester.path / "note").chmod(0o755)


def noted(pytester: pytest.Pytester) -> list[tuple[str, str, float]]:
    words = (line.split() for line in (pytester.path / "times.txt").read_text().splitlines())
    return [(what, task_id, float(when)) for what, task_id, when in words]


def when(pytester: pytest.Pytester, what: str) -> dict[str, float]:
    return {task_id: time for said, task_id, time in noted(pytester) if said == what}


THREE = spec(
    task("2.1 [P] Backend", "./note verify; test -e fixed.2.1"),
    task("2.2 [P] Frontend", "./note verify; sleep 1; ./note end"),
    task("2.3 [P] Tests", "./note verify"),
    task("3.1 Integration", "./note verify"),
)
FIXER = './note fix; touch "fixed.$RALPH_FIX_FOR"'


@pytest.mark.usefixtures("note")
def test_running_siblings_complete_before_the_retry(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(THREE)

    result = pytester.runpytest(
        "--ralph-recovery", "--ralph-executor", FIXER, "--ralph-jobs=3", "-vv", "specs"
    )

    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        ["*::2.1 RECOVERED*", "*::2.2 PASSED*", "*::2.3 PASSED*", "*::3.1 PASSED*"]
    )
    steps = [(what, task_id) for what, task_id, _ in noted(pytester)]
    assert steps.index(("fix", "2.1.1")) > steps.index(("end", "2.2"))
    # The siblings name no files, so the fix may have broken them: they are verified once more,
    # at the end of the run.
    verified = [task_id for what, task_id in steps if what == "verify"]
    assert sorted(verified[:-3]) == ["2.1", "2.1", "2.2", "2.3"]
    assert verified[-3:] == ["3.1", "2.2", "2.3"]


PARTIAL = """\
PARALLEL BATCH - PARTIAL FAILURE
================================

Batch: [2.1, 2.2, 2.3]

Status:
  Task 2.1: FAILED (attempt 1)
  Task 2.2: running...
  Task 2.3: complete

Decision: Allow running siblings to complete before retry.

Rationale:
1. Siblings may succeed, preserving their work
2. Retry of 2.1 won't conflict with running 2.2
3. More efficient than cancelling all

Waiting for 2.2 to complete...
"""
AFTER = """\
PARALLEL BATCH - RETRY AFTER SIBLINGS
=====================================

All siblings complete:
  Task 2.1: failed (attempt 1)
  Task 2.2: complete
  Task 2.3: complete

Initiating retry for Task 2.1...

Note: 2.2 and 2.3 results preserved. Their commits (if --ralph-commit=auto)
already created. 2.1 retry runs in isolation.
"""
MULTIPLE = """\
PARALLEL BATCH - MULTIPLE FAILURES
==================================

Batch: [2.1, 2.2, 2.3]

Results:
  Task 2.1: failed
  Task 2.2: failed
  Task 2.3: complete

Multiple tasks failed. Retrying each:

Retry 1: Task 2.1 (parallel with 2.2 retry)
Retry 2: Task 2.2 (parallel with 2.1 retry)

[Retries run in parallel since they're independent]
"""
RESULTS = """\
Retry results:
  Task 2.1: complete (retry succeeded)
  Task 2.2: failed (retry failed)

Task 2.2 failed after retry.
RALPH HALTED
"""


@pytest.mark.usefixtures("note")
def test_with_v_a_person_is_told_why_a_retry_waits(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    first = "./note verify; sleep 0.4; test -e fixed.2.1"
    make_spec(THREE.replace("./note verify; test -e fixed.2.1", first))

    result = pytester.runpytest(
        "--ralph-recovery", "--ralph-executor", FIXER, "--ralph-jobs=3", "-vv", "specs"
    )

    assert PARTIAL in result.stdout.str()
    assert AFTER in result.stdout.str()


def test_without_v_nothing_is_told_of_siblings(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(THREE.replace("./note verify", "sleep 0").replace("./note end", "sleep 0"))

    result = pytester.runpytest(
        "--ralph-recovery", "--ralph-executor", "touch fixed.2.1", "--ralph-jobs=3", "specs"
    )

    result.assert_outcomes(passed=3)
    assert "PARALLEL BATCH" not in result.stdout.str()


@pytest.mark.usefixtures("note")
def test_several_that_failed_are_tried_again_together(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(
        spec(
            task("2.1 [P] Backend", "test -e fixed.2.1"),
            task("2.2 [P] Frontend", "test -e fixed.2.2"),
            task("2.3 [P] Tests", "true"),
        )
    )
    executor = (
        "./note begin; sleep 0.5; ./note end; test $RALPH_FIX_FOR = 2.2 || touch "
        '"fixed.$RALPH_FIX_FOR"'
    )

    result = pytester.runpytest(
        "--ralph-recovery",
        "--ralph-executor",
        executor,
        "--ralph-max-fixes=1",
        "--ralph-jobs=3",
        "-vv",
        "specs",
    )

    result.stdout.fnmatch_lines(["*::2.1 RECOVERED*", "*::2.2 FAILED*", "*::2.3 PASSED*"])
    begun, ended = when(pytester, "begin"), when(pytester, "end")
    assert max(begun.values()) < min(ended.values())
    assert MULTIPLE in result.stdout.str()
    assert RESULTS in result.stdout.str()


SIXTEEN = spec(
    *(
        task(
            f"1.{n} [P] Part {n}",
            f"grep -q fixed part{n}.txt",
            files=f"`part{n}.txt`",
            commit=f"`feat: part {n}`",
        )
        for n in range(1, 17)
    )
)
# Fails once for every task, so that some fixes are fixed themselves.
CLUMSY = """\
n=${RALPH_FIX_FOR#1.}; n=${n%%.*}
if [ ! -e tried.$n ]; then touch tried.$n; echo broken > part$n.txt; exit 1; fi
echo fixed > part$n.txt
"""


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=root, check=True, capture_output=True, text=True
    ).stdout


def test_sixteen_that_fail_and_are_fixed_at_once_race_for_nothing(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    """One commit per task with the task's own file; document, state and progress are whole."""
    path = make_spec(SIXTEEN)
    (pytester.path / "fix.sh").write_text(CLUMSY)
    (pytester.path / ".gitignore").write_text("tried.*\n")
    for n in range(1, 17):
        (pytester.path / f"part{n}.txt").write_text("broken\n")
    commands = [
        "init -q",
        "config user.name T",
        "config user.email t@example.com",
        "add -A",
        "commit -qm start",
    ]
    for command in (*commands, "tag start"):
        git(pytester.path, *command.split())

    result = pytester.runpytest(
        "--ralph-recovery",
        "--ralph-executor",
        "sh fix.sh",
        "--ralph-jobs=16",
        "--ralph-commit=auto",
        "specs",
    )

    assert "16 recovered" in result.stdout.str()
    assert "ALL_TASKS_COMPLETE" in result.stdout.str()
    text = path.read_text()
    ids = re.findall(r"^- \[x\] (\S+)", text, re.MULTILINE)
    assert len(ids) == len(set(ids)) == text.count("- [") == 16 * 3
    assert all(f"1.{n}.1.1 [FIX 1.{n}.1]" in text for n in range(1, 17))
    state = json.loads((path.parent / ".ralph-state.json").read_text())
    assert state["totalTasks"] == 48
    assert {name: entry["fixTaskIds"] for name, entry in state["fixTaskMap"].items()} == {
        **{f"1.{n}": [f"1.{n}.1"] for n in range(1, 17)},
        **{f"1.{n}.1": [f"1.{n}.1.1"] for n in range(1, 17)},
    }
    progress = (path.parent / ".progress.md").read_text()
    assert all(
        progress.count(f"- Task 1.{n}: 1 fix attempted (1.{n}.1) - Final: PASS") == 1
        for n in range(1, 17)
    )
    log = git(pytester.path, "log", "--format=%s", "--name-only", "start..HEAD").split(
        "feat: part "
    )[1:]
    commits = {entry.split()[0]: set(entry.split()[1:]) for entry in log}
    assert len(log) == len(commits) == 16
    for number, files in commits.items():
        assert {file for file in files if file.startswith("part")} == {f"part{number}.txt"}
