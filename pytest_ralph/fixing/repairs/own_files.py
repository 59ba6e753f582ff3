"""Files that belong to the project alone, which a repair may change."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from pytest_ralph.files import SPEC_FILES
from pytest_ralph.running.project_files import TOOL_DIRECTORIES

if TYPE_CHECKING:
    from pathlib import Path

# Directories whose files belong to package managers, git or pytest-ralph. No repair changes them.
FOREIGN_DIRECTORIES = TOOL_DIRECTORIES | {"site-packages"}


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


def as_argument(file: Path, directory: Path) -> str:
    """Return `file` as an argument that cannot be read as an option, or as `@file` with more."""
    name = os.path.relpath(file, directory)
    return f"./{name}" if name.startswith(("-", "@")) else name
