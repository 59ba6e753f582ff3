"""Repair: a small change inside the project that needs no agent and can be undone."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.files import SPEC_FILES
from pytest_ralph.running.project_files import TOOL_DIRECTORIES
from pytest_ralph.running.runner import RunError
from pytest_ralph.text.listing import count

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.fixing.snapshot import Change, Snapshots
    from pytest_ralph.running.runner import Runner

# Directories whose files belong to package managers, git or pytest-ralph. No repair changes them.
FOREIGN_DIRECTORIES = TOOL_DIRECTORIES | {"site-packages"}

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

    def apply(self, runner: Runner, snapshots: Snapshots) -> RepairResult:
        """Make the repair. The changes that are returned can be undone."""
        if self.verify:
            return RepairResult(True, self.reason)
        before = snapshots.of(self.files)
        problem = self._run(runner)
        changes = snapshots.changes(before, snapshots.of(self.files))
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


@dataclass(frozen=True)
class RepairContext:
    """What a repair is found from."""

    failure: Failure
    root: Path
    environ: Mapping[str, str]
    # The names of the repairs that the user allows.
    allowed: Collection[str]

    @property
    def command(self) -> str:
        """The Verify command that failed, in the root."""
        return self.failure.command

    @property
    def search_path(self) -> str:
        """The PATH of the commands."""
        return self.environ.get("PATH", os.defpath)

    def has_program(self, name: str) -> bool:
        """Return whether a program is on the PATH of the commands."""
        return shutil.which(name, path=self.search_path) is not None

    def own_file(self, name: str, base: Path | None = None) -> Path | None:
        """Return the file of the project that `name` means, looked up from `base` first."""
        for directory in (base or self.root, self.root):
            file = own_file(self.root, directory / name)
            if file is not None:
                return file
        return None

    def relative(self, path: Path) -> str:
        """Return `path` relative to the root."""
        return path.relative_to(self.root).as_posix()


def own_file(root: Path, path: Path) -> Path | None:
    """Return the resolved `path` if it is a regular file that belongs to the project alone."""
    try:
        real = path.resolve(strict=True)
        status = real.stat()
    except (OSError, ValueError, RuntimeError):
        return None

    if not real.is_relative_to(root) or not stat.S_ISREG(status.st_mode):
        return None
    # A hard link may be another name of a file outside the project.
    if status.st_nlink > 1 or real.name in SPEC_FILES:
        return None
    if not FOREIGN_DIRECTORIES.isdisjoint(real.relative_to(root).parts):
        return None
    return real


def as_argument(file: Path, directory: Path) -> str:
    """Return `file` as an argument that cannot be read as an option."""
    name = os.path.relpath(file, directory)
    return f"./{name}" if name.startswith("-") else name
