"""A run learns from earlier runs: chances, remedies that helped, durations; from five cases on."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.history.store import History
from tests.integration.blocks import spec, task
from tests.records import record_of

if TYPE_CHECKING:
    from pathlib import Path

AGENT = """\
import os, pathlib, sys
pathlib.Path("prompt.txt").write_text(sys.stdin.read())
pathlib.Path("parser.txt").write_text("fixed")
print("Approach: wrote the word that was missing")
"""
EXECUTOR = "python3 agent.py"


class Project:
    """Task 1.1 fails until the executor, which keeps its prompt, fixes parser.txt."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.write(spec(task("1.1 Parse", "cat parser.txt; grep -q fixed parser.txt")))
        (pytester.path / "agent.py").write_text(AGENT)
        self.spoil()

    def write(self, text: str) -> None:
        path = self.pytester.path / "specs" / "demo" / "tasks.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        (path.parent / ".ralph-state.json").unlink(missing_ok=True)

    def spoil(self) -> None:
        (self.pytester.path / "parser.txt").write_text("AssertionError: the parser is not there\n")

    def run(self, *args: str) -> pytest.RunResult:
        return self.pytester.runpytest(
            "--ralph-recovery", "--ralph-executor", EXECUTOR, "specs", *args
        )

    def remember(self, times: int, *, works: bool = True, **fields: Any) -> None:
        """Runs in which task 9 failed and its fix, given by `fields`, worked or did not."""
        about = {
            "kind": "test_failure",
            "type": "VERIFICATION_FAILED",
            "error": "something else entirely",
            **fields,
        }
        who = {"executor": about.pop("executor", EXECUTOR), "what": about.pop("what", "fix")}
        with History(self.pytester.path / ".ralph" / "history.db") as history:
            for number in range(times):
                where: Any = {
                    "run": f"{who['executor']}-{number}",
                    "time": time.time(),
                    "spec": "demo",
                    "task": "9",
                }
                history.record(record_of(**where, outcome="failed", **about))
                history.record(record_of(**where, outcome="passed", **about, **who))
                history.record(record_of(**where, outcome="recovered" if works else "failed"))

    def statistics(self) -> Any:
        return json.loads(str(self.pytester.runpytest_subprocess("--ralph-stats=json").stdout))


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    return Project(pytester)


def test_the_chance_of_a_fix_is_shown_before_it(project: Project) -> None:
    project.remember(5)
    result = project.run("-v")

    chance = "chance of success: 86% (5 of 5 similar fixes by python3 agent.py, "
    assert result.stdout.str().count("chance of success") == 1
    result.stdout.fnmatch_lines(
        [f"1.1.1: {chance}95% interval *", "specs/demo/tasks.md::1.1 RECOVERED*"]
    )
    calibration = project.statistics()["calibration"]
    assert (calibration["cases"], calibration["brier"]) == (1, None)


def test_nothing_is_claimed_under_five_cases(project: Project) -> None:
    project.remember(4)
    result = project.run("-v")
    result.stdout.no_fnmatch_line("*chance*")
    assert project.statistics()["calibration"]["cases"] == 0


def test_five_predictions_are_enough_for_a_score(project: Project) -> None:
    project.remember(5)
    for _ in range(5):
        project.write(spec(task("1.1 Parse", "cat parser.txt; grep -q fixed parser.txt")))
        project.spoil()
        project.run("-q")
    calibration = project.statistics()["calibration"]
    # Foretold 6/7, 7/8, 8/9, 9/10, 10/11, and all came true.
    expected = sum((1 - p) ** 2 for p in (6 / 7, 7 / 8, 8 / 9, 9 / 10, 10 / 11)) / 5
    assert calibration["brier"] == pytest.approx(expected)


