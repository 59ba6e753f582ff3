"""The repairs `format` and `lint`: run the tool that complained in its fix mode on its files."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.fixing.repairs.base import (
    Repair,
    RepairContext,
    RepairResult,
    changed,
    how_to_undo,
    save,
)
from pytest_ralph.fixing.repairs.indirection import Step, steps
from pytest_ralph.running.runner import RunError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from pytest_ralph.running.runner import Runner
    from pytest_ralph.shell.programs import FixMode

PURPOSE_OF_KIND = {"format_error": "format", "lint_error": "lint"}
TIME_LIMIT = 300.0
FILES_PER_CALL = 200
MAX_FILES = 2000
MAX_LINES = 20_000
LONGEST_LINE = 5000

# How formatters introduce the name of a file that they would change.
INTRODUCED_FILE = re.compile(
    r"""^(?:
        would\ reformat:?\ (?P<black>.+)
      | ERROR:\ (?P<isort>.+?)\ Imports\ are\ incorrectly
      | \[warn\]\ (?P<prettier>.+)
      | Diff\ in\ (?P<rustfmt>.+?)(?:\ at\ line\ \d+:?|:\d+:?)
      | (?:---|diff)\ (?:a/|original/)?(?P<diff>[^\t]+?)(?:\.orig)?(?:\t.*)?
      | \s*-->\ (?P<arrow>.+?):\d+(?::\d+)?
      | (?P<alone>\S.*)
    )$""",
    re.VERBOSE | re.IGNORECASE,
)
PATH = re.compile(r"[^\s:'\"`(),;<>\[\]|*=]+\.\w+|[\w./-]*(?:Gemfile|Rakefile|BUILD|WORKSPACE)\b")
RUST_EDITION = re.compile(r'(?m)^\s*edition\s*=\s*"(\d{4})"')


@dataclass(frozen=True)
class AutofixRepair(Repair):
    """A call of a formatter or linter in its fix mode."""

    argv: tuple[str, ...] = ()
    directory: Path = Path()
    env: tuple[tuple[str, str], ...] = ()

    def apply(self, runner: Runner, root: Path, backup: Path) -> RepairResult:
        save(backup, root, [root / name for name in self.files])
        tool = shlex.join(self.argv)
        for start in range(0, len(self.files), FILES_PER_CALL):
            files = self.files[start : start + FILES_PER_CALL]
            names = [_as_argument(root / name, self.directory) for name in files]
            try:
                result = runner.run(
                    self.command,
                    argv=[*self.argv, *names],
                    cwd=self.directory,
                    env=dict(self.env),
                    timeout=TIME_LIMIT,
                )
            except RunError as error:
                return RepairResult(False, f"{tool}: {error}")
            if result.timed_out or result.interrupted:
                break

        # The exit status does not tell: many exit with 1 although they fixed what they could.
        files = changed(backup, root)
        if not files:
            return RepairResult(False, f"{tool} changed nothing")
        count = "1 file" if len(files) == 1 else f"{len(files)} files"
        return RepairResult(True, f"{tool}: {count} changed", how_to_undo(backup, root), files)


def find(context: RepairContext, allowed: Collection[str]) -> Repair | None:
    """Return the fix mode of the tool that failed, if it named files of the project."""
    purpose = PURPOSE_OF_KIND.get(context.failure.kind)
    if purpose is None:
        return None

    candidates = []
    for step in steps(context.command, context.root, context.directory):
        mode = step.fix_mode
        if mode is not None and mode.purpose in allowed:
            candidates.append((mode, step))
    # In `ruff check . && ruff format --check .` the kind of the failure tells which one failed.
    candidates.sort(key=lambda candidate: candidate[0].purpose != purpose)
    for mode, step in candidates:
        repair = _repair(context, mode, step)
        if repair is not None:
            return repair
    return None


def _repair(context: RepairContext, mode: FixMode, step: Step) -> AutofixRepair | None:
    argv = step.fixing_argv(mode)
    files = _named_files(context, mode, step)
    if argv is None or not files:
        return None
    if mode.instead == "rustfmt":
        argv = (*argv, *_rust_edition(files[0], context.root))

    names = tuple(context.relative(file) for file in files)
    arguments = [_as_argument(file, step.directory) for file in files]
    where = names[0] if len(names) == 1 else f"{len(names)} files"
    return AutofixRepair(
        name=mode.purpose,
        command=shlex.join([*argv, *arguments]),
        reason=f"{mode.title} can fix what it found in {where}",
        files=names,
        argv=argv,
        directory=step.directory,
        env=step.env,
    )


def _as_argument(file: Path, directory: Path) -> str:
    """Return `file` as an argument that cannot be read as an option."""
    name = os.path.relpath(file, directory)
    return f"./{name}" if name.startswith("-") else name


def _named_files(context: RepairContext, mode: FixMode, step: Step) -> list[Path]:
    """Return the project's files that the tool named.

    These are the files it introduced and those of the failure; without any, all it mentioned.
    """
    output = context.failure.raw_output.splitlines()[:MAX_LINES]
    lines = [line.rstrip() for line in output if len(line) < LONGEST_LINE]

    introduced = []
    for line in lines:
        match = INTRODUCED_FILE.match(line)
        if match is not None and match.lastgroup:
            introduced.append(match[match.lastgroup])
    files = _own_files(context, mode, step, [*introduced, *context.failure.files])
    if not files:
        mentioned = [name for line in lines for name in PATH.findall(line)]
        files = _own_files(context, mode, step, mentioned)
    return files[:MAX_FILES]


def _own_files(
    context: RepairContext, mode: FixMode, step: Step, names: Iterable[str]
) -> list[Path]:
    files: dict[Path, None] = {}
    for name in dict.fromkeys(names):
        file = context.own_file(name, step.directory) if mode.handles(name) else None
        if file is not None:
            files[file] = None
    return list(files)


def _rust_edition(file: Path, root: Path) -> tuple[str, ...]:
    """Return the option for the crate's edition: rustfmt alone assumes the oldest one."""
    for directory in file.parents:
        manifest = directory / "Cargo.toml"
        if manifest.is_file():
            edition = RUST_EDITION.search(manifest.read_text("utf-8"))
            if edition:
                return ("--edition", edition[1])
        if directory == root:
            break
    return ()
