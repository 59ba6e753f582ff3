"""The `.ralph` directory of a project: it is hidden from git, and its logs stay within bounds."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path

from pytest_ralph.files import GITIGNORE_NAME, outside_target
from pytest_ralph.history.record import HistoryError

KEEP_RUNS = 20
MAX_BYTES = 200 * 1024 * 1024
# Another run of the same project may still be writing logs that changed this recently (seconds).
GRACE = 900.0


def make_private(directory: Path) -> Path:
    """Create `directory` with a .gitignore for everything in it; an existing one is kept."""
    ignore = directory / GITIGNORE_NAME
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError), ignore.open("x", encoding="utf-8") as file:
            file.write("*\n")
    except OSError as error:
        raise HistoryError(f"cannot create {directory}: {error.strerror or error}") from error
    return directory


def remove_links(directory: Path, out_of: Path | None = None) -> list[Path]:
    """Remove links that another program put in place of `directory` or of what is in it.

    We never create any there, and whatever we wrote next would end up elsewhere. With `out_of`,
    only links that lead out of that directory are removed.
    """
    links = [directory]
    if not directory.is_symlink():
        links = []
        with contextlib.suppress(OSError):
            # This is done after every command, and needs no call of the system for each file.
            links = [Path(entry) for entry in os.scandir(directory) if entry.is_symlink()]
    if out_of is not None:
        links = [link for link in links if outside_target(link, out_of) is not None]
    return [link for link in links if _remove(link)]


def prune_logs(
    logs: Path,
    *,
    keep_runs: int = KEEP_RUNS,
    max_bytes: int = MAX_BYTES,
    grace: float = GRACE,
    now: float | None = None,
) -> tuple[Path, ...]:
    """Remove the logs of the oldest runs beyond `keep_runs` or `max_bytes`, and return them."""
    if now is None:
        now = time.time()
    entries: list[tuple[float, Path, int]] = []
    with contextlib.suppress(OSError):
        entries = [_measure(path) for path in logs.iterdir()]

    removed = []
    kept = 0
    total = 0
    for changed, path, size in sorted(entries, reverse=True):
        may_be_in_use = abs(now - changed) < grace
        has_room = kept < keep_runs and total + size <= max_bytes
        if may_be_in_use or has_room:
            kept += 1
            total += size
        elif _remove(path):
            removed.append(path)
    return tuple(removed)


def _measure(path: Path) -> tuple[float, Path, int]:
    """Return when a file below `path` was last changed, and the size of all. Follow no links."""
    files = [path]
    for directory, _, names in os.walk(path):
        files += [Path(directory, name) for name in names]
    size = 0
    changed = 0.0
    for file in files:
        with contextlib.suppress(OSError):
            status = file.lstat()
            size += status.st_size
            changed = max(changed, status.st_mtime)
    return changed, path, size


def _remove(path: Path) -> bool:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError:
        return False
    return True