def test_what_fixed_this_error_before_stands_in_the_prompt(project: Project) -> None:
    project.run()
    assert "fixed before" not in (project.pytester.path / "prompt.txt").read_text()
    project.write(spec(task("2.7 Parse elsewhere", "cat parser.txt; grep -q fixed parser.txt")))
    project.spoil()
    project.run()
    prompt = (project.pytester.path / "prompt.txt").read_text()
    assert (
        "this error was fixed before by python3 agent.py (demo 1.1.1): wrote the word that "
        "was missing"
    ) in prompt


@pytest.mark.parametrize(("failures", "by"), [(5, "agent.py"), (4, "repair:chmod")])
def test_who_did_better_before_is_tried_first(project: Project, failures: int, by: str) -> None:
    """A built-in repair goes first, unless five cases show that it does not help."""
    project.write(spec(task("1.1 Run it", "./run.sh")))
    script = project.pytester.path / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o644)
    (project.pytester.path / "agent.py").write_text("import os; os.chmod('run.sh', 0o755)")
    project.remember(
        failures, works=False, kind="permission_denied", what="repair", executor="repair:chmod"
    )

    project.run().stdout.fnmatch_lines([f"*✓ 1.1.1 *(by *{by})"])


def test_a_timeout_says_how_long_it_usually_takes(project: Project) -> None:
    project.write(spec(task("1.1 Wait", "sleep 2", timeout="0.3s")))
    with History(project.pytester.path / ".ralph" / "history.db") as history:
        for number in range(5):
            history.record(record_of(f"r{number}", time.time(), "demo", "1.1", duration=7.5))
    result = project.run("--ralph", "--no-ralph-recovery", "-vv")
    result.stdout.fnmatch_lines(
        ["*• 95% of 5 passes took at most 7.5 s: a limit of 23 s is enough"]
    )


def test_tasks_likely_to_fail_are_told_at_collection(project: Project) -> None:
    with History(project.pytester.path / ".ralph" / "history.db") as history:
        for number in range(5):
            at: Any = {"run": f"r{number}", "time": time.time(), "spec": "demo", "task": "1.1"}
            history.record(record_of(**at, outcome="failed", kind="timeout"))
    result = project.run("-v", "--collect-only")
    result.stdout.fnmatch_lines(
        ["specs/demo/tasks.md:3: likely to fail: 1.1, 86% (5 of 5 runs*), mostly: timed out"]
    )
    result = project.run("--collect-only")
    result.stdout.no_fnmatch_line("*likely to fail*")


class TestBrokenHistory:
    """Whatever is wrong with it, a run goes on, ends as it would have, and says so once."""

    def spoiled(self, project: Project, how: str) -> Path:
        database = project.pytester.path / ".ralph" / "history.db"
        project.remember(1)
        if how == "corrupt":
            database.write_bytes(b"no database at all, and longer than its header would be " * 20)
        elif how == "newer":
            content = bytearray(database.read_bytes())
            content[60:64] = (99).to_bytes(4, "big")
            database.write_bytes(content)
        else:
            database.unlink()
            database.mkdir()
        return database

    @pytest.mark.parametrize(
        ("how", "workers", "note"),
        [
            ("corrupt", (), "ralph: history was corrupt: moved to *, started a new one"),
            (
                "newer",
                (),
                (
                    "ralph: history is not recorded: .ralph/history.db was written by a newer "
                    "pytest-ralph *"
                ),
            ),
            (
                "newer",
                ("-n2",),
                "ralph: history is not recorded: .ralph/history.db was written by a newer *",
            ),
            (
                "a directory",
                (),
                "ralph: history is not recorded: .ralph/history.db: unable to open database file",
            ),
        ],
    )
    def test_it_is_told_in_one_note(
        self, project: Project, how: str, note: str, workers: tuple[str, ...]
    ) -> None:
        if workers:
            pytest.importorskip("xdist")
        self.spoiled(project, how)
        result = project.run(*workers, "--ralph-report=out.html")
        assert result.ret == 0
        result.stdout.fnmatch_lines([note])
        assert sum("history" in line for line in result.outlines if line.startswith("ralph: ")) == 1
        assert (project.pytester.path / "out.html").exists()
