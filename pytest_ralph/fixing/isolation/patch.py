"""Patches: changes that were not merged, in the form that `git apply` reads."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from pytest_ralph.files import temporary_directory, unused_path
from pytest_ralph.fixing.file_state import write_state
from pytest_ralph.fixing.git.command import GitCommand

if TYPE_CHECKING:
    from collections.abc import Sequence
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


def keep_patch(root: Path, directory: Path, changes: Sequence[Change], *words: str) -> str:
    """Keep changes of files of the project as a patch, which `git apply` applies there.

    It is named after `words`, below `.ralph`, which is `directory`. Return its path relative to the
    root; empty if there are no changes.
    """
    if not changes:
        return ""
    name = re.sub(r"[^\w.-]+", "-", "-".join(words))
    patches = directory / PATCHES_NAME
    patches.mkdir(parents=True, exist_ok=True)
    git = GitCommand.at(root)
    # git takes the paths in a patch for those in the repository, in whatever directory it runs.
    prefix = git.run("rev-parse", "--show-prefix").stdout.strip("\n")
    with temporary_directory("patch") as sides:
        for change in changes:
            _write(sides / "a", prefix + change.path, change.before)
            _write(sides / "b", prefix + change.path, change.after)
        own_git = git._replace(directory=sides)
        text = own_git.run("-c", "core.autocrlf=false", "diff", *OPTIONS, "a", "b").stdout
    patch = unused_path(patches, name, ".patch")
    patch.write_text(text, "utf-8", "surrogateescape")
    return os.path.relpath(patch, root)


def _write(top: Path, path: str, state: FileState | None) -> None:
    top.mkdir(exist_ok=True)
    if state is not None:
        write_state(top, path, state)
