"""Repair: a small change inside the project that needs no agent and can be undone."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.running.runner import RunError
from pytest_ralph.text.listing import count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_ralph.fixing.file_state import Change
    from pytest_ralph.fixing.snapshot import Snapshots
    from pytest_ralph.running.runner import Runner

# Seconds for one call.
TIME_LIMIT = 900.0
FILES_PER_CALL = 200
# Characters of an error that a note quotes.
LONGEST_NOTE = 200
ERROR_LINE = ("error", "npm err", "npm error", "fatal")
HOW_TO_UNDO = "pytest --ralph-undo puts the files back"


@dataclass(frozen=True)
class RepairResult:
    """What became of a repair, and the files that it changed."""

    made: bool
    note: str
    changes: tuple[Change, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of the changed files, relative to the root."""
        return tuple(change.path for change in self.changes)


@dataclass(frozen=True)
class Repair:
    """A repair that is possible.

    name: One of the values of `--ralph-repair`.
    argv: The call that makes it.
    verify: The Verify command if that only has to run again, without a call.
    files: The files that it may change, relative to the root.
    arguments: Files for the call, which may be too many for one.
    done: What a successful call has done, if that is more than to change files.
    remains: What cannot be undone.
    """

    name: str
    reason: str
    argv: tuple[str, ...] = ()
    verify: str = ""
    files: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    directory: Path = Path()
    env: tuple[tuple[str, str], ...] = ()
    done: str = ""
    remains: str = ""

    @property
    def command(self) -> str:
        """What it does, as a person would type it."""
        return self.verify or shlex.join([*self.argv, *self.arguments])

    def apply(
        self, runner: Runner, snapshots: Snapshots, record: Callable[[Sequence[Change]], object]
    ) -> RepairResult:
        """Make the repair. `record` is called with its changes, so that they can be undone.

        That is so after Ctrl-C, too: the program may have changed some of the files.
        """
        if self.verify:
            return RepairResult(True, self.reason)
        before = snapshots.of(self.files)
        try:
            problem = self._run(runner)
        finally:
            changes = snapshots.changes(before, snapshots.of(self.files))
            if changes:
                record(changes)
        if self.done and problem:
            return RepairResult(False, f"{self.command} failed: {problem}", changes)
        if self.done:
            return RepairResult(True, f"{self.reason}: {self.done}", changes)

        # The exit status does not tell: many exit with 1 although they fixed what they could.
        call = shlex.join(self.argv)
        if changes:
            changed = count(len(changes), "file")
            return RepairResult(True, f"{call}: {changed} changed", changes)
        why = f" ({problem})" if problem else ""
        return RepairResult(False, f"{call} changed nothing{why}")

    def _run(self, runner: Runner) -> str:
        """Call the program; return why it failed, or an empty text."""
        problem = ""
        for start in range(0, max(1, len(self.arguments)), FILES_PER_CALL):
            files = self.arguments[start : start + FILES_PER_CALL]
            try:
                result = runner.run(
                    self.command,
                    argv=[*self.argv, *files],
                    cwd=self.directory,
                    env=dict(self.env),
                    timeout=TIME_LIMIT,
                )
            except RunError as error:
                return str(error)
            if result.timed_out:
                return "took too long"
            if result.interrupted:
                return "interrupted"
            if result.exit_code != 0:
                problem = _error_line(result.output())
        return problem

    def how_to_undo(self, result: RepairResult) -> str:
        """Return a line that tells how to take the repair back; empty if there is nothing to."""
        files = HOW_TO_UNDO if result.changes else ""
        return "; ".join(filter(None, [self.remains, files]))


def _error_line(output: str) -> str:
    """Return the last line that reports an error, otherwise the last line."""
    lines = [line.strip() for line in output.strip().splitlines()]
    if not lines:
        return "no output"
    for line in reversed(lines):
        if line.lower().startswith(ERROR_LINE):
            return line[:LONGEST_NOTE]
    return lines[-1][:LONGEST_NOTE]
