"""Room fixing: has anything in a directory changed? For projects without git: names, sizes and times, no contents."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

# What tools leave behind is no work on the project.
SKIPPED = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        ".ralph",
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
MOST_FILES = 20_000


def listing(root: Path) -> dict[str, tuple[int, int]]:
    """Path below `root` → size and time of change, for the first 20,000 files in a fixed order."""
    found: dict[str, tuple[int, int]] = {}
    for entry in _walk(os.fspath(root)):
        if len(found) == MOST_FILES:
            break
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        found[os.path.relpath(entry.path, root)] = (status.st_size, status.st_mtime_ns)
    return found


def digest(files: Mapping[str, tuple[int, int]]) -> str:
    text = "\0".join(
        f"{path}\0{size}\0{changed}" for path, (size, changed) in sorted(files.items())
    )
    return hashlib.sha256(os.fsencode(text)).hexdigest()


def _walk(directory: str) -> Iterator[os.DirEntry[str]]:
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            yield entry
        elif entry.name not in SKIPPED:
            yield from _walk(entry.path)
