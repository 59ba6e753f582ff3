"""The halt summary: what is complete, what failed, what is blocked, and how to continue.

The texts follow the failure protocol of the plugin, so that tools can rely on their wording.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ralph.report.next_steps import next_step
from pytest_ralph.text.bounded import columns, cut_to_columns, wrapped
from pytest_ralph.text.inert import one_line, terminal
from pytest_ralph.text.listing import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pytest_ralph.results import TaskResult
    from pytest_ralph.spec.plan_problems import PlanProblem

TITLE = "RALPH HALTED"
NARROWEST = 40
NARROWEST_TEXT = 8
STATUS_WIDTH = 10
SHOWN_AT_EITHER_END = 5
LONGEST = 1_000
RUN = "Run: "

Section = tuple[str, list[str]]
# What is said about a task, by name.
Facts = dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Halt:
    """The end of work on a spec of which tasks failed."""

    tasks: tuple[TaskResult, ...]
    # Name and place of what is kept: `("State", "specs/foo/.ralph-state.json")`.
    preserved: tuple[tuple[str, str], ...] = ()
    # The command that continues the work.
    command: str = ""

    @property
    def completed(self) -> list[TaskResult]:
        return [task for task in self.tasks if task.passed or _was_complete(task)]

    @property
    def failed(self) -> list[TaskResult]:
        return [task for task in self.tasks if task.bad]

    @property
    def blocked(self) -> list[TaskResult]:
        return [task for task in self.tasks if task.outcome == "blocked"]

    @property
    def step(self) -> str:
        """The last step of the instructions, in one line."""
        return RUN + " ".join(terminal(self.command).splitlines())

    @property
    def reason(self) -> str:
        """Name the tasks that failed."""
        failed = self.failed
        if not failed:
            return "stopped before all tasks were done"
        if len(failed) > 1:
            return f"Tasks {listed([task.id for task in failed], 3)} failed"
        after = " after retry" if _was_retried(failed[0]) else ""
        return f"Task {failed[0].id} failed{after}"


def _was_complete(task: TaskResult) -> bool:
    """Return whether the task was complete before this run, and not verified again."""
    return task.outcome == "skipped" and task.reason.startswith("already complete")


def _was_retried(task: TaskResult) -> bool:
    if task.earlier_failures:
        return True
    return any(fix.outcome != "open" for _, fix in task.all_fixes)


def halt_lines(halt: Halt, width: int = 80, *, box: bool = True) -> list[str]:
    """Return the summary in a box of `width` columns, or without a box and in ASCII.

    Above it are the dependencies that only a person may install. The command is below the box, on a
    line of its own to be copied, if it does not fit in one line.
    """
    width = max(width, NARROWEST)
    lines = list(_missing_dependencies(halt))
    if box:
        page = _Page(width - 6, "…")
        lines += _boxed(_sections(halt, page), width)
    else:
        page = _Page(width, "...")
        lines += _plain(_sections(halt, page))
    if not page.fits(halt.step):
        lines += ["", halt.step.removeprefix(RUN)]
    return lines


def refusal_lines(problem: PlanProblem) -> list[str]:
    """Describe a plan that cannot be carried out."""
    return _non_retryable(problem.kind, problem.facts, problem.resolution, problem.verdict)


def _missing_dependencies(halt: Halt) -> Iterator[str]:
    """Yield a paragraph for each dependency that a failed task needs."""
    for task in halt.failed:
        failure = task.last_failure
        if failure is None or failure.kind != "dependency_missing":
            continue
        if failure.missing:
            yield from missing_lines(
                failure.missing, required_by=f"Task {task.heading}", command=halt.command
            )
            yield ""


def missing_lines(package: str, *, required_by: str, command: str) -> list[str]:
    """Describe a dependency that only the user may install."""
    facts = (
        "Required dependency not installed:",
        f"  Package: {package}",
        f"  Required by: {required_by}",
    )
    resolution = (
        "Resolution:",
        f"  Install missing dependency: {package}",
        f"  Then resume: {command}",
    )
    return _non_retryable("dependency_missing", facts, resolution, "Manual intervention required")


def _non_retryable(
    kind: str, facts: Sequence[str], resolution: Sequence[str], verdict: str
) -> list[str]:
    """Return an error that only a person can resolve, in the form of the protocol."""
    heading = f"ERROR: {kind} (NON-RETRYABLE)"
    body = [*facts, "", "RALPH CANNOT PROCEED", "", *resolution, "", f"[HALTED - {verdict}]"]
    lines = [heading, "=" * len(heading), ""]
    for line in body:
        text = line.lstrip()
        indent = line[: len(line) - len(text)]
        lines.append(indent + one_line(text, LONGEST))
    return lines


@dataclass(frozen=True)
class _Page:
    """Formats text for lines of `width` columns."""

    width: int
    ellipsis: str

    def field(self, label: str, text: str) -> list[str]:
        """Return `label` and `text`, with the lines after the first indented to match."""
        room = max(self.width - columns(label), NARROWEST_TEXT)
        first, *others = wrapped(one_line(text, LONGEST), room)
        indent = " " * columns(label)
        return [label + first, *(indent + line for line in others)]

    def fits(self, step: str) -> bool:
        """Return whether a numbered step takes one line."""
        return columns(f"99. {step}") <= self.width

    def tasks(
        self, tasks: Sequence[TaskResult], status: str, facts_of: Callable[[TaskResult], Facts]
    ) -> list[str]:
        """Describe every task, or of many the first and the last few."""
        if not tasks:
            return ["None", ""]
        first = tasks
        last: Sequence[TaskResult] = ()
        hidden = len(tasks) - 2 * SHOWN_AT_EITHER_END
        if hidden > 1:
            first = tasks[:SHOWN_AT_EITHER_END]
            last = tasks[-SHOWN_AT_EITHER_END:]

        lines = []
        for task in first:
            lines += [*self._task(task, status, facts_of(task)), ""]
        if last:
            lines += [f"{self.ellipsis} {hidden:,} more", ""]
        for task in last:
            lines += [*self._task(task, status, facts_of(task)), ""]
        return lines

    def _task(self, task: TaskResult, status: str, facts: Facts) -> Iterator[str]:
        """Yield `Task 1.3: Title ........ complete`, and the facts that are not empty."""
        room = self.width - STATUS_WIDTH
        label = one_line(f"Task {task.id}: {task.title}", LONGEST)
        label = cut_to_columns(label, room - 5, self.ellipsis)
        dots = "." * (room - columns(label) - 2)
        yield f"{label} {dots} {status}"
        for name, fact in facts.items():
            if fact:
                yield from self.field(f"  {name}: ", fact)


def _sections(halt: Halt, page: _Page) -> list[Section]:
    """Return the heading and the lines of each section; the first has no heading."""
    preserved = []
    for name, place in halt.preserved:
        preserved += page.field(f"{name}: ", place)

    last_step = halt.step if page.fits(halt.step) else "Run the command below"
    steps = [*map(next_step, halt.failed), last_step]
    resume = []
    for number, step in enumerate(steps, 1):
        resume += page.field(f"{number}. ", step)

    start_fresh = page.field("", "To start fresh: Add --ralph-fresh flag")
    failed_heading = "FAILED TASK" if len(halt.failed) == 1 else "FAILED TASKS"
    return [
        ("", [*page.field("Reason: ", halt.reason), ""]),
        ("COMPLETED TASKS", page.tasks(halt.completed, "complete", _facts_of_completed)),
        (failed_heading, page.tasks(halt.failed, "FAILED", _facts_of_failed)),
        ("BLOCKED TASKS", page.tasks(halt.blocked, "blocked", _facts_of_blocked)),
        ("STATE PRESERVED", [*preserved, ""]),
        ("RESUME INSTRUCTIONS", [*resume, "", *start_fresh, ""]),
    ]


def _facts_of_completed(task: TaskResult) -> Facts:
    return {"Commit": task.commit}


def _facts_of_failed(task: TaskResult) -> Facts:
    attempts = max(len(task.verifications), 1)
    failure = task.last_failure
    return {
        "Attempts": f"{attempts}/{max(attempts, task.max_attempts)}",
        "Error": failure.kind if failure else "unknown",
        "Details": failure.error if failure else task.reason,
    }


def _facts_of_blocked(task: TaskResult) -> Facts:
    return {"Blocked by": task.reason.removeprefix("blocked by ")}


def _plain(sections: Iterable[Section]) -> Iterator[str]:
    """Yield the sections below underlined headings."""
    yield from (TITLE, "=" * len(TITLE), "")
    for heading, lines in sections:
        if heading:
            yield from (heading, "-" * len(heading), "")
        yield from lines


def _boxed(sections: Iterable[Section], width: int) -> Iterator[str]:
    """Yield the sections in a box of `width` columns."""
    inner = width - 2
    across = "═" * inner
    rule = "─" * (inner - 4)

    def row(text: str) -> str:
        return f"║  {text}{' ' * (inner - 2 - columns(text))}║"

    yield f"╔{across}╗"
    yield f"║{TITLE:^{inner}}║"
    yield f"╠{across}╣"
    yield row("")
    for heading, lines in sections:
        if heading:
            yield from map(row, (rule, heading, rule, ""))
        yield from map(row, lines)
    yield f"╚{across}╝"
