"""Room fixing: the noun Repair: something small, made without an agent, inside the project, that can be undone."""

from __future__ import annotations

import json
import os
import shutil
import stat
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ralph.files import RALPH_DIRECTORY, SPEC_FILES, write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.running.runner import Runner

# Not the project's own: changed by its installers or by git, never by a repair.
_FOREIGN = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        RALPH_DIRECTORY,
        "node_modules",
        ".venv",
        "venv",
        "site-packages",
        ".tox",
        ".nox",
    }
)
# No suffix, so that no formatter of the project takes it for one of its files.
_MANIFEST = "undo"


@dataclass(frozen=True)
class RepairResult:
    """What became of a repair. `undo` says in one line how to take it back."""

    made: bool
    note: str
    undo: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Repair(ABC):
    """`name` is one of `--ralph-repair`; `command` what is done, as a person would type it, for the log."""

    name: str
    command: str
    reason: str
    files: tuple[str, ...] = ()

    @abstractmethod
    def apply(self, runner: Runner, root: Path, backup: Path) -> RepairResult:
        """Make it. Whatever file it may change is copied below `backup` first."""


@dataclass(frozen=True)
class Scene:
    """Everything a repair is found from."""

    failure: Failure
    root: Path
    command: str
    directory: Path
    environ: Mapping[str, str]

    def own_file(self, name: str, base: Path | None = None) -> Path | None:
        """The regular file `name` means, if it is the project's own: inside its root, whatever links say."""
        for start in (base or self.directory, self.directory, self.root):
            if (found := own_file(self.root, start / name)) is not None:
                return found
        return None


def own_file(root: Path, path: Path) -> Path | None:
    try:
        real = path.resolve(strict=True)
        status = real.stat()
    except (OSError, ValueError, RuntimeError):
        return None
    if not real.is_relative_to(root) or not stat.S_ISREG(status.st_mode):
        return None
    # Another name of the same file may be outside the project.
    if status.st_nlink > 1 or real.name in SPEC_FILES:
        return None
    return real if _FOREIGN.isdisjoint(real.relative_to(root).parts) else None


def save(backup: Path, root: Path, files: Iterable[Path]) -> None:
    """Copy `files`, with their modes, below `backup` and list them there."""
    backup.mkdir(parents=True, exist_ok=True)
    kept = []
    for number, file in enumerate(files, 1):
        # No suffix that a tool would take for a source file of the project.
        copy = f"{number:04}-{file.name[:100]}.saved"
        shutil.copyfile(file, backup / copy)
        kept.append(
            {
                "path": file.relative_to(root).as_posix(),
                "mode": file.stat().st_mode & 0o7777,
                "copy": copy,
            }
        )
    write_atomically(backup / _MANIFEST, json.dumps(kept, indent=1))


def changed(backup: Path, root: Path) -> tuple[str, ...]:
    """Which of the saved files are no longer what they were."""
    return tuple(str(entry["path"]) for entry in _saved(backup) if _differs(backup, root, entry))


def undo(backup: Path, root: Path) -> tuple[str, ...]:
    """Put the saved files back as they were. The names of those that had changed."""
    restored = []
    for entry in _saved(backup):
        if _differs(backup, root, entry):
            path = root / str(entry["path"])
            write_atomically(path, (backup / str(entry["copy"])).read_bytes())
            path.chmod(int(entry["mode"]))
            restored.append(str(entry["path"]))
    return tuple(restored)


def how_to_undo(backup: Path, root: Path) -> str:
    return f"the files as they were are in {os.path.relpath(backup, root)}"


def _saved(backup: Path) -> list[dict[str, str | int]]:
    entries: list[dict[str, str | int]] = json.loads(
        (backup / _MANIFEST).read_text(encoding="utf-8")
    )
    return entries


def _differs(backup: Path, root: Path, entry: Mapping[str, str | int]) -> bool:
    path = root / str(entry["path"])
    try:
        mode = path.stat().st_mode & 0o7777
        return (
            mode != entry["mode"] or path.read_bytes() != (backup / str(entry["copy"])).read_bytes()
        )
    except OSError:
        return True
