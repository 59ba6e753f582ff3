"""What a run left on disk, and what must hold of it however the run ended."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_ralph.spec.document import Spec
from pytest_ralph.spec.state import State
from tests.faults.scenarios import SPEC
from tests.worktrees import worktrees_of

_TICK = re.compile(r"^(\s*[-*+] )\[x\]")
_COMMIT = re.compile(r" - [0-9a-f]{12}$")


class BrokenError(AssertionError):
    """A promise was not kept."""


def demand(held: object, promise: str) -> None:
    if not held:
        raise BrokenError(promise)


@dataclass(frozen=True)
class Remains:
    """Every file of a project that is ours to write, as found."""

    tasks: str
    state: dict[str, Any]
    progress: str
    history: tuple[tuple[Any, ...], ...]
    boxes: dict[str, bool]
    leftovers: tuple[str, ...]
    # What git has not committed, where there is git.
    uncommitted: str

    @property
    def fixes(self) -> dict[str, list[str]]:
        found = self.state.get("fixTaskMap", {}).items()
        return {task: entry["fixTaskIds"] for task, entry in found if entry.get("fixTaskIds")}

    @property
    def log(self) -> list[str]:
        """The progress log without its commits, in whatever order the tasks of a group ended."""
        return sorted(_COMMIT.sub("", line) for line in self.progress.split("\n"))

    def failed(self, task: str) -> bool:
        return bool(self.state.get("taskResults", {}).get(task, {}).get("status") == "failed")

    @property
    def any_failed(self) -> bool:
        return any(self.failed(task) for task in self.boxes)


def look(project: Path) -> Remains:
    """Read everything; a file that is not whole is an error."""
    directory = (project / SPEC).parent
    spec = Spec.load(project / SPEC)
    return Remains(
        tasks=(project / SPEC).read_bytes().decode(),
        state=dict(State.load(directory / ".ralph-state.json").data),
        progress=_text(directory / ".progress.md"),
        history=_history(project / ".ralph" / "history.db"),
        boxes={task.name: task.checked for task in spec.tasks},
        leftovers=(
            *sorted(path.name for path in _files(project) if _is_left_over(path)),
            *_worktrees(project),
        ),
        uncommitted=_git_status(project),
    )


def _files(project: Path) -> list[Path]:
    return [path for path in project.rglob("*") if ".git" not in path.parts]


def _is_left_over(path: Path) -> bool:
    """Each run has its own directory for what its repairs change, removed with the run."""
    return path.name.endswith(".tmp") and "backups" not in path.parts


def _worktrees(project: Path) -> list[str]:
    """Worktrees, merges that are not complete, and what an executor must not leave in git."""
    if not (project / ".git").exists():
        return []
    found = [str(path) for path in project.glob(".git/ralph/worktrees/*")]
    found += map(str, worktrees_of(project))
    found += _git(project, "branch", "--list").splitlines()[1:]
    found += _git(project, "stash", "list").splitlines()
    return found


def _git(project: Path, *words: str) -> str:
    ended = subprocess.run(["git", *words], cwd=project, capture_output=True, text=True, check=True)
    return ended.stdout


def _git_status(project: Path) -> str:
    if not (project / ".git").exists():
        return ""
    return _git(project, "status", "--porcelain")


def is_kept(project: Path, text: str) -> bool:
    """Whether a file with this text is in the project, or in something git keeps for us."""
    if any(path.read_bytes() == text.encode() for path in _files(project) if path.is_file()):
        return True
    name = subprocess.run(
        ["git", "hash-object", "--stdin"],
        cwd=project,
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    kept = subprocess.run(
        ["git", "rev-list", "--objects", "--all"],
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
    )
    return name.stdout.strip() in kept.stdout


def _text(path: Path) -> str:
    return path.read_bytes().decode() if path.exists() else ""


def _history(path: Path) -> tuple[tuple[Any, ...], ...]:
    if not path.exists() or not path.stat().st_size:
        return ()
    with closing(sqlite3.connect(path)) as connection:
        demand(
            connection.execute("PRAGMA integrity_check").fetchone() == ("ok",),
            "the history is whole",
        )
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'attempts'").fetchone():
            return ()
        return tuple(connection.execute("SELECT * FROM attempts ORDER BY id"))


def check_whole(project: Path, template: Path) -> Remains:
    """After a fault a file is the old one or one a run would write; other files are unchanged."""
    found = look(project)
    _check_document(found.tasks, (template / SPEC).read_bytes().decode(), Spec.load(project / SPEC))
    for name in (".ralph-state.json", ".progress.md"):
        original = template / Path(SPEC).with_name(name)
        if original.exists():
            _check_theirs(name, original, found)
    for path in _files(project):
        if path.suffix == ".json" and path.is_file():
            demand(
                path.stat().st_size == 0 or json.loads(path.read_text()) is not None,
                f"{path.name} is whole",
            )
    return found


def _check_document(now: str, before: str, spec: Spec) -> None:
    inserted = [task for task in spec.tasks if task.fix_for]
    lines = [_TICK.sub(r"\1[ ]", line) for line in now.split("\n")]
    kept = [
        line
        for at, line in enumerate(lines, 1)
        if not any(one.line <= at <= one.end_line for one in inserted)
    ]
    wanted = [_TICK.sub(r"\1[ ]", line) for line in before.split("\n")]
    demand(_solid(kept) == _solid(wanted), "every other byte of tasks.md stays")


def _solid(lines: list[str]) -> list[str]:
    return [re.sub(r"^(total_tasks: )\d+", r"\1", line) for line in lines if line.strip()]


def _check_theirs(name: str, original: Path, found: Remains) -> None:
    if name == ".progress.md":
        rest = iter(found.progress.split("\n"))
        demand(
            all(line in rest for line in original.read_text().split("\n")),
            "every line of .progress.md stays",
        )
    elif found.state:
        theirs = json.loads(original.read_text()).get("theirs")
        demand(found.state.get("theirs") == theirs, "fields of others stay in the state")


def check_nothing_gone(before: Remains, after: Remains) -> None:
    """The next run keeps what the one before had recorded."""
    demand(after.history[: len(before.history)] == before.history, "every recorded attempt stays")
    demand(before.boxes.keys() <= after.boxes.keys(), "every task stays")
    lost = [task for task, checked in before.boxes.items() if checked and not after.boxes[task]]
    demand(not lost, f"what was done stays done: {lost}")
    for task, ids in before.fixes.items():
        demand(after.fixes.get(task, [])[: len(ids)] == ids, f"the fixes of {task} stay known")
    demand(not after.leftovers, f"nothing half-written lies about: {after.leftovers}")
