"""One attempt at a Verify field: its commands in order, until one decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from pytest_ralph.running.checks import RunContext, VerifyResult, run_checks
from pytest_ralph.verify.model import Check, Expect, Verify

if TYPE_CHECKING:
    from pytest_ralph.running.runner import Runner


def verify(
    runner: Runner, *commands: str, mode: Literal["all", "any"] = "all", timeout: float = 10
) -> VerifyResult:
    checks = tuple(Check(command) for command in commands)
    return run_checks(Verify(checks, mode), runner, RunContext(root=runner.root, timeout=timeout))


@pytest.mark.parametrize(
    ("mode", "commands", "passed", "ran"),
    [
        ("all", ["true"], True, 1),
        ("all", ["true", "true"], True, 2),
        ("all", ["true", "false", "true"], False, 2),
        ("any", ["false", "true", "true"], True, 2),
        ("any", ["false", "false"], False, 2),
        ("all", [], False, 0),
    ],
)
def test_commands_run_until_one_decides(
    runner: Runner, mode: Literal["all", "any"], commands: list[str], passed: bool, ran: int
) -> None:
    verified = verify(runner, *commands, mode=mode)
    assert (verified.passed, len(verified.checked)) == (passed, ran)


def test_the_failing_command_is_placed_among_the_others(runner: Runner) -> None:
    assert verify(runner, "true", "false", "true").notes_on_others == ("command 2 of 3",)
    assert verify(runner, "false").notes_on_others == ()
    assert verify(runner, "true", "true").notes_on_others == ()


def test_of_alternatives_each_says_why_it_did_not_do(runner: Runner) -> None:
    verified = verify(runner, "exit 3", "false", mode="any")
    assert verified.notes_on_others == (
        "`exit 3` did not pass either: expected exit status 0, got 3",
    )


def test_a_command_runs_in_the_directory_named_for_it(runner: Runner) -> None:
    (runner.root / "web").mkdir()
    check = Check("pwd", (Expect("stdout", "contains", "/web"),), directory="web")
    assert run_checks(Verify((check,)), runner, RunContext(root=runner.root, timeout=10)).passed


def test_an_expectation_on_stdout_does_not_see_stderr(runner: Runner) -> None:
    check = Check("echo noise >&2; echo 3", (Expect("stdout", "==", 3),))
    assert run_checks(Verify((check,)), runner, RunContext(root=runner.root, timeout=10)).passed


@pytest.mark.parametrize(("status", "passed"), [(2, True), (3, False), (12, False)])
def test_a_printed_status_is_on_the_last_line(runner: Runner, status: int, passed: bool) -> None:
    (runner.root / "tool.sh").write_text(f"echo 2 files\nexit {status}\n", encoding="utf-8")
    check = Check("sh tool.sh; echo $?", (Expect("stdout", "==", 2),))
    context = RunContext(root=runner.root, timeout=10)
    assert run_checks(Verify((check,)), runner, context).passed == passed


@pytest.mark.parametrize(
    ("command", "passed"),
    [
        ("echo building && printf 'x\\nx\\n' | grep -c x", True),
        ("echo building; printf 'x\\nx\\n' | wc -l", True),
        ("echo 2; printf 'x\\n' | wc -l", False),
        ("printf 'x\\n' | wc -l; printf 'x\\nx\\n' | wc -l", False),
        ("for i in 1 2; do echo $i; echo x | grep -c x; done", False),
        ("printf '2\\n2\\n'", False),
    ],
)
def test_a_count_is_on_the_last_line(runner: Runner, command: str, passed: bool) -> None:
    check = Check(command, (Expect("stdout", "==", 2),))
    context = RunContext(root=runner.root, timeout=10)
    assert run_checks(Verify((check,)), runner, context).passed == passed


def test_a_command_past_its_time_fails_and_the_rest_is_not_run(runner: Runner) -> None:
    verified = verify(runner, "sleep 30", "true", timeout=0.2)
    assert not verified.passed
    assert len(verified.checked) == 1
    assert verified.failing
    assert verified.failing.ended.timed_out


def test_a_missing_file_fails_the_check(runner: Runner) -> None:
    context = RunContext(root=runner.root, timeout=10)

    created = run_checks(Verify((Check("touch a.txt", files=("a.txt",)),)), runner, context)
    missing = run_checks(Verify((Check("true", files=("b.txt",)),)), runner, context)

    assert created.passed
    assert [str(one) for one in missing.checked[0].unmet] == ["file b.txt, got no such file"]


def test_a_file_is_looked_for_in_the_named_directory(runner: Runner) -> None:
    (runner.root / "web").mkdir()
    check = Check("touch a.txt", directory="web", files=("a.txt",))
    assert run_checks(Verify((check,)), runner, RunContext(root=runner.root, timeout=10)).passed
