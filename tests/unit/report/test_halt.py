"""The halt summary with its six sections at any width, and the refusal of invalid plans."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ralph.report.halt import (
    Halt,
    halt_lines,
    missing_lines,
    refusal_lines,
)
from pytest_ralph.report.next_steps import next_lines, next_step
from pytest_ralph.results import Attempt, FixResult, TaskResult
from pytest_ralph.spec.document import Spec
from pytest_ralph.spec.order import plan
from pytest_ralph.text.bounded import columns

FAILURE = Attempt(
    outcome="failed",
    kind="test_failure",
    error="3 tests failing - validateToken returns null instead of user object",
    files=("src/api/auth.test.ts",),
)
HALT = Halt(
    tasks=(
        TaskResult("0.1", title="Bootstrap", commit="chore(bootstrap): add quality tools"),
        TaskResult("2.2", title="Frontend", commit="feat(ui): add login form"),
        TaskResult(
            "2.1",
            title="Backend",
            outcome="failed",
            attempts=(FAILURE, FAILURE),
            max_attempts=2,
        ),
        TaskResult("3.1", title="Integration", outcome="blocked", reason="blocked by 2.1"),
    ),
    preserved=(("Directory", ".ralph/"), ("State files", "2 specs"), ("Logs", ".ralph/logs/")),
    command="pytest --ralph-recovery specs/foo",
)

BOX = """\
╔═══════════════════════════════════════════════════════════════════╗
║                           RALPH HALTED                            ║
╠═══════════════════════════════════════════════════════════════════╣
║                                                                   ║
║  Reason: Task 2.1 failed after retry                              ║
║                                                                   ║
║  ───────────────────────────────────────────────────────────────  ║
║  COMPLETED TASKS                                                  ║
║  ───────────────────────────────────────────────────────────────  ║
║                                                                   ║
║  Task 0.1: Bootstrap ................................ complete    ║
║    Commit: chore(bootstrap): add quality tools                    ║
║                                                                   ║
║  Task 2.2: Frontend ................................. complete    ║
║    Commit: feat(ui): add login form                               ║
║                                                                   ║
║  ───────────────────────────────────────────────────────────────  ║
║  FAILED TASK                                                      ║
║  ───────────────────────────────────────────────────────────────  ║
║                                                                   ║
║  Task 2.1: Backend .................................. FAILED      ║
║    Attempts: 2/2                                                  ║
║    Error: test_failure                                            ║
║    Details: 3 tests failing - validateToken returns null instead  ║
║             of user object                                        ║
║                                                                   ║
║  ───────────────────────────────────────────────────────────────  ║
║  BLOCKED TASKS                                                    ║
║  ───────────────────────────────────────────────────────────────  ║
║                                                                   ║
║  Task 3.1: Integration .............................. blocked     ║
║    Blocked by: 2.1                                                ║
║                                                                   ║
║  ───────────────────────────────────────────────────────────────  ║
║  STATE PRESERVED                                                  ║
║  ───────────────────────────────────────────────────────────────  ║
║                                                                   ║
║  Directory: .ralph/                                               ║
║  State files: 2 specs                                             ║
║  Logs: .ralph/logs/                                               ║
║                                                                   ║
║  ───────────────────────────────────────────────────────────────  ║
║  RESUME INSTRUCTIONS                                              ║
║  ───────────────────────────────────────────────────────────────  ║
║                                                                   ║
║  1. Make the failing tests of task 2.1 pass                       ║
║     (src/api/auth.test.ts)                                        ║
║  2. Run: pytest --ralph-recovery specs/foo                        ║
║                                                                   ║
║  To start fresh: Add --ralph-fresh flag                           ║
║                                                                   ║
╚═══════════════════════════════════════════════════════════════════╝"""


def test_the_box_has_all_sections() -> None:
    assert "\n".join(halt_lines(HALT, 69)) == BOX


def test_without_a_terminal_there_is_no_box() -> None:
    text = "\n".join(halt_lines(HALT, 80, box=False))
    assert text.startswith(
        "RALPH HALTED\n============\n\nReason: Task 2.1 failed after retry\n\n"
        "COMPLETED TASKS\n-------"
    )
    assert text.isascii()


def test_what_is_empty_says_so() -> None:
    text = "\n".join(halt_lines(Halt(tasks=(), command="pytest --ralph x"), box=False))
    assert "COMPLETED TASKS\n---------------\n\nNone\n" in text
    assert "FAILED TASKS\n------------\n\nNone\n" in text


@pytest.mark.parametrize(("count", "hidden"), [(10, None), (11, None), (12, "2"), (1_234, "1,224")])
def test_long_lists_show_their_first_and_last_few(count: int, hidden: str | None) -> None:
    blocked = [TaskResult(f"9.{n}", title="T", outcome="blocked") for n in range(count)]
    halt = Halt(tasks=tuple(blocked))
    lines = [line for line in halt_lines(halt, box=False) if line.startswith(("Task", "..."))]
    assert len(lines) == (count if hidden is None else 11)
    assert lines[0].startswith("Task 9.0:")
    assert lines[-1].startswith(f"Task 9.{count - 1}:")
    assert hidden is None or lines[5] == f"... {hidden} more"


def test_a_long_command_stands_below_the_box() -> None:
    command = 'pytest --ralph-recovery specs/foo -k "a  b" ' + "-p no:cacheprovider " * 5
    halt = Halt(tasks=(), command=command.strip())
    assert halt_lines(halt, 60)[-1] == command.strip()
    assert halt_lines(HALT, 60)[-1].startswith("╚")
    assert halt_lines(halt, 60, box=False)[-1] == command.strip()


texts = st.text(max_size=60) | st.sampled_from(
    ["日本語のタイトル", "é combining", "👩‍👩‍👧 family", "\x1b[31mred", "x" * 90, "a\nb"]
)


@given(texts, texts, texts, st.integers(0, 130))
def test_the_box_is_as_wide_as_the_terminal(a: str, b: str, c: str, width: int) -> None:
    failure = Attempt(outcome="failed", kind=a, error=b)
    halt = Halt(
        tasks=(
            TaskResult(a, title=b, commit=c),
            TaskResult(b, title=c, outcome="failed", attempts=(failure,)),
            TaskResult(c, title=a, outcome="blocked", reason=b),
        ),
        preserved=(("State", b),),
        command="x",
    )
    lines = halt_lines(halt, width)
    assert {columns(line) for line in lines} == {max(width, 40)}
    assert not any(ord(character) < 32 for line in lines for character in line)


@pytest.mark.parametrize(
    ("text", "width"),
    [("abc", 3), ("日本", 4), ("e\u0301", 1), ("✓", 1), ("🎉", 2), ("a\u200bb", 2)],
)
def test_columns_are_those_of_a_terminal(text: str, width: int) -> None:
    assert columns(text) == width


def test_tasks_are_sorted_into_sections() -> None:
    tasks = (
        TaskResult("1.1"),
        TaskResult("1.2", outcome="recovered"),
        TaskResult("1.3", outcome="failed"),
        TaskResult("1.4", outcome="blocked", reason="blocked by 1.3"),
        TaskResult("1.5", outcome="skipped", reason="manual: look"),
        TaskResult("1.6", outcome="skipped", reason="already complete"),
    )
    halt = Halt(tasks=tasks)
    assert [task.id for task in halt.completed] == ["1.1", "1.2", "1.6"]
    assert [task.id for task in halt.failed] == ["1.3"]
    assert [task.id for task in halt.blocked] == ["1.4"]


OPEN, TRIED = (
    FixResult("1.3.1", title="Fix: it", outcome="open"),
    FixResult("1.3.1", outcome="verification_mismatch"),
)


@pytest.mark.parametrize(
    ("failure", "fixes", "step"),
    [
        (
            {"kind": "lint_error", "files": ("a.py",)},
            (),
            "Fix the linting errors of task 1.3 (a.py)",
        ),
        ({"kind": "unknown"}, (TRIED,), "Fix task 1.3 (specs/a/tasks.md:7)"),
        (
            {"kind": "dependency_missing", "missing": "yaml"},
            (),
            "Install yaml, which task 1.3 needs",
        ),
        (
            {"kind": "task_incomplete", "missing": "out.txt"},
            (),
            "Fix task 1.3 (specs/a/tasks.md:7)",
        ),
        ({"kind": "test_failure"}, (OPEN,), "Do task 1.3.1 (Fix: it) in specs/a/tasks.md"),
        (
            {"kind": "test_failure"},
            (TRIED._replace(children=(OPEN,)),),
            "Do task 1.3.1 (Fix: it) in specs/a/tasks.md",
        ),
    ],
)
def test_the_first_step_names_the_work(
    failure: dict[str, Any], fixes: tuple[FixResult, ...], step: str
) -> None:
    attempt = Attempt(outcome="failed", **failure)
    result = TaskResult(
        "1.3",
        spec_path="specs/a/tasks.md",
        line=7,
        outcome="failed",
        attempts=(attempt,),
        fixes=fixes,
    )
    assert next_step(result) == step


def test_next_names_all_failed_tasks() -> None:
    failed = [
        TaskResult("1.2", outcome="failed", spec_path="specs/a/tasks.md", fixes=(OPEN,)),
        TaskResult("1.4", outcome="failed"),
        TaskResult("2.1", outcome="failed"),
        TaskResult("2.2", outcome="failed"),
    ]
    instruction, *others = next_lines(failed, "pytest -v", "Report: out.html", recovery=True)
    assert instruction == (
        "  Fix tasks 1.4, 2.1 and 2.2 (see FAILURES). Do task 1.3.1 (in tasks.md)"
        ", or have an agent do it: add --ralph-executor claude"
    )
    assert others == ["  Continue: pytest -v", "  Report: out.html"]
    # An executor is there already: something else stood in its way.
    [instruction, *_] = next_lines(failed, "pytest --ralph-executor=aider", "", recovery=True)
    assert instruction.endswith("Do task 1.3.1 (in tasks.md)")


def test_next_of_verify_only_names_recovery() -> None:
    failed = [TaskResult("1.4", outcome="failed"), TaskResult("2.1", outcome="failed")]
    assert next_lines(failed, "pytest", "", recovery=False)[0] == (
        "  Fix tasks 1.4 and 2.1 (see FAILURES), or let ralph try: add --ralph-recovery"
    )


def test_next_tells_specs_apart() -> None:
    failed = [
        TaskResult("1.2", spec="a", outcome="failed", fixes=(OPEN,)),
        TaskResult("1.2", spec="b", outcome="failed"),
    ]
    assert next_lines(failed, "pytest", "", recovery=True)[0].startswith(
        "  Fix task 1.2 of b (see FAILURES). Do task 1.3.1 of a (in tasks.md)"
    )


def test_a_retry_is_mentioned_after_a_retry() -> None:
    waiting, tried = (TaskResult("1.3", outcome="failed", fixes=(fix,)) for fix in (OPEN, TRIED))
    assert Halt(tasks=(waiting,)).reason == "Task 1.3 failed"
    assert Halt(tasks=(tried,)).reason == "Task 1.3 failed after retry"


@pytest.mark.parametrize(
    ("failed", "reason"),
    [
        ([], "stopped before all tasks were done"),
        (["1.1"], "Task 1.1 failed"),
        (["1.1", "1.2"], "Tasks 1.1, 1.2 failed"),
        (["1.1", "1.2", "1.3"], "Tasks 1.1, 1.2, 1.3 failed"),
        (["1.1", "1.2", "1.3", "1.4", "1.5"], "Tasks 1.1, 1.2, 1.3 and 2 more failed"),
    ],
)
def test_the_reason_names_what_failed(failed: list[str], reason: str) -> None:
    tasks = [TaskResult(task_id, outcome="failed") for task_id in failed]
    assert Halt(tasks=tuple(tasks)).reason == reason


def test_a_circular_plan_is_refused() -> None:
    tasks = Spec.parse(
        "- [ ] 2.1 A\n  - **Depends on**: 3.1\n- [ ] 3.1 B\n  - **Depends on**: 2.1\n"
    ).tasks
    (problem,) = plan(tasks).problems
    assert "\n".join(refusal_lines(problem)) == dedent("""\
        ERROR: circular_dependency (NON-RETRYABLE)
        ==========================================

        Plan contains circular task dependencies:
          Task 2.1 depends on Task 3.1
          Task 3.1 depends on Task 2.1

        RALPH CANNOT PROCEED

        Resolution:
          Fix the plan's "Depends on" fields to remove the cycle.
          Ensure dependencies form a directed acyclic graph (DAG).

        [HALTED - Invalid plan]""")


def test_a_file_conflict_is_refused() -> None:
    source = (
        "- [ ] 2.1 [P] A\n  - **Files**: src/api/routes.ts\n- [ ] 2.2 [P] B\n"
        "  - **Files**: `src/api/routes.ts`\n"
    )
    (problem,) = plan(Spec.parse(source).tasks).problems
    assert "\n".join(refusal_lines(problem)) == dedent("""\
        ERROR: file_conflict (NON-RETRYABLE)
        ====================================

        Parallel tasks modify the same file:
          File: src/api/routes.ts
          Task 2.1 names it (line 1)
          Task 2.2 names it (line 3)

        RALPH CANNOT PROCEED

        Resolution options:
        1. Manually merge the changes
        2. Modify plan to make these tasks sequential
        3. Split the shared file to avoid conflicts

        [HALTED - Parallel conflict]""")


def test_an_unknown_dependency_is_refused() -> None:
    (problem,) = plan(Spec.parse("- [ ] 2.1 A\n  - **Depends on**: 9.9\n").tasks).problems
    assert "\n".join(refusal_lines(problem)) == dedent("""\
        ERROR: plan_invalid (NON-RETRYABLE)
        ===================================

        Plan names a task that does not exist:
          Task 2.1 depends on Task 9.9

        RALPH CANNOT PROCEED

        Resolution:
          Fix the "Depends on" field of task 2.1 (line 1), or add task 9.9.

        [HALTED - Invalid plan]""")


def test_a_missing_dependency_is_not_retryable() -> None:
    lines = missing_lines(
        "@types/jest",
        required_by="Type checking",
        command="pytest --ralph-recovery specs/foo",
    )
    assert "\n".join(lines) == dedent("""\
        ERROR: dependency_missing (NON-RETRYABLE)
        =========================================

        Required dependency not installed:
          Package: @types/jest
          Required by: Type checking

        RALPH CANNOT PROCEED

        Resolution:
          Install missing dependency: @types/jest
          Then resume: pytest --ralph-recovery specs/foo

        [HALTED - Manual intervention required]""")
