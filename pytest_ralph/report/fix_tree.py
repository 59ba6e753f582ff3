"""Fixes in the terminal output: the tree they form, and what is said about each of them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.fixing.agents import display_name
from pytest_ralph.report.phrases import ANOTHER_FAILURE, cost
from pytest_ralph.results import changed_files
from pytest_ralph.spec.progress import fix_history_entry
from pytest_ralph.text.listing import joined, listed, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ralph.results import Attempt, FixResult, TaskResult

CHANGED_SHOWN = 5


class FixSign(NamedTuple):
    """How the outcome of a fix is drawn."""

    sign: str
    colour: str
    words: str = ""


FIX_SIGNS = {
    "completed": FixSign("✓", "green"),
    "verification_mismatch": FixSign("✗", "red", "did not help"),
    "failed": FixSign("✗", "red", "failed"),
    "open": FixSign("○", "yellow", "waits"),
}


class Branch(NamedTuple):
    """Fixes that share a row, with the strokes that lead to it and those below it."""

    stroke: str
    below: str
    fixes: tuple[FixResult, ...]

    @property
    def ids(self) -> str:
        return joined(shortened([fix.id for fix in self.fixes]))

    @property
    def outcome(self) -> str:
        """How all of them ended."""
        return self.fixes[0].outcome

    @property
    def sign(self) -> FixSign:
        return FIX_SIGNS.get(self.outcome, FixSign("·", "", self.outcome))

    def attempts(self, task: TaskResult) -> list[Attempt]:
        """Return the attempts at these fixes."""
        ids = [fix.id for fix in self.fixes]
        return [attempt for attempt in task.attempts if attempt.fix_id in ids]

    def who_and_how(self, task: TaskResult) -> str:
        """Return who carried out the fixes and how they ended, as far as that is of interest."""
        fix = self.fixes[0]
        who = ""
        if fix.executor not in ("", "repair", "none"):
            who = f"by {display_name(fix.executor)}"
        how = self.sign.words
        if task.led_to_another_failure(fix):
            how = ANOTHER_FAILURE
        return ", ".join(filter(None, (who, how)))


def branches(
    fixes: Sequence[FixResult], indent: str = "", *, joined: bool = False
) -> Iterator[Branch]:
    """Yield the fixes as a tree, parents first.

    With `joined`, consecutive fixes of one executor that ended alike share a row.
    """
    rows: list[tuple[FixResult, ...]] = [(fix,) for fix in fixes]
    if joined:
        rows = _rows_of_alike(fixes)

    for row in rows:
        stroke = "├─ "
        below = f"{indent}│  "
        if row is rows[-1]:
            stroke = "└─ "
            below = f"{indent}   "
        yield Branch(f"{indent}{stroke}", below, row)
        yield from branches(row[-1].children, below, joined=joined)


def _rows_of_alike(fixes: Sequence[FixResult]) -> list[tuple[FixResult, ...]]:
    """Put consecutive fixes into one row if the same executor made them and they ended alike."""
    rows: list[tuple[FixResult, ...]] = []
    for fix in fixes:
        if rows and _are_alike(rows[-1][-1], fix):
            rows[-1] += (fix,)
        else:
            rows.append((fix,))
    return rows


def _are_alike(fix: FixResult, other: FixResult) -> bool:
    """Return whether two fixes can share a row; nothing may have to be drawn between them."""
    if fix.children or fix.outcome == "open":
        return False
    return (fix.outcome, fix.executor) == (other.outcome, other.executor)


def history_line(task: TaskResult) -> str:
    """Return the line that `.progress.md` keeps about a task that needed fixes."""
    ids = [fix.id for fix in task.fixes]
    final = f"FAIL ({task.final})"
    if task.outcome == "recovered":
        final = "PASS"
    return fix_history_entry(task.id, ids, final)


def executions(task: TaskResult) -> list[str]:
    """Return who carried out the task itself or parts of it, and what that changed."""
    fix_ids = {fix.id for _, fix in task.all_fixes}
    by_executor: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in task.attempts:
        if attempt.what not in ("execute", "fix") or attempt.fix_id in fix_ids:
            continue
        if attempt.changed or not attempt.failed:
            by_executor[attempt.executor].append(attempt)

    lines = []
    for executor, attempts in by_executor.items():
        done = "carried out"
        if len(attempts) > 1:
            done += f" {len(attempts)} times"
        done += f" by {display_name(executor)}"
        lines.append(", ".join([done, *changes(attempts)]))
    return lines


def changes(attempts: Sequence[Attempt]) -> list[str]:
    """Return the files that attempts changed and what they cost, as at most one text."""
    details = []
    changed = changed_files(attempts)
    if changed:
        details.append(f"changed {listed(changed, CHANGED_SHOWN)}")
    total = cost(attempts)
    if total:
        details.append(f"cost {total}")
    return [", ".join(details)] if details else []
