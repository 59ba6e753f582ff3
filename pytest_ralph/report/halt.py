"""The Halt: why a run stopped, what is done, what failed, what waits for it, and how to go on. Data → lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from pytest_ralph.text.inert import one_line, terminal
from pytest_ralph.text.width import columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pytest_ralph.results import TaskResult
    from pytest_ralph.spec.order import PlanProblem

TITLE = "RALPH HALTED"
CANNOT_PROCEED = "RALPH CANNOT PROCEED"
NARROWEST = 40
STATUS_WIDTH = 10
SHOWN_AT_EITHER_END = 5
# What a person does about a failure of a kind, where it can be said in a word.
FIXABLE = {
    "test_failure": "the failing tests",
    "lint_error": "the linting errors",
    "typecheck_error": "the type errors",
    "format_error": "the formatting",
    "build_error": "the build",
    "timeout": "what takes too long",
}
_LONGEST = 1_000

Item = TypeVar("Item")


@dataclass(frozen=True)
class Done:
    """A task that is complete, with the commit that holds it where there is one."""

    id: str
    title: str
    commit: str = ""


@dataclass(frozen=True)
class Failed:
    """A task that is given up: how often it was tried, the kind of its error, and the error."""

    id: str
    title: str
    attempts: int
    max_attempts: int
    error: str
    details: str = ""


@dataclass(frozen=True)
class Blocked:
    """A task that could not run, and the failed task it waits for."""

    id: str
    title: str
    by: str


@dataclass(frozen=True, kw_only=True)
class Halt:
    """The six sections of a halt summary."""

    reason: str
    completed: tuple[Done, ...] = ()
    failed: tuple[Failed, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    # Name and place of what is kept: `("State", "specs/foo/.ralph-state.json")`.
    preserved: tuple[tuple[str, str], ...] = ()
    # What to do before the command is run again.
    steps: tuple[str, ...] = ()
    command: str = ""


def halt_of(
    tasks: Iterable[TaskResult],
    *,
    max_attempts: int,
    preserved: Iterable[tuple[str, str]] = (),
    command: str = "",
) -> Halt:
    """The halt that a run's stories tell."""
    tasks = tuple(tasks)
    bad = tuple(task for task in tasks if task.bad)
    done = (task for task in tasks if task.outcome in ("passed", "recovered") or _is_old(task))
    waiting = (task for task in tasks if task.outcome == "blocked")
    return Halt(
        reason=_reason(bad),
        completed=tuple(Done(task.id, task.title, task.commit) for task in done),
        failed=tuple(_failed(task, max_attempts) for task in bad),
        blocked=tuple(
            Blocked(task.id, task.title, task.reason.removeprefix("blocked by "))
            for task in waiting
        ),
        preserved=tuple(preserved),
        steps=tuple(_step(task) for task in bad),
        command=command,
    )


def _is_old(task: TaskResult) -> bool:
    """Complete before this run, and not looked at again."""
    return task.outcome == "skipped" and task.reason.startswith("already complete")


def brief_lines(halt: Halt) -> list[str]:
    """For `-q`: what failed, what waits for it, how to go on."""
    blocked = ", ".join(task.id for task in halt.blocked[:SHOWN_AT_EITHER_END])
    hidden = len(halt.blocked) - SHOWN_AT_EITHER_END
    more = f" and {hidden} more" if hidden > 0 else ""
    waiting = [f"Blocked: {blocked}{more}"] if blocked else []
    return [
        f"{TITLE}: {one_line(halt.reason, _LONGEST)}",
        *waiting,
        f"Run: {_on_one_line(halt.command)}",
    ]


def halt_lines(halt: Halt, width: int = 80, *, unicode: bool = True, box: bool = True) -> list[str]:
    """The summary in a box as wide as the terminal, or without one where there is no terminal.

    The command to go on with is always on one line as well, to be copied: below the box if it is too long for it.
    """
    width = max(width, NARROWEST)
    pen = _Pen(width - 6 if box else width, "…" if unicode else "...")
    drawn = _sections(halt, pen)
    lines = list(
        _boxed(drawn, width, "╔═╗║╠╣╚╝─" if unicode else "+=+|++++-") if box else _plain(drawn)
    )
    command = _on_one_line(halt.command)
    return lines if any(command in line for line in lines) else [*lines, "", command]


