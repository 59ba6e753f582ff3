"""Tree snapshots for projects without git: names, sizes and times of files, not contents."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from pytest_ralph.files import RALPH_DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

# Directories that tools create. Changes in them are not work on the project.
SKIPPED_DIRECTORIES = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        RALPH_DIRECTORY,
        ".venv",
        "venv",
        "node_modules",
        "__pycache__",
        ".tox",
        ".nox",
        ".cache",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".gradle",
        ".idea",
        "target",
    }
)
MAX_FILES = 20_000

# Path below the root → size and time of the last change in nanoseconds.
TreeSnapshot = dict[str, tuple[int, int]]


def take_snapshot(root: Path) -> TreeSnapshot:
    """Return the snapshot of the first 20,000 files below `root`, in a fixed order."""
    snapshot: TreeSnapshot = {}
    directory = f"{root}{os.sep}"
    for entry in _files_below(directory):
        if len(snapshot) == MAX_FILES:
            break
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        path = entry.path.removeprefix(directory)
        snapshot[path] = (status.st_size, status.st_mtime_ns)
    return snapshot


def digest(snapshot: Mapping[str, tuple[int, int]]) -> str:
    """Return a hash that changes with every change of the snapshot."""
    lines = [f"{path}\0{size}\0{changed}" for path, (size, changed) in sorted(snapshot.items())]
    return hashlib.sha256(os.fsencode("\0".join(lines))).hexdigest()


def _files_below(directory: str) -> Iterator[os.DirEntry[str]]:
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            yield entry
        elif entry.name not in SKIPPED_DIRECTORIES:
            yield from _files_below(entry.path)
