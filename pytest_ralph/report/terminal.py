"""The `ralph` section at the end of the terminal output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.fixing.agents import display_name
from pytest_ralph.report.fix_tree import branches, changes, executions, history_line
from pytest_ralph.report.lines import start_line
from pytest_ralph.report.not_run import TO_CHECK, not_run_lines
from pytest_ralph.report.phrases import cost, duration, token_count
from pytest_ralph.results import NOT_RUN
from pytest_ralph.text.bounded import cut_to_columns
from pytest_ralph.text.inert import one_line, terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pytest

    from pytest_ralph.report.fix_tree import Branch
    from pytest_ralph.results import Attempt, Note, TaskResult

LONGEST = 400
SHORTEST_TITLE = 16
# The characters of pytest's -r that ask for recovered tasks: ours, that of a rerun, and all.
RECOVERED_CHARS = frozenset("rRA")
# How pytest's last line counts our outcomes, after those of pytest.
COUNTED = ("recovered", "flaky", "blocked", "manual")
COLOURS = {
    "failed": "red",
    "regression": "red",
    "recovered": "green",
    "passed": "green",
}


class Summary:
    """Writes the section: one line per task with `-q`, every attempt with `-vv`."""

    def __init__(self, reporter: pytest.TerminalReporter, verbosity: int) -> None:
        self.reporter = reporter
        self.verbosity = verbosity
        self._width = LONGEST
        if reporter.isatty:
            self._width = reporter.config.get_terminal_writer().fullwidth
        self._started = False

    def write(self, tasks: Sequence[TaskResult], complete: Sequence[str] = ()) -> None:
        """Write the section, unless there is nothing to report."""
        shown = list(filter(self._is_shown_task, tasks))
        collapsed = not_run_lines(tasks)
        if self.verbosity != 0 or self.reporter.hasopt("skipped"):
            # pytest names each manual task in a line of its own.
            collapsed = [line for line in collapsed if not line.endswith(TO_CHECK)]
        if shown or collapsed or complete:
            self.start_section()

        for task in shown:
            if self.verbosity < 0:
                self._brief(task)
            else:
                self._task(task)

        for line in collapsed:
            self._line(one_line(line, LONGEST))
        self._list_skipped(tasks)
        self._list_recovered(tasks)
        for spec in complete:
            self._line(f"ALL_TASKS_COMPLETE: {spec}", "green")
        self._last_line(tasks)

    def _is_shown_task(self, task: TaskResult) -> bool:
        """Return whether a task is worth rows of its own; with `-vv`, all that ran are."""
        if self.verbosity >= 2 and task.outcome not in NOT_RUN:
            return True
        return _is_notable(task)

    def _list_skipped(self, tasks: Sequence[TaskResult]) -> None:
        """With `-rs`, list the tasks that pytest does not, as it knows only its own categories."""
        if not self.reporter.hasopt("skipped"):
            return
        for task in tasks:
            if task.outcome in ("blocked", "manual"):
                self._line(f"SKIPPED [1] {task.place}: {one_line(task.reason, LONGEST)}")

    def _list_recovered(self, tasks: Sequence[TaskResult]) -> None:
        """With `-rr`, `-rR` or `-rA`, list the tasks that passed in the end."""
        if not RECOVERED_CHARS.intersection(self.reporter.config.option.reportchars):
            return
        for task in tasks:
            if task.outcome not in ("recovered", "flaky"):
                continue
            line = f"{task.outcome.upper()} {task.spec_path}::{task.name or task.id}"
            if task.fixes:
                line += f" - by {task.fixes[-1].id}"
            self._line(line, "green")

    def start_section(self) -> None:
        """Write the heading of the section, once."""
        if self.verbosity >= 0 and not self._started:
            self.reporter.write_sep("=", "ralph")
            self._started = True

    def next(self, lines: Iterable[str]) -> None:
        """Write the `Next` block."""
        self.start_section()
        self._line("Next", "bold")
        for line in lines:
            self._line(line)

    def notes(self, notes: Iterable[str]) -> None:
        """Write what does not concern a single task."""
        for note in notes:
            self.start_section()
            self._line(f"ralph: {terminal(note)}")

    def _last_line(self, tasks: Sequence[TaskResult]) -> None:
        """Put the counts of pytest's last line in order, and add the cost.

        With `-v`, write how many tokens it paid for.
        """
        total = cost(tasks)
        build = self.reporter.build_summary_stats_line

        def build_ours() -> tuple[list[tuple[str, dict[str, bool]]], str]:
            parts, colour = build()
            # pytest counts outcomes that are not its own in the order in which they came.
            parts = sorted(parts, key=_place_in_last_line)
            if total:
                parts.append((total, {}))
            return parts, colour

        self.reporter.build_summary_stats_line = build_ours  # type: ignore[method-assign]
        tokens = token_count(tasks)
        if tokens and self.verbosity > 0:
            self._line(f"cost: {total} ({tokens:,} tokens)")

    def _brief(self, task: TaskResult) -> None:
        """Write one line about a task that passed; FAILURES has the others."""
        self._warnings(task, f"{task.spec}: ")
        if not task.passed:
            return
        if task.fixes:
            line = history_line(task)
        elif task.reason:
            line = f"- Task {task.id}: {task.reason}"
        else:
            return
        text = one_line(line, LONGEST)
        self._line(f"{task.spec}: {text}", COLOURS.get(task.outcome, ""))

    def _task(self, task: TaskResult) -> None:
        """Write a task with its fixes and, with `-vv`, with all attempts."""
        word = task.outcome.upper()
        colour = COLOURS.get(task.outcome, "yellow")
        heading = one_line(f"{task.spec} {task.heading}", LONGEST)
        row = self._cut(f" {heading}", len(word))
        self._parts((word, colour), (row, "bold"))

        for line in executions(task):
            self._detail(line, "  ")
        is_brief = task.bad and self.verbosity < 1
        if is_brief:
            self._fixes_in_brief(task)
        else:
            self._fixes(task)
        if not task.bad:
            # FAILURES has the notes on a failed task.
            for line in self._own_notes(task):
                self._detail(line, "  ")
        if task.commit:
            self._detail(f"committed as {task.commit[:12]}", "  ")
        self._warnings(task, "  ")
        has_ended = task.passed or bool(task.final)
        if task.fixes and has_ended and not is_brief:
            self._line(f"  {history_line(task)}")

        if self.verbosity >= 2:
            for number, attempt in enumerate(task.attempts, 1):
                self._attempt(number, attempt, with_output=not task.bad)

    def _fixes(self, task: TaskResult) -> None:
        """Write the fixes of a task as a tree."""
        for branch in branches(task.fixes, joined=False):
            self._fix(task, branch)

    def _fixes_in_brief(self, task: TaskResult) -> None:
        """Write the fixes as a tree, without the titles of those that ended."""
        for branch in branches(task.fixes, joined=True):
            if branch.outcome == "open":
                self._fix(task, branch)
            else:
                self._fix_without_title(task, branch)

    def _warnings(self, task: TaskResult, prefix: str) -> None:
        """Write what an executor should not have done, such as changing tests."""
        for finding in task.findings:
            self._parts((f"{prefix}warning:", "yellow"), (f" {one_line(finding, LONGEST)}", ""))

    def _fix(self, task: TaskResult, branch: Branch) -> None:
        """Write a fix with its title and, below it, what it changed and the notes on it."""
        fix = branch.fixes[0]
        sign = branch.sign
        stroke = f"  {branch.stroke}"
        how = branch.who_and_how(task)
        # Beside the title and `how`: the sign, two spaces and two brackets.
        taken = len(stroke) + 5
        room_for_title = self._width - taken - len(how) - len(fix.id)
        if room_for_title <= SHORTEST_TITLE:
            how = sign.words
        title = one_line(f"{fix.id} {fix.title}", LONGEST)
        title = self._cut(title, taken + len(how))
        row = [(stroke, ""), (sign.sign, sign.colour), (f" {title}", "")]
        if how:
            row.append((f" ({how})", "light"))
        self._parts(*row)

        details = changes(branch.attempts(task))
        if not task.bad:
            # FAILURES has the notes on a failed task.
            notes = filter(self._is_shown, task.notes_on(fix.id))
            details += [note.text for note in notes]
        for line in details:
            self._detail(line, f"  {branch.below}  ")

    def _fix_without_title(self, task: TaskResult, branch: Branch) -> None:
        """Write all about fixes that did not help in one row."""
        attempts = branch.attempts(task)
        how = branch.who_and_how(task)
        errors = [attempt.error for attempt in attempts if attempt.failed and attempt.error]
        if branch.outcome == "failed" and errors:
            how += f": {errors[-1]}"
        text = one_line(", ".join([how, *changes(attempts)]), LONGEST)

        sign = branch.sign
        stroke = f"  {branch.stroke}"
        row = self._cut(f" {branch.ids} {text}", len(stroke) + 1)
        self._parts((stroke, ""), (sign.sign, sign.colour), (row, ""))

    def _own_notes(self, task: TaskResult) -> Iterator[str]:
        """Yield the notes about the task itself.

        The tree of fixes shows by itself that a fix was decided on.
        """
        hidden = set()
        if task.fixes and self.verbosity != 1:
            # With `-vv`, the attempts have the decisions.
            hidden = {attempt.decision for attempt in task.attempts}

        for note in task.notes:
            if not note.task_id:
                yield note.text
            elif note.task_id == task.id and note.text not in hidden and self._is_shown(note):
                yield note.line
        if task.reason and not task.fixes:
            yield task.reason

    def _is_shown(self, note: Note) -> bool:
        return self.verbosity >= 1 or not note.is_detail

    def _attempt(self, number: int, attempt: Attempt, *, with_output: bool) -> None:
        """Write one attempt and what was decided after it."""
        # Imported here: a run without a failure shows attempts only with `-vv`.
        from pytest_ralph.report.failure_text import failure_headline, output_lines, relevant

        after = " ".join(duration(attempt.duration))
        who = one_line(attempt.command, LONGEST)
        if attempt.executor:
            who = display_name(attempt.executor)
        what = f"{attempt.what} {attempt.fix_id}".rstrip()
        outcome = attempt.outcome
        if not attempt.verifies and not attempt.failed:
            # Whether it helped is for the next verification to say.
            outcome = "done"
        self._line(f"  {number}. {what} {outcome} in {after}: {who}")
        if attempt.failed:
            self._line(f"     {failure_headline(attempt)}", "red")
        if attempt.decision:
            self._line(f"     → {one_line(attempt.decision, LONGEST)}")
        if attempt.failed and with_output:
            lines = terminal(attempt.output).splitlines()
            for line in relevant(lines, attempt.error, output_lines(self.verbosity)):
                self._line(f"     | {line}")

    def _detail(self, line: str, indent: str) -> None:
        self._line(self._cut(indent + one_line(line, LONGEST)), "light")

    def _cut(self, line: str, taken: int = 0) -> str:
        """Cut a line to the width of the terminal; with `-v`, everything is there to be copied."""
        if self.verbosity >= 1:
            return line
        return cut_to_columns(line, self._width - taken - 1)

    def _line(self, text: str, markup: str = "") -> None:
        self._parts((text, markup))

    def _parts(self, *parts: tuple[str, str]) -> None:
        """Write one line from pieces of text with their markup."""
        start_line(self.reporter)
        for text, markup in parts:
            options = {markup: True} if markup else {}
            self.reporter.write(text, **options)
        self.reporter.write_line("")


def _is_notable(task: TaskResult) -> bool:
    """Return whether the section is about this task even without `-vv`."""
    if task.outcome in ("recovered", "flaky"):
        return True
    if task.findings or task.commit or executions(task):
        return True
    if task.outcome == "manual":
        return task.was_worked_on
    if task.bad:
        # A fix task that only waits for a person is named under FAILURES.
        return any(fix.outcome != "open" for _, fix in task.all_fixes)
    return task.outcome == "passed" and bool(task.notes)


def _place_in_last_line(part: tuple[str, dict[str, bool]]) -> int:
    word = part[0].rpartition(" ")[2]
    return COUNTED.index(word) + 1 if word in COUNTED else 0
