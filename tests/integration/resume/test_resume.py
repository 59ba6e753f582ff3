"""Continuing after a failed run: repaired by hand, started over, or in part."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.blocks import done, spec, task

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import SpecMaker

TASKS = spec(
    task("1.1 Base", "echo 1.1 >> ran.txt"),
    task("1.2 Backend", "echo 1.2 >> ran.txt; grep -q fixed src.txt"),
    task("1.3 Frontend", "echo 1.3 >> ran.txt"),
)
RECOVERY = ("--ralph-recovery", "--ralph-executor=true", "--ralph-max-fixes=2", "specs/demo")


class Project:
    """A spec whose task 1.2 failed after two fixes that did not help; 1.3 waits for it."""

    def __init__(self, pytester: pytest.Pytester, tasks: Path) -> None:
        self.pytester, self.tasks = pytester, tasks
        (pytester.path / "src.txt").write_text("broken\n")
        self.first = pytester.runpytest(*RECOVERY)

    def fix_by_hand(self) -> None:
        (self.pytester.path / "src.txt").write_text("fixed\n")

    def again(self, *arguments: str) -> pytest.RunResult:
        (self.pytester.path / "ran.txt").unlink(missing_ok=True)
        return self.pytester.runpytest(*arguments, *RECOVERY)

    @property
    def ran(self) -> list[str]:
        return (self.pytester.path / "ran.txt").read_text().split()

    @property
    def state_path(self) -> Path:
        return self.tasks.parent / ".ralph-state.json"

    @property
    def state(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.state_path.read_text())
        return data

    @property
    def boxes(self) -> dict[str, str]:
        return {
            name: box
            for box, name in re.findall(r"^- \[(.)\] (\S+)", self.tasks.read_text(), re.MULTILINE)
        }

    @property
    def attempts_in_history(self) -> int:
        connection = sqlite3.connect(self.pytester.path / ".ralph/history.db")
        (count,) = connection.execute("select count(*) from attempts").fetchone()
        connection.close()
        return int(count)


@pytest.fixture
def halted(pytester: pytest.Pytester, make_spec: SpecMaker) -> Project:
    project = Project(pytester, make_spec(TASKS))
    assert "ERROR: Max fix attempts (2) reached for task 1.2" in project.first.stdout.str()
    assert project.boxes == {"1.1": "x", "1.2": " ", "1.2.1": " ", "1.2.2": " ", "1.3": " "}
    return project


def test_after_a_fix_by_hand_the_same_command_goes_on(halted: Project) -> None:
    halted.fix_by_hand()

    result = halted.again()

    assert result.ret == 0
    assert list(dict.fromkeys(halted.ran)) == ["1.1", "1.2", "1.3"]
    assert set(halted.boxes.values()) == {"x"}
    assert "ALL_TASKS_COMPLETE" in result.stdout.str()
    assert "failed" not in halted.state_path.read_text()


def test_where_nothing_was_fixed_there_are_as_many_attempts_again_under_new_ids(
    halted: Project,
) -> None:
    result = halted.again()

    assert "Fix attempts: 1.2.3, 1.2.4" in result.stdout.str()
    assert halted.state["fixTaskMap"]["1.2"]["fixTaskIds"] == ["1.2.1", "1.2.2", "1.2.3", "1.2.4"]
    assert halted.state["taskResults"]["1.2"]["status"] == "failed"


def test_what_is_complete_need_not_be_verified_again(halted: Project) -> None:
    halted.fix_by_hand()

    result = halted.again("--ralph-pending", "-rs")

    assert halted.ran == ["1.2", "1.3"]
    result.stdout.fnmatch_lines(["SKIPPED*tasks.md:3: already complete"])


def test_a_fresh_start_moves_the_state_aside_and_keeps_commits_history_and_boxes(
    halted: Project,
) -> None:
    root = halted.pytester.path
    for command in (
        "init -q",
        "config user.name T",
        "config user.email t@example.com",
        "add -A",
        "commit -qm start",
    ):
        subprocess.run(["git", *command.split()], cwd=root, check=True)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True
    ).stdout
    before, attempts, old = (
        halted.tasks.read_text(),
        halted.attempts_in_history,
        halted.state_path.read_bytes(),
    )

    halted.fix_by_hand()
    result = halted.again("--ralph-fresh")

    assert result.ret == 0
    (aside,) = halted.tasks.parent.glob(".ralph-state.json.*")
    assert aside.read_bytes() == old
    assert f"state moved aside to {aside.name}" in result.stdout.str()
    assert halted.state["taskIndex"] == 5
    assert halted.state["fixTaskMap"]["1.2"]["attempts"] == 0
    assert halted.tasks.read_text() == before.replace("- [ ]", "- [x]")
    assert halted.attempts_in_history > attempts
    after = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True, text=True
    ).stdout
    assert after == head


def test_a_corrupt_state_is_refused_untouched_and_a_fresh_start_gets_past_it(
    halted: Project,
) -> None:
    halted.state_path.write_text("{")
    halted.fix_by_hand()

    refused = halted.again()

    assert refused.ret == 1
    assert f"ERROR: State file missing or corrupt at {halted.state_path}" in refused.stdout.str()
    assert "ERROR: ERROR:" not in refused.stdout.str()
    assert halted.state_path.read_text() == "{"

    fresh = halted.again("--ralph-fresh")

    assert fresh.ret == 0
    (aside,) = halted.tasks.parent.glob(".ralph-state.json.*")
    assert aside.read_text() == "{"
    assert halted.state["recoveryMode"] is True


def test_in_part_a_box_cleared_by_hand_is_work_to_do_again(halted: Project) -> None:
    """The document is the truth: the state follows it."""
    halted.fix_by_hand()
    halted.again()
    halted.tasks.write_text(halted.tasks.read_text().replace("- [x] 1.3", "- [ ] 1.3"))

    result = halted.again("--ralph-pending")

    assert halted.ran == ["1.3"]
    assert result.ret == 0
    assert halted.boxes["1.3"] == "x"


def test_in_part_a_status_set_by_hand_is_taken_as_it_is(halted: Project) -> None:
    state = halted.state
    state["taskResults"]["1.2"] = {"status": "pending"}
    halted.state_path.write_text(json.dumps(state))
    halted.fix_by_hand()

    result = halted.again()

    assert "failed in an earlier run" not in result.stdout.str()
    assert result.ret == 0


def test_a_task_can_be_run_by_itself_whatever_is_incomplete_before_it(halted: Project) -> None:
    (halted.pytester.path / "ran.txt").unlink()

    result = halted.pytester.runpytest(
        "--ralph-recovery", "--ralph-executor=none", "specs/demo/tasks.md::1.3"
    )

    result.assert_outcomes(passed=1)
    assert halted.ran == ["1.3"]
    assert halted.boxes["1.3"] == "x"


def test_a_completed_task_that_fails_now_is_a_regression_and_says_so(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(spec(done(task("1.1 Base", "false")), task("1.2 Next", "true")))

    result = pytester.runpytest("--ralph", "-v", "specs")

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*regression: *", "*it was checked off as complete but fails now"])


def test_a_regression_that_cannot_be_recovered_keeps_its_box(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    path = make_spec(spec(done(task("1.1 Base", "false")), task("1.2 Next", "true")))

    result = pytester.runpytest("--ralph-recovery", "--ralph-executor=none", "specs")

    assert result.parseoutcomes() == {"failed": 1, "blocked": 1}
    assert "Do task 1.1.1 (Fix: " in result.stdout.str()
    assert "- [x] 1.1 Base" in path.read_text()


def test_a_red_task_that_is_done_is_not_verified_again(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(
        spec(
            done(task("1.1 [RED] Failing test", "touch ran.txt; false")),
            task("1.2 [GREEN] Make it pass", "true"),
        )
    )

    result = pytester.runpytest("--ralph", "-rs", "specs")

    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(
        ["*already complete: a ?RED? task is meant to fail, so it is not verified again"]
    )
    assert not (pytester.path / "ran.txt").exists()


def test_a_run_that_was_killed_goes_on_where_it_was(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    """The executor kills the run during the first fix; that fix is reused, not made twice."""
    path = make_spec(TASKS)
    (pytester.path / "src.txt").write_text("broken\n")
    killer = "test -e once && echo fixed > src.txt || { touch once; kill -9 $PPID; sleep 5; }"
    command = ("--ralph-recovery", "--ralph-executor", killer, "specs")
    assert pytester.runpytest_subprocess(*command).ret == -9

    result = pytester.runpytest_subprocess(*command)

    assert result.ret == 0
    note = "ralph: demo: continuing where 1.2 stopped in an interrupted run"
    assert note in result.stdout.str()
    assert re.findall(r"^- \[x\] (\S+)", path.read_text(), re.MULTILINE) == [
        "1.1",
        "1.2",
        "1.2.1",
        "1.3",
    ]
