"""The terminal output of a run stays short, and states each fact once."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.integration.blocks import spec, task
from tests.integration.processes import start, wait_for

if TYPE_CHECKING:
    from tests.conftest import SpecMaker

LONG_OUTPUT = "seq 1 500; echo 'E   AssertionError: 3 != 4'; seq 501 520; exit 1"
FIFTEEN_TASKS = spec(
    task("1.1 Set up", "true"),
    task("1.2 Parse prices", LONG_OUTPUT),
    task("1.3 Use prices", "true"),
    task("1.4 Show prices", "true"),
    task("1.5 Install", "no-such-tool", depends_on="1.1"),
    task("1.6 Import", "python3 -c 'import no_such_module'", depends_on="1.1"),
    task("1.7 Add", LONG_OUTPUT, depends_on="1.1"),
    task("1.8 Subtract", LONG_OUTPUT, depends_on="1.1"),
    task("1.9 Write", "test -f out.txt", depends_on="1.1"),
    task("2.1 Check", "true", depends_on="1.1"),
    *(task(f"2.{number} Follow", "true") for number in range(2, 7)),
)


# An executor that changes a file and claims success, and never helps.
CLAIMS = "echo $RALPH_TASK_ID >> work.txt; echo Approach: $RALPH_TASK_ID; echo TASK_COMPLETE"


@pytest.mark.parametrize(("options", "most"), [((), 100), (("-q",), 60)])
@pytest.mark.parametrize("mode", [("--ralph",), ("--ralph-recovery", f"--ralph-executor={CLAIMS}")])
def test_six_failures_fit_the_limit(
    pytester: pytest.Pytester,
    make_spec: SpecMaker,
    mode: tuple[str, ...],
    options: tuple[str, ...],
    most: int,
) -> None:
    make_spec(FIFTEEN_TASKS)
    result = pytester.runpytest(*mode, "specs", *options)
    assert result.parseoutcomes()["failed"] == 6
    assert len(result.outlines) <= most, result.stdout.str()


def test_next_has_three_lines(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(FIFTEEN_TASKS)
    result = pytester.runpytest("--ralph-recovery", "specs", "--ralph-report=out.html")
    start_of_next = result.outlines.index("Next")
    instruction, command, report, end = result.outlines[start_of_next + 1 :][:4]
    assert instruction == (
        "  Fix tasks 1.5 and 1.6 (see FAILURES). Do tasks 1.2.1, 1.7.1, 1.8.1 and 1.9.1"
        " (in tasks.md), or have an agent do them: add --ralph-executor claude"
    )
    assert command.startswith("  Continue: pytest --ralph-recovery specs --ralph-report=out.html")
    assert report == "  Report: out.html"
    assert end.startswith("====")


def test_blocked_tasks_share_a_line(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(FIFTEEN_TASKS)
    result = pytester.runpytest("--ralph-recovery", "specs")
    result.stdout.fnmatch_lines(["demo: 1.3, 1.4 and 2.2 to 2.6 blocked by 1.2"])
    assert result.parseoutcomes()["blocked"] == 7


@pytest.mark.parametrize("absent", ["<task_metadata>", "VERIFICATION_FAILED", "COMPLETED TASKS"])
def test_protocol_texts_need_very_verbose(
    pytester: pytest.Pytester, make_spec: SpecMaker, absent: str
) -> None:
    make_spec(t1_1="echo 'E   AssertionError: 3 != 4'; exit 1")
    result = pytester.runpytest("--ralph-recovery", "specs", "--ralph-executor=none")
    assert absent not in result.stdout.str()
    result = pytester.runpytest("--ralph-recovery", "specs", "--ralph-executor=none", "-vv")
    assert absent in result.stdout.str()


def test_a_verify_only_run_shows_the_report(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="exit 3")
    assert "<task_metadata>" in pytester.runpytest("--ralph", "specs", "-vv").stdout.str()


def test_protocol_texts_are_in_the_logs(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(t1_1="echo 'E   AssertionError: 3 != 4'; exit 1")
    pytester.runpytest("--ralph-recovery", "specs", "--ralph-executor=none")
    (log,) = pytester.path.glob(".ralph/logs/*/failures.log")
    text = log.read_text()
    assert "<task_metadata>" in text
    assert "COMPLETED TASKS" in text


def test_the_resume_command_is_written_once(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="false")
    result = pytester.runpytest("--ralph-recovery", "specs", "-vv", "--ralph-report=out.html")
    assert result.stdout.str().count("pytest --ralph-recovery specs -vv") == 1
    assert "ralph: report: out.html" in result.outlines


def test_keep_going_is_not_a_halt(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(t1_1="false", t1_2="true")
    options = ("--ralph-recovery", "--ralph-executor=none", "specs")
    assert "RALPH HALTED: Task 1.1 failed" in pytester.runpytest(*options).outlines
    result = pytester.runpytest(*options, "--ralph-keep-going", "-vv", "--ralph-report=out.html")
    assert "RALPH HALTED" not in result.stdout.str()
    assert "Halt summary" not in (pytester.path / "out.html").read_text()


@pytest.mark.parametrize("options", [(), ("-q",)])
def test_annotations_start_a_line(
    pytester: pytest.Pytester,
    make_spec: SpecMaker,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
) -> None:
    make_spec(t1_1="false", t1_2="true")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    result = pytester.runpytest("--ralph", "specs", *options)
    annotated = [line for line in result.outlines if "::error" in line]
    assert len(annotated) == 1
    assert annotated[0].startswith("::error file=")


def test_ctrl_c_names_the_interrupted_task(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(t1_1="touch started; sleep 300", t1_2="true")
    process = start(pytester.path, "--ralph", "specs", "--ralph-report=out.html")
    wait_for((pytester.path / "started").exists)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 2
    assert "Next\n  demo 1.1 Task 1.1 was cut off; it is not recorded as failed.\n" in output
    assert "  Continue: " in output
    assert "  Report: out.html\n" in output
    assert (pytester.path / "out.html").exists()
