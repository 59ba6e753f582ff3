"""Patches: changes that were not merged, in the form that `git apply` reads."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from pytest_ralph.files import temporary_directory, unused_path
from pytest_ralph.fixing.file_state import write_state
from pytest_ralph.fixing.git.command import GitCommand
from pytest_ralph.text.listing import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from pytest_ralph.fixing.file_state import Change, FileState

PATCHES_NAME = "patches"
# Whatever the user's configuration says: each byte as it is in the files.
OPTIONS = (
    "--no-index",
    "--binary",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--no-prefix",
)
# git reads each file as a whole. Larger ones are not kept, nor are those beyond the total.
MAX_FILE_SIZE = 10 * 1024 * 1024
MAX_TOTAL_SIZE = 256 * 1024 * 1024
# Files that a line names.
MOST_NAMED = 3


def keep_patch(
    root: Path,
    directory: Path,
    changes: Sequence[Change],
    *words: str,
    announce: Callable[[str], None],
) -> str:
    """Keep changes of files of the project as a patch, which `git apply` applies there.

    It is named after `words`, below `.ralph`, which is `directory`. Return its path relative to the
    root; empty if there are no changes to keep. Files that are too large are announced.
    """
    kept = _small_enough(changes)
    if len(kept) < len(changes):
        too_large = [change.path for change in changes if change not in kept]
        names = listed(too_large, MOST_NAMED)
        announce(f"too large to be kept in a patch: {names}")
    if not kept:
        return ""
    name = re.sub(r"[^\w.-]+", "-", "-".join(words))
    patches = directory / PATCHES_NAME
    patches.mkdir(parents=True, exist_ok=True)
    git = GitCommand.at(root)
    # git takes the paths in a patch for those in the repository, in whatever directory it runs.
    prefix = git.run("rev-parse", "--show-prefix").stdout.strip("\n")
    with temporary_directory("patch") as sides:
        for change in kept:
            _write(sides / "a", prefix + change.path, change.before)
            _write(sides / "b", prefix + change.path, change.after)
        own_git = git._replace(directory=sides)
        patch = unused_path(patches, name, ".patch")
        # A file of which it holds lines may be private.
        patch.touch(mode=0o600)
        output = f"--output={patch.resolve()}"
        result = own_git.run("-c", "core.autocrlf=false", "diff", *OPTIONS, output, "a", "b")
        if result.status > 1:
            patch.unlink()
            result.check("diff")
    return os.path.relpath(patch, root)


def _small_enough(changes: Iterable[Change]) -> list[Change]:
    """Return the changes that a patch may hold."""
    kept = []
    total = 0
    for change in changes:
        sizes = [state.size for state in (change.before, change.after) if state is not None]
        size = sum(sizes)
        if max(sizes, default=0) <= MAX_FILE_SIZE and total + size <= MAX_TOTAL_SIZE:
            kept.append(change)
            total += size
    return kept


def _write(top: Path, path: str, state: FileState | None) -> None:
    top.mkdir(exist_ok=True)
    if state is not None:
        write_state(top, path, state)
