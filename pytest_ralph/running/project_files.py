"""The files of a project without the help of git, and when they were changed."""

from __future__ import annotations

import contextlib
import os
from operator import attrgetter
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


def files_below(root: Path) -> list[str]:
    """Return the paths of the first 20,000 files below `root`, relative to it, in a fixed order."""
    found: list[str] = []
    _add_files(found, str(root), "")
    return found[:MAX_FILES]


def last_change(root: Path) -> float:
    """Return when a file below `root` was changed last, except those that a run itself writes."""
    latest = 0.0
    logs = files_being_written(root)
    for path in files_below(root):
        if path.rpartition("/")[2] not in SPEC_FILES and path not in logs:
            with contextlib.suppress(OSError):
                latest = max(latest, os.lstat(f"{root}/{path}").st_mtime)
    return latest


def _add_files(found: list[str], directory: str, prefix: str) -> None:
    # All files of a project pass here for each snapshot: a generator would take twice as long.
    try:
        entries = sorted(os.scandir(directory), key=attrgetter("name"))
    except OSError:
        return
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            found.append(prefix + entry.name)
        elif entry.name not in TOOL_DIRECTORIES and len(found) < MAX_FILES:
            _add_files(found, entry.path, f"{prefix}{entry.name}/")
