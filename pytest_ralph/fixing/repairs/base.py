"""Repair: a small change inside the project that needs no agent and can be undone."""

from __future__ import annotations

import json
import os
import shutil
import stat
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.files import RALPH_DIRECTORY, SPEC_FILES, write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.running.runner import Runner

# Directories whose files belong to package managers, git or pytest-ralph. No repair changes them.
FOREIGN_DIRECTORIES = frozenset(
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

# Without a suffix, so that no formatter of the project takes the list for one of its files.
BACKUP_LIST = "undo"
PERMISSIONS = 0o7777


@dataclass(frozen=True)
class RepairResult:
    """What became of a repair. `undo` says in one line how to take it back."""

    made: bool
    note: str
    undo: str = ""
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Repair(ABC):
    """A repair that is possible.

    `name` is one of the values of `--ralph-repair`, `command` what it does as a person would type
    it, and `files` are the files it may change, relative to the root.
    """

    name: str
    command: str
    reason: str
    files: tuple[str, ...] = ()

    @abstractmethod
    def apply(self, runner: Runner, root: Path, backup: Path) -> RepairResult:
        """Make the repair, after copying every file it may change to the directory `backup`."""


@dataclass(frozen=True)
class RepairContext:
    """What a repair is found from."""

    failure: Failure
    root: Path
    environ: Mapping[str, str]

    @property
    def command(self) -> str:
        """The Verify command that failed, in the root."""
        return self.failure.command

    @property
    def search_path(self) -> str:
        """The PATH of the commands."""
        return self.environ.get("PATH", os.defpath)

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


class SavedFile(NamedTuple):
    """A file that was copied before a repair: its path below the root, its mode and its copy."""

    path: str
    mode: int
    copy: str

    def differs(self, backup: Path, root: Path) -> bool:
        """Return whether the file is no longer what it was."""
        path = root / self.path
        try:
            if path.stat().st_mode & PERMISSIONS != self.mode:
                return True
            return path.read_bytes() != (backup / self.copy).read_bytes()
        except OSError:
            return True


def save(backup: Path, root: Path, files: Iterable[Path]) -> None:
    """Copy `files` to the directory `backup`, with a list of their paths and modes."""
    backup.mkdir(parents=True, exist_ok=True)
    saved = []
    for number, file in enumerate(files, 1):
        # A suffix that no tool takes for a source file.
        copy = f"{number:04}-{file.name[:100]}.saved"
        shutil.copyfile(file, backup / copy)
        path = file.relative_to(root).as_posix()
        saved.append(SavedFile(path, file.stat().st_mode & PERMISSIONS, copy)._asdict())
    write_atomically(backup / BACKUP_LIST, json.dumps(saved, indent=1))


def changed(backup: Path, root: Path) -> tuple[str, ...]:
    """Return which of the saved files are no longer what they were."""
    return tuple(file.path for file in saved_files(backup) if file.differs(backup, root))


def undo(backup: Path, root: Path) -> tuple[str, ...]:
    """Put the saved files back, and return the names of those that had changed."""
    restored = []
    for file in saved_files(backup):
        if not file.differs(backup, root):
            continue
        path = root / file.path
        write_atomically(path, (backup / file.copy).read_bytes())
        path.chmod(file.mode)
        restored.append(file.path)
    return tuple(restored)


def how_to_undo(backup: Path, root: Path) -> str:
    """Return the line that tells where the saved files are."""
    return f"the files as they were are in {os.path.relpath(backup, root)}"


def saved_files(backup: Path) -> list[SavedFile]:
    """Return the files that were copied to `backup`."""
    entries = json.loads((backup / BACKUP_LIST).read_text(encoding="utf-8"))
    return [SavedFile(**entry) for entry in entries]