def _on_one_line(command: str) -> str:
    return " ".join(terminal(command).splitlines())


def refusal_lines(problem: PlanProblem) -> list[str]:
    """A plan that cannot be carried out, found before anything ran."""
    return _non_retryable(problem.kind, problem.facts, problem.resolution, problem.verdict)


def missing_lines(package: str, *, required_by: str, install: str, command: str) -> list[str]:
    """A dependency that nobody but the user may install."""
    return _non_retryable(
        "dependency_missing",
        (
            "Required dependency not installed:",
            f"  Package: {package}",
            f"  Required by: {required_by}",
        ),
        ("Resolution:", f"  Install missing dependency: {install}", f"  Then resume: {command}"),
        "Manual intervention required",
    )


def _non_retryable(
    kind: str, facts: Sequence[str], resolution: Sequence[str], verdict: str
) -> list[str]:
    heading = f"ERROR: {kind} (NON-RETRYABLE)"
    body = [*facts, "", CANNOT_PROCEED, "", *resolution, "", f"[HALTED - {verdict}]"]
    indents = (line[: len(line) - len(line.lstrip())] for line in body)
    safe = [indent + one_line(line, _LONGEST) for indent, line in zip(indents, body, strict=True)]
    return [heading, "=" * len(heading), "", *safe]


def _reason(bad: Sequence[TaskResult]) -> str:
    if not bad:
        return "stopped before all tasks were done"
    names = ", ".join(task.id for task in bad[:3]) + (
        f" and {len(bad) - 3} more" if len(bad) > 3 else ""
    )
    if len(bad) > 1:
        return f"Tasks {names} failed"
    fixed = any(fix.outcome != "open" for _, fix in bad[0].all_fixes)
    tried = "after retry" if bad[0].earlier_failures or fixed else ""
    return f"Task {names} failed {tried}".rstrip()


def _failed(task: TaskResult, max_attempts: int) -> Failed:
    failure = task.last_failure
    attempts = max(len(task.verifications), 1)
    kind, details = (failure.kind, failure.error) if failure else ("unknown", task.reason)
    return Failed(task.id, task.title, attempts, max(attempts, max_attempts), kind, details)


def _step(task: TaskResult) -> str:
    waiting = [fix for _, fix in task.all_fixes if fix.outcome == "open"]
    if waiting:
        return f"Do task {waiting[-1].id} ({waiting[-1].title}) in {task.spec_path or 'tasks.md'}"
    failure = task.last_failure
    if failure and failure.missing:
        return f"Install {failure.missing}, which task {task.id} needs"
    files = ", ".join(failure.files[:3]) if failure else ""
    what = FIXABLE.get(failure.kind if failure else "", "what fails")
    return (
        f"Fix {what} of task {task.id} in {files}"
        if files
        else f"Fix {what} in task {task.id} ({task.place})"
    )


@dataclass(frozen=True)
class _Pen:
    """Writes text of any width of characters into lines of `width` columns."""

    width: int
    ellipsis: str

    def wrapped(self, text: str, indent: str = "") -> Iterator[str]:
        """`text` behind `indent`; lines after the first are indented as far."""
        room = max(self.width - columns(indent), 8)
        start = indent
        for line in _wrap(one_line(text, _LONGEST), room):
            yield start + line
            start = " " * columns(indent)

    def status(self, label: str, status: str) -> str:
        """`Task 1.3: Title ........ complete`."""
        room = self.width - STATUS_WIDTH
        label = self._cut(one_line(label, _LONGEST), room - 5)
        return f"{label} {'.' * (room - columns(label) - 2)} {status}"

    def shortened(
        self, items: Sequence[Item], draw: Callable[[Item], Iterable[str]]
    ) -> Iterator[str]:
        """Every item, or the first and the last few of many, each with a blank line after it."""
        hidden = len(items) - 2 * SHOWN_AT_EITHER_END
        for at, item in enumerate(items):
            if hidden <= 1 or not SHOWN_AT_EITHER_END <= at < len(items) - SHOWN_AT_EITHER_END:
                yield from (*draw(item), "")
            elif at == SHOWN_AT_EITHER_END:
                yield from (f"{self.ellipsis} {hidden:,} more", "")
        if not items:
            yield from ("None", "")

    def _cut(self, text: str, room: int) -> str:
        if columns(text) <= room:
            return text
        return next(_wrap_hard(text, room - columns(self.ellipsis))) + self.ellipsis


