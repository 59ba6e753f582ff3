"""Room fixing: the repairs `format` and `lint`: the tool that complained, in its fixing mode, on the files it named."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.fixing.repairs.base import Repair, RepairResult, Scene, changed, how_to_undo, save
from pytest_ralph.fixing.repairs.indirection import Step, steps
from pytest_ralph.fixing.repairs.tools import Tool, tool_of
from pytest_ralph.running.runner import RunError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pytest_ralph.running.runner import Runner

KINDS = {"format_error": "format", "lint_error": "lint"}
TIME_LIMIT = 300.0
_BATCH = 200
_MOST_FILES = 2000
_MOST_LINES = 20_000

# How formatters introduce the name of a file they would change.
_NAMED = re.compile(
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
_PATH = re.compile(r"[^\s:'\"`(),;<>\[\]|*=]+\.\w+|[\w./-]*(?:Gemfile|Rakefile|BUILD|WORKSPACE)\b")


@dataclass(frozen=True)
class TidyRepair(Repair):
    argv: tuple[str, ...] = ()
    directory: Path = Path()
    env: tuple[tuple[str, str], ...] = ()

    def apply(self, runner: Runner, root: Path, backup: Path) -> RepairResult:
        save(backup, root, [root / name for name in self.files])
        tool = self.argv[0] if len(self.argv) == 1 else shlex.join(self.argv)
        for start in range(0, len(self.files), _BATCH):
            names = [
                _argument(root / name, self.directory)
                for name in self.files[start : start + _BATCH]
            ]
            try:
                ended = runner.run(
                    self.command,
                    argv=[*self.argv, *names],
                    cwd=self.directory,
                    env=dict(self.env),
                    timeout=TIME_LIMIT,
                )
            except RunError as error:
                return RepairResult(False, f"{tool}: {error}")
            if ended.timed_out or ended.interrupted:
                break
        # Many end with a status of 1 although they fixed what they could: the files tell.
        files = changed(backup, root)
        if not files:
            return RepairResult(False, f"{tool} changed nothing")
        count = "1 file" if len(files) == 1 else f"{len(files)} files"
        return RepairResult(True, f"{tool}: {count} changed", how_to_undo(backup, root), files)


def find(scene: Scene, allowed: Collection[str]) -> Repair | None:
    wanted = KINDS.get(scene.failure.kind)
    if wanted is None:
        return None
    found = [
        (tool, step)
        for step in steps(scene.command, scene.root, scene.directory)
        if (tool := tool_of(step))
    ]
    # `ruff check . && ruff format --check .`: the kind of the failure tells which of the two spoke.
    found.sort(key=lambda pair: pair[0].purpose != wanted)
    for tool, step in found:
        if tool.purpose in allowed and (repair := _repair(scene, tool, step)) is not None:
            return repair
    return None


def _repair(scene: Scene, tool: Tool, step: Step) -> TidyRepair | None:
    argv = tool.fixing(step)
    files = _named_files(scene, tool, step)
    if argv is None or not files:
        return None
    if tool.instead == "rustfmt":
        argv = (*argv, *_edition(files[0], scene.root))
    names = tuple(file.relative_to(scene.root).as_posix() for file in files)
    return TidyRepair(
        name=tool.purpose,
        command=shlex.join([*argv, *(_argument(file, step.directory) for file in files)]),
        reason=f"{tool.title} can fix what it found in {names[0] if len(names) == 1 else f'{len(names)} files'}",
        files=names,
        argv=argv,
        directory=step.directory,
        env=step.env,
    )


def _argument(file: Path, directory: Path) -> str:
    """`file` as an argument that can only be a path."""
    name = os.path.relpath(file, directory)
    return f"./{name}" if name.startswith("-") else name


def _named_files(scene: Scene, tool: Tool, step: Step) -> tuple[Path, ...]:
    """The project's own files that the tool named: those it introduced, else the failure's, else any it mentioned."""
    lines = [
        line.rstrip()
        for line in scene.failure.raw_output.splitlines()[:_MOST_LINES]
        if len(line) < 5000
    ]
    introduced = (
        name for line in lines if (match := _NAMED.match(line)) for name in match.groups() if name
    )
    mentioned = (name for line in lines for name in _PATH.findall(line))
    first = dict.fromkeys(
        [*_own(scene, tool, step, introduced), *_own(scene, tool, step, scene.failure.files)]
    )
    return tuple(first or dict.fromkeys(_own(scene, tool, step, mentioned)))[:_MOST_FILES]


def _own(
    scene: Scene, tool: Tool, step: Step, names: Collection[str] | Iterator[str]
) -> Iterator[Path]:
    for name in dict.fromkeys(names):
        if tool.handles(name) and (file := scene.own_file(name, step.directory)) is not None:
            yield file


def _edition(file: Path, root: Path) -> tuple[str, ...]:
    """rustfmt alone takes the oldest edition; cargo would have told it the crate's."""
    for directory in file.parents:
        manifest = directory / "Cargo.toml"
        if manifest.is_file() and (
            match := re.search(r'(?m)^\s*edition\s*=\s*"(\d{4})"', manifest.read_text("utf-8"))
        ):
            return ("--edition", match[1])
        if directory == root:
            break
    return ()
