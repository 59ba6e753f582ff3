"""Only Verify decides: how an executor ended and what it said matters only while Verify fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project

REPAIRED = "echo fixed > parser.txt"


@pytest.mark.parametrize(
    "ending",
    [
        "exit 3",
        "echo 'API Error: 429 rate limit exceeded, try again later' >&2; exit 1",
        "echo 'API Error: 429 rate limit exceeded, try again later'",
        "kill -SEGV $$",
        "echo 'This requires manual review.'; echo TASK_COMPLETE",
        "echo 'I could not run the tests because commands require approval.'",
        "echo 'The test failed before my change with exit code 1, it passes now.'",
        "echo \"Task $task: Fix FAILED\"; echo '- Error: no idea'; exit 1",
        "echo 'Error: Maximum context length (128k tokens) exceeded'; exit 1",
    ],
)
def test_a_repaired_task_is_recovered(one_task: Project, ending: str) -> None:
    result = one_task.run(executor=one_task.shell(f"{REPAIRED}; {ending}"))

    assert result.ret == 0
    assert one_task.calls == ["1.3.1"]
    assert one_task.boxes == {"1.3": True, "1.3.1": True, "1.4": True}
    result.stdout.fnmatch_lines(["*✓ 1.3.1 Fix: *"])


def test_a_failed_executor_that_helped_is_noted(one_task: Project) -> None:
    result = one_task.run("-v", executor=one_task.shell(f"{REPAIRED}; exit 3"))

    result.stdout.fnmatch_lines(
        ["*✓ 1.3.1 Fix: *", "* the executor says it failed, but Verify passes"]
    )


def test_one_that_hangs_after_the_repair(one_task: Project) -> None:
    hangs = one_task.shell(f"{REPAIRED}; sleep 60")
    result = one_task.run("--ralph-executor-timeout", "1", executor=hangs)

    assert result.ret == 0
    assert one_task.calls == ["1.3.1"]


def test_a_fix_of_a_fix_only_if_verify_fails(one_task: Project) -> None:
    fails_first = one_task.shell(
        'echo "$task" > parser.txt; [ $call = 1 ] && { echo no idea; exit 1; }; echo fixed > '
        "parser.txt"
    )
    result = one_task.run(executor=fails_first)

    assert result.ret == 0
    assert one_task.calls == ["1.3.1", "1.3.1.1"]
    assert one_task.history("what", "what IN ('verify', 'fix')") == [
        "verify",
        "fix",
        "verify",
        "fix",
        "verify",
        "verify",
    ]


def test_nothing_changed_is_not_verified_again(one_task: Project) -> None:
    result = one_task.run("--ralph-max-depth", "1", executor="exit 3")

    assert result.ret == 1
    assert one_task.history("what", "what = 'verify' AND task = '1.3'") == ["verify"]