def _sections(halt: Halt, pen: _Pen) -> Iterator[tuple[str, list[str]]]:
    """Heading and lines of each section; the reason has no heading."""
    yield "", [*pen.wrapped(halt.reason, "Reason: "), ""]
    yield "COMPLETED TASKS", list(pen.shortened(halt.completed, lambda task: _draw_done(task, pen)))
    failed = "FAILED TASK" if len(halt.failed) == 1 else "FAILED TASKS"
    yield failed, list(pen.shortened(halt.failed, lambda task: _draw_failed(task, pen)))
    yield "BLOCKED TASKS", list(pen.shortened(halt.blocked, lambda task: _draw_blocked(task, pen)))
    preserved = [line for name, place in halt.preserved for line in pen.wrapped(place, f"{name}: ")]
    yield "STATE PRESERVED", [*preserved, ""]
    yield "RESUME INSTRUCTIONS", list(_draw_resume(halt, pen))


def _draw_done(task: Done, pen: _Pen) -> Iterator[str]:
    yield pen.status(f"Task {task.id}: {task.title}", "complete")
    if task.commit:
        yield from pen.wrapped(task.commit, "  Commit: ")


def _draw_failed(task: Failed, pen: _Pen) -> Iterator[str]:
    yield pen.status(f"Task {task.id}: {task.title}", "FAILED")
    yield f"  Attempts: {task.attempts}/{task.max_attempts}"
    yield from pen.wrapped(task.error, "  Error: ")
    if task.details:
        yield from pen.wrapped(task.details, "  Details: ")


def _draw_blocked(task: Blocked, pen: _Pen) -> Iterator[str]:
    yield pen.status(f"Task {task.id}: {task.title}", "blocked")
    yield from pen.wrapped(task.by, "  Blocked by: ")


def _draw_resume(halt: Halt, pen: _Pen) -> Iterator[str]:
    steps = halt.steps[:SHOWN_AT_EITHER_END]
    for number, step in enumerate((*steps, f"Run: {halt.command}"), 1):
        yield from pen.wrapped(step, f"{number}. ")
    yield from ("", *pen.wrapped("To start fresh: Add --ralph-fresh flag"), "")


def _plain(sections: Iterable[tuple[str, list[str]]]) -> Iterator[str]:
    yield from (TITLE, "=" * len(TITLE), "")
    for heading, lines in sections:
        if heading:
            yield from (heading, "-" * len(heading), "")
        yield from lines


def _boxed(sections: Iterable[tuple[str, list[str]]], width: int, strokes: str) -> Iterator[str]:
    top_left, across, top_right, side, left, right, bottom_left, bottom_right, rule = tuple(strokes)
    inner = width - 2

    def row(text: str) -> str:
        return f"{side}  {text}{' ' * (inner - 2 - columns(text))}{side}"

    yield top_left + across * inner + top_right
    yield f"{side}{TITLE:^{inner}}{side}"
    yield left + across * inner + right
    yield row("")
    for heading, lines in sections:
        if heading:
            yield from map(row, (rule * (inner - 4), heading, rule * (inner - 4), ""))
        yield from map(row, lines)
    yield bottom_left + across * inner + bottom_right


def _wrap(text: str, room: int) -> Iterator[str]:
    """Lines of at most `room` columns, parted at spaces, inside a word only where it is too long by itself."""
    line = ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if columns(joined) <= room:
            line = joined
            continue
        if line:
            yield line
        *full, line = _wrap_hard(word, room)
        yield from full
    yield line


def _wrap_hard(word: str, room: int) -> Iterator[str]:
    piece, used = "", 0
    for character in word:
        wide = columns(character)
        if used + wide > room and piece:
            yield piece
            piece, used = "", 0
        piece, used = piece + character, used + wide
    yield piece
