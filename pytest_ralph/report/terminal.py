"""The end of a run on the terminal: what was recovered by what, what is left to do, through pytest's own writer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.report.failure_text import relevant
from pytest_ralph.text.inert import one_line, terminal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pytest

    from pytest_ralph.report.story import FixStory, TaskStory

COLOURS = {"failed": "red", "regression": "red", "recovered": "green", "passed": "green"}
MARKS = {"completed": "✓", "verification_mismatch": "✗ did not help", "failed": "✗", "open": "waits"}


def history_line(story: TaskStory) -> str:
    """The line `.progress.md` keeps about a task that needed fixes."""
    ids = [fix.id for depth, fix in story.all_fixes if depth == 0]
    count = "1 fix attempted" if len(ids) == 1 else f"{len(ids)} fixes attempted"
    final = "PASS" if story.outcome == "recovered" else f"FAIL ({story.final})"
    return f"- Task {story.id}: {count} ({', '.join(ids)}) - Final: {final}"


def fix_tree_lines(fixes: Sequence[FixStory], indent: str = "") -> Iterator[str]:
    """The lineage of fixes, drawn as a tree."""
    for at, fix in enumerate(fixes):
        last = at == len(fixes) - 1
        by = f" [{fix.executor}]" if fix.executor not in ("", "repair", "none") else ""
        mark = MARKS.get(fix.outcome, fix.outcome)
        yield f"{indent}{'└─' if last else '├─'} {fix.id} {one_line(fix.title, 200)}{by} {mark}".rstrip()
        yield from fix_tree_lines(fix.children, indent + ("   " if last else "│  "))


class Summary:
    """The section after the failures. Short with -q, everything with -vv, nothing where nothing happened."""

    def __init__(self, reporter: pytest.TerminalReporter, verbosity: int) -> None:
        self.reporter = reporter
        self.verbosity = verbosity

    def write(self, stories: Sequence[TaskStory], lines: Mapping[str, Sequence[str]], complete: Sequence[str]) -> None:
        told = [story for story in stories if story.outcome == "recovered" or (story.fixes and story.bad)]
        if told or (self.verbosity >= 2 and stories):
            self.reporter.section("ralph", "=")
            for story in told if self.verbosity < 2 else stories:
                self._task(story, lines.get(story.node_id, ()))
        for spec in complete:
            self._line(f"ALL_TASKS_COMPLETE: {spec}", "green")

    def _task(self, story: TaskStory, lines: Iterable[str]) -> None:
        colour = COLOURS.get(story.outcome, "yellow")
        if self.verbosity < 0:
            self._line(f"{story.spec}: {history_line(story)}", colour)
            return
        self._line(f"{story.outcome.upper()} {story.spec} {one_line(story.heading, 200)}", colour, bold=True)
        for line in fix_tree_lines(story.fixes):
            self._line(f"  {line}")
        if story.outcome == "recovered":
            for said in lines:
                self._line(f"  {terminal(said)}")
        if story.fixes and (story.final or not story.bad):
            self._line(f"  {history_line(story)}")
        if self.verbosity >= 2:
            self._attempts(story)

    def _attempts(self, story: TaskStory) -> None:
        for attempt in story.attempts:
            who = attempt.executor or one_line(attempt.command, 120)
            self._line(f"  {attempt.number}. {attempt.what} {attempt.outcome} in {attempt.duration:.1f} s: {who}")
            if attempt.failed:
                self._line(f"     {attempt.kind}: {one_line(attempt.error, 200)}", "red")
            if attempt.decision:
                self._line(f"     → {one_line(attempt.decision, 200)}")
            if attempt.failed and story.outcome == "recovered":
                for line in relevant(terminal(attempt.output), attempt.error):
                    self._line(f"     | {line[:400]}")

    def _line(self, text: str, colour: str = "", *, bold: bool = False) -> None:
        width = self.reporter.config.get_terminal_writer().fullwidth
        cut = text if self.verbosity >= 2 or len(text) <= width or not self.reporter.isatty else f"{text[: width - 1]}…"
        self.reporter.write_line(cut, **({colour: True} if colour else {}), bold=bold)
