"""The `.ralph` directory of a project: made with its own .gitignore, its logs kept within bounds."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.history.record import HistoryError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

DIRECTORY = ".ralph"
DATABASE = "history.db"
KEEP_RUNS = 20
MAX_BYTES = 200 * 1024 * 1024
# Another run of the same project may still be writing what is this young.
GRACE = 900.0


def ralph_directory(root: Path) -> Path:
    return make_private(root / DIRECTORY)


def make_private(directory: Path) -> Path:
    """Make `directory`, invisible to git from its first moment. A .gitignore that is there is left alone."""
    ignore = directory / ".gitignore"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError), ignore.open("x", encoding="utf-8") as file:
            file.write("*\n")
    except OSError as error:
        raise HistoryError(f"cannot make {directory}: {error.strerror or error}") from error
    return directory


class _Entry(NamedTuple):
    path: Path
    size: int
    changed: float


def prune_logs(
    logs: Path,
    *,
    keep_runs: int = KEEP_RUNS,
    max_bytes: int = MAX_BYTES,
    current: Collection[str] = (),
    grace: float = GRACE,
    now: float | None = None,
) -> tuple[Path, ...]:
    """Remove the oldest runs' logs past `keep_runs` or `max_bytes`; never those named in `current`."""
    now = time.time() if now is None else now
    removed, kept, total = [], 0, 0
    for entry in sorted(
        _entries(logs), key=lambda entry: (entry.changed, entry.path.name), reverse=True
    ):
        alive = entry.path.name in current or abs(now - entry.changed) < grace
        if alive or (kept < keep_runs and total + entry.size <= max_bytes):
            kept, total = kept + 1, total + entry.size
        elif _remove(entry.path):
            removed.append(entry.path)
    return tuple(removed)


def _entries(logs: Path) -> Iterator[_Entry]:
    with contextlib.suppress(OSError):
        for path in logs.iterdir():
            yield _measure(path)


def _measure(path: Path) -> _Entry:
    """Size and latest change of a file, or of all that is below a directory. Links are not followed."""
    size, changed = 0, 0.0
    below = (Path(top, name) for top, _, names in os.walk(path) for name in names)
    for file in (path, *below):
        with contextlib.suppress(OSError):
            found = file.lstat()
            size, changed = size + found.st_size, max(changed, found.st_mtime)
    return _Entry(path, size, changed)


def _remove(path: Path) -> bool:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError:
        return False
    return True
