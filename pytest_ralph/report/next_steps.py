"""The `Next` block: what a person should do after a run with failed tasks, and the command line."""

from __future__ import annotations

import re
import shlex
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.text.listing import joined, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    import pytest

    from pytest_ralph.results import FixResult, TaskResult

# What a person has to do, for the kinds of failure that have a name in plain words.
TO_DO = {
    "test_failure": "Make the failing tests of task {} pass",
    "lint_error": "Fix the linting errors of task {}",
    "typecheck_error": "Fix the type errors of task {}",
    "format_error": "Fix the formatting of task {}",
    "build_error": "Fix the build of task {}",
    "timeout": "Find out why task {} times out",
}

# The message of a preset whose program is not installed.
NOT_INSTALLED = re.compile(r"(\S+) is not on PATH \(to install it: (.+)\)")

# The kinds of which `missing` names something that can be installed.
INSTALLABLE = ("dependency_missing", "command_not_found")

# As many tasks that Ctrl-C cut off are named.
MOST_CUT_OFF = 3


def next_step(task: TaskResult) -> str:
    """Return what a person should do about a failed task, as an instruction."""
    open_fix = _open_fix(task)
    if open_fix is not None:
        return f"Do task {open_fix.id} ({open_fix.title}) in {task.spec_path or 'tasks.md'}"

    failure = task.last_failure
    if failure is None:
        return f"Fix task {task.id} ({task.place})"
    if failure.missing and failure.kind in INSTALLABLE:
        return f"Install {failure.missing}, which task {task.id} needs"
    to_do = TO_DO.get(failure.kind, "Fix task {}").format(task.id)
    files = ", ".join(failure.files[:3])
    return f"{to_do} ({files or task.place})"


def next_steps(task: TaskResult) -> list[str]:
    """Return what a person should do about a failed task, the specific step first."""
    step = next_step(task)
    # "Install ruff, which task 1.3 needs" says all that "Install ruff" does.
    return [step, *(text for text in task.advice if not step.startswith(text))]


def next_lines(
    failed: Sequence[TaskResult], command: str, where: str, *, recovery: bool, set_up: str = ""
) -> list[str]:
    """Return three lines: what to do, the command that continues, and where the report is.

    recovery: Whether the run could heal what failed.
    set_up: What the project needs before its commands can pass.
    """
    instruction = _what_to_do(failed, command, recovery=recovery)
    if set_up:
        instruction = set_up[0].upper() + set_up[1:]
    return [f"  {instruction}", f"  Continue: {command}", f"  {where}"]


def _what_to_do(failed: Sequence[TaskResult], command: str, *, recovery: bool) -> str:
    """Return which tasks to fix, and the option that has them fixed."""
    instruction = _instruction(failed)
    waiting = [task for task in failed if _open_fix(task)]
    # With an executor given, something else stood in its way: the failure says what.
    if waiting and "--ralph-executor" not in command:
        what = "it" if len(waiting) == 1 else "them"
        return f"{instruction}, or have an agent do {what}: add --ralph-executor claude"
    if not recovery:
        return f"{instruction}, or let ralph try: add --ralph-recovery"
    return instruction + _how_to_install(failed)


def _how_to_install(failed: Sequence[TaskResult]) -> str:
    """Return how to install the executor that a failed task waited for in vain, if that is why."""
    for task in failed:
        for trouble in task.troubles:
            missing = NOT_INSTALLED.search(trouble)
            if missing:
                return f", or install {missing[1]}: {missing[2]}"
    return ""


def interrupted_lines(headings: Sequence[str], command: str, where: str) -> list[str]:
    """Return the block after Ctrl-C: which tasks were cut off, and how to continue."""
    cut_off = f"{headings[0]} was cut off; it is not recorded as failed."
    if len(headings) > 1:
        cut_off = f"Cut off, and not recorded as failed: {listed(headings, MOST_CUT_OFF)}"
    return [f"  {cut_off}", f"  Continue: {command}", f"  {where}"]


def _instruction(failed: Sequence[TaskResult]) -> str:
    """Return which fix tasks to do and which tasks to fix."""
    if len(failed) == 1:
        return next_step(failed[0])
    has_several_specs = len({task.spec for task in failed}) > 1
    # The ids of the tasks to fix and of the fix tasks to do, by spec.
    to_fix: dict[str, list[str]] = defaultdict(list)
    to_do: dict[str, list[str]] = defaultdict(list)
    for task in failed:
        place = f" of {task.spec}" if has_several_specs else ""
        open_fix = _open_fix(task)
        if open_fix is None:
            to_fix[place].append(task.id)
        else:
            to_do[place].append(open_fix.id)

    sentences = []
    if to_fix:
        sentences.append(f"Fix {_tasks(to_fix)} (see FAILURES)")
    if to_do:
        sentences.append(f"Do {_tasks(to_do)} (in tasks.md)")
    return ". ".join(sentences)


def _open_fix(task: TaskResult) -> FixResult | None:
    """Return the last fix task of this task that nobody has carried out."""
    for _, fix in reversed(task.all_fixes):
        if fix.outcome == "open":
            return fix
    return None


def _tasks(ids_by_place: Mapping[str, Sequence[str]]) -> str:
    """Return `task 1.2`, or `tasks 1.2 and 1.3 of shop; 1.1 of mail`."""
    parts = [joined(ids) + place for place, ids in ids_by_place.items()]
    number = sum(map(len, ids_by_place.values()))
    noun = "task" if number == 1 else "tasks"
    return f"{noun} {'; '.join(parts)}"


_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def command_line(
    config: pytest.Config, mask: Callable[[str], str], leave_out: Collection[str] = ()
) -> str:
    """Return the command that started this run, masked and without the words in `leave_out`."""
    program = ["pytest"]
    if Path(sys.argv[0]).name == "__main__.py":
        program = [Path(sys.executable).name, "-m", "pytest"]
    words = [*program, *map(str, config.invocation_params.args)]
    shown = [word for word in words if word not in leave_out]
    # Before they are quoted, which may change how a secret looks.
    masked = map(mask, shown)
    return mask(" ".join(map(_quote, masked)))


def _quote(word: str) -> str:
    """Quote a word for the shell, on one line."""
    if not _CONTROL.search(word):
        return shlex.quote(word)
    # Bash knows escapes in `$'…'`.
    escaped = word.replace("\\", "\\\\").replace("'", "\\'")
    printable = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", escaped)
    return f"$'{printable}'"
