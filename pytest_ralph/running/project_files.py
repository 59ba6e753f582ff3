"""The files of a project without the help of git, and when they were changed."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

from pytest_ralph.files import RALPH_DIRECTORY, SPEC_FILES
from pytest_ralph.running.open_files import files_being_written

if TYPE_CHECKING:
    from pathlib import Path

# Directories that tools create. What is in them is not part of the project.
TOOL_DIRECTORIES = frozenset(
    f"{RALPH_DIRECTORY} .git .hg .svn .venv venv node_modules __pycache__ .tox .nox .cache "
    ".pytest_cache .mypy_cache .ruff_cache .gradle .idea target".split()
)
MAX_FILES = 20_000
# Seconds by which the clock of a file server may be ahead of ours.
CLOCK_DIFFERENCE = 60.0


def files_below(root: Path) -> list[str]:
    """Return the paths of the first 20,000 files below `root`, relative to it, sorted."""
    return sorted(entries_below(root))


def entries_below(root: Path) -> dict[str, os.DirEntry[str]]:
    """Return the first 20,000 files below `root` by their paths relative to it.

    The status of a file that its entry returns is read more quickly than that of its path.
    """
    found: dict[str, os.DirEntry[str]] = {}
    _add_entries(found, str(root), "")
    if len(found) > MAX_FILES:
        found = {path: found[path] for path in sorted(found)[:MAX_FILES]}
    return found


def last_change(root: Path) -> float:
    """Return when a file below `root` was changed last, except those that a run itself writes.

    The time of a file that lies in the future says nothing about when it was changed.
    """
    latest = 0.0
    latest_possible = time.time() + CLOCK_DIFFERENCE
    logs = files_being_written(root)
    for path, entry in entries_below(root).items():
        if entry.name in SPEC_FILES or path in logs:
            continue
        with contextlib.suppress(OSError):
            modified = entry.stat(follow_symlinks=False).st_mtime
            if modified <= latest_possible:
                latest = max(latest, modified)
    return latest


def _add_entries(found: dict[str, os.DirEntry[str]], directory: str, prefix: str) -> None:
    # All files of a project pass here for each snapshot: a generator would take twice as long.
    try:
        entries = list(os.scandir(directory))
    except OSError:
        return

    directories = []
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            found[prefix + entry.name] = entry
        elif entry.name not in TOOL_DIRECTORIES:
            directories.append(entry.name)
    for name in sorted(directories):
        if len(found) < MAX_FILES:
            _add_entries(found, f"{directory}/{name}", f"{prefix}{name}/")
