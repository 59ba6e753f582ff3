"""Temporary directories in the git directory, so that those of killed runs can be removed."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.files import FileLock
from pytest_ralph.fixing.errors import GitError

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCK_NAME = "lock"
_NAME = re.compile(r"ralph-[0-9a-f]+")


@contextmanager
def scratch_directory(git_dir: Path) -> Iterator[Path]:
    """Create a directory that is removed at the end of the `with` statement.

    Raise GitError if it cannot be created: git could not write anything either.
    """
    directory, lock = _locked_directory(git_dir)
    try:
        yield directory
    finally:
        lock.release()
        shutil.rmtree(directory, ignore_errors=True)


def _locked_directory(git_dir: Path) -> tuple[Path, FileLock]:
    while True:
        directory = git_dir / f"ralph-{os.urandom(8).hex()}"
        # A process id would say nothing to a run in another container.
        lock = FileLock(directory / LOCK_NAME)
        try:
            directory.mkdir()
        except OSError as error:
            reason = error.strerror or error
            raise GitError(f"{git_dir.name} cannot be written: {reason}") from error
        try:
            lock.acquire()
        except FileNotFoundError:
            # Another process has removed it: it was not locked yet, and looked abandoned.
            continue
        return directory, lock


def sweep_scratch(git_dir: Path) -> None:
    """Remove the directories of processes that are gone."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(git_dir):
            if _NAME.fullmatch(entry.name):
                _remove_abandoned(Path(entry.path))


def _remove_abandoned(directory: Path) -> None:
    """Remove a directory unless the process that created it is at work."""
    with (
        contextlib.suppress(OSError),
        FileLock(directory / LOCK_NAME, timeout=0, required=True),
    ):
        shutil.rmtree(directory, ignore_errors=True)
