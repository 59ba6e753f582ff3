"""The end of a run on the terminal: what was recovered by what, what was tried in vain, through pytest's own writer."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.fixing.agents.naming import display_name
from pytest_ralph.report.phrases import duration
from pytest_ralph.spec.progress import fix_history_entry
from pytest_ralph.text.inert import one_line, terminal
from pytest_ralph.text.width import fitted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pytest

    from pytest_ralph.results import Attempt, FixResult, TaskResult

LONGEST = 400
SHORTEST_TITLE = 16
COLOURS = {"failed": "red", "regression": "red", "recovered": "green", "passed": "green"}


class Mark(NamedTuple):
    """How the end of a fix is drawn."""

    sign: str
    colour: str
    words: str = ""


MARKS = {
    "completed": Mark("✓", "green"),
    "verification_mismatch": Mark("✗", "red", "did not help"),
    "failed": Mark("✗", "red", "failed"),
    "open": Mark("○", "yellow", "waits"),
}
IN_ASCII = str.maketrans(
    {"└": "`", "├": "|", "│": "|", "─": "-", "✓": "+", "✗": "x", "○": "o", "→": ">", "…": "..."}
)


def can_draw() -> bool:
    """Whether standard output takes more than ASCII."""
    return (getattr(sys.stdout, "encoding", "") or "").lower().replace("-", "").startswith("utf")


def history_line(story: TaskResult) -> str:
    """The line `.progress.md` keeps about a task that needed fixes."""
    ids = [fix.id for depth, fix in story.all_fixes if depth == 0]
    final = "PASS" if story.outcome == "recovered" else f"FAIL ({story.final})"
    return fix_history_entry(story.id, ids, final)


class Branch(NamedTuple):
    """One fix of a lineage, and the strokes that lead to it and on from it."""

    stroke: str
    on: str
    fix: FixResult


def branches(fixes: Sequence[FixResult], indent: str = "") -> Iterator[Branch]:
    """The lineage of fixes as a tree, parents first."""
    for fix in fixes:
        last = fix is fixes[-1]
        on = indent + ("   " if last else "│  ")
        yield Branch(indent + ("└─ " if last else "├─ "), on, fix)
        yield from branches(fix.children, on)


class Summary:
    """The section after the failures. Short with -q, everything with -vv, nothing where nothing happened."""

    def __init__(self, reporter: pytest.TerminalReporter, verbosity: int) -> None:
        self.reporter = reporter
        self.verbosity = verbosity
        self._width = (
            reporter.config.get_terminal_writer().fullwidth if reporter.isatty else LONGEST
        )
        self._unicode = can_draw()

    def write(
        self,
        stories: Sequence[TaskResult],
        lines: Mapping[str, Sequence[str]],
        complete: Sequence[str],
    ) -> None:
        told = [
            story
            for story in stories
            if story.outcome == "recovered" or (story.fixes and story.bad)
        ]
        told += [
            story for story in stories if story.outcome == "passed" and lines.get(story.node_id)
        ]
        shown = stories if self.verbosity >= 2 else told
        if self.verbosity >= 0 and (shown or complete):
            self.reporter.write_sep("=", "ralph")
        for story in shown:
            if self.verbosity < 0:
                self._brief(story)
            else:
                self._task(
                    story,
                    [line for text in lines.get(story.node_id, ()) for line in text.splitlines()],
                )
        for spec in complete:
            self._line(f"ALL_TASKS_COMPLETE: {spec}", "green")

    def notes(self, notes: Iterable[str]) -> None:
        """What is no matter of one task."""
        for note in notes:
            self._line(f"ralph: {terminal(note)}")

    def _brief(self, story: TaskResult) -> None:
        told = history_line(story) if story.fixes else f"- Task {story.id}: {story.reason}"
        if story.outcome == "recovered" or story.final:
            self._line(f"{story.spec}: {one_line(told, LONGEST)}", COLOURS.get(story.outcome, ""))

    def _task(self, story: TaskResult, lines: Sequence[str]) -> None:
        word, colour = story.outcome.upper(), COLOURS.get(story.outcome, "yellow")
        self._parts(
            (word, colour), (self._cut(f"{story.spec} {story.heading}", " ", len(word)), "bold")
        )
        said = _by_fix(story, lines)
        for branch in branches(story.fixes):
            self._fix(branch)
            for line in said.get(branch.fix.id, ()) if not story.bad else ():
                self._said(line, f"  {branch.on}  ")
        if not story.bad:
            for line in self._besides(story, said[""]):
                self._said(line, "  ")
        if story.fixes and (story.final or not story.bad):
            self._line(f"  {history_line(story)}")
        if self.verbosity >= 2:
            for attempt in story.attempts:
                self._attempt(attempt, with_output=story.outcome == "recovered")

    def _fix(self, branch: Branch) -> None:
        fix = branch.fix
        mark = MARKS.get(fix.outcome, Mark("·", "", fix.outcome))
        by = (
            f"by {display_name(fix.executor)}" if fix.executor not in ("", "repair", "none") else ""
        )
        how = ", ".join(filter(None, (by, mark.words)))
        room = self._width - len(branch.stroke) - len("  ✓  ()") - 1
        if room - len(how) < len(fix.id) + SHORTEST_TITLE:
            how = mark.words
        title = one_line(f"{fix.id} {fix.title}", LONGEST)
        self._parts(
            (f"  {branch.stroke}", ""),
            (mark.sign, mark.colour),
            (f" {title if self.verbosity >= 2 else fitted(title, room - len(how))}", ""),
            (f" ({how})" if how else "", "light"),
        )

    def _besides(self, story: TaskResult, lines: Sequence[str]) -> Iterator[str]:
        """What was said of the task itself. That it was to be fixed goes without saying where the fixes are shown."""
        decided = {
            f"{story.id}: {attempt.decision}" for attempt in story.attempts if attempt.decision
        }
        hidden = decided if story.fixes and self.verbosity < 1 else ()
        yield from (line for line in lines if line not in hidden)
        if not story.fixes and story.reason:
            yield story.reason

    def _attempt(self, attempt: Attempt, *, with_output: bool) -> None:
        after = " ".join(duration(attempt.duration))
        who = (
            display_name(attempt.executor)
            if attempt.executor
            else one_line(attempt.command, LONGEST)
        )
        self._line(f"  {attempt.number}. {attempt.what} {attempt.outcome} in {after}: {who}")
        if attempt.failed:
            self._line(f"     {attempt.kind}: {one_line(attempt.error, LONGEST)}", "red")
        if attempt.decision:
            self._line(f"     → {one_line(attempt.decision, LONGEST)}")
        if attempt.failed and with_output:
            from pytest_ralph.report.failure_text import relevant

            for line in relevant(terminal(attempt.output), attempt.error):
                self._line(f"     | {line[:LONGEST]}")

    def _said(self, line: str, indent: str) -> None:
        # A command is there to be copied.
        whole = line.startswith("undo: ")
        self._line(
            f"{indent}{one_line(line, LONGEST)}" if whole else self._cut(line, indent), "light"
        )

    def _cut(self, text: str, indent: str, taken: int = 0) -> str:
        line = indent + one_line(text, LONGEST)
        return line if self.verbosity >= 2 else fitted(line, self._width - taken - 1)

    def _line(self, text: str, markup: str = "") -> None:
        self._parts((text, markup))

    def _parts(self, *parts: tuple[str, str]) -> None:
        """One line of several looks."""
        self.reporter.ensure_newline()
        for text, markup in parts:
            drawn = text if self._unicode else text.translate(IN_ASCII)
            self.reporter.write(drawn, **({markup: True} if markup else {}))
        self.reporter.write_line("")


def _by_fix(story: TaskResult, lines: Iterable[str]) -> dict[str, list[str]]:
    """What was said, by the fix it was said of; under the empty id what was said of the task or of nothing else."""
    said: dict[str, list[str]] = {"": [], **{fix.id: [] for _, fix in story.all_fixes}}
    for line in lines:
        fix, colon, rest = line.partition(": ")
        known = bool(colon) and fix in said
        said[fix if known else ""].append(rest if known else line)
    return said
