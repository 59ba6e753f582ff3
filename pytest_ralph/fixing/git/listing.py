"""The files of a project, by what git knows of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.fixing.git.index import read_diff
from pytest_ralph.fixing.git.path_set import PathSet

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from pytest_ralph.fixing.git.command import GitCommand
    from pytest_ralph.fixing.git.index import Versions


class ProjectListing:
    """Lists files below git's directory, which is the root of the project."""

    def __init__(self, git: GitCommand) -> None:
        self._git = git

    def files(self) -> tuple[str, ...]:
        """Return the files, tracked or not, without those that git ignores."""
        options = ("--cached", "--others", "--exclude-standard", "--deduplicate")
        return self._without_directories(*options)

    def ignored_files(self) -> tuple[str, ...]:
        """Return the files that git ignores, outside ignored directories."""
        options = ("--others", "--ignored", "--exclude-standard", "--directory")
        return self._without_directories(*options)

    def _without_directories(self, *options: str) -> tuple[str, ...]:
        """Return what `git ls-files` lists, except directories: repositories and ignored ones."""
        listed = self._git.listed("ls-files", "-z", *options, "--", ".")
        return tuple(path for path in listed if not path.endswith("/"))

    def changed_tracked_files(self) -> tuple[str, ...]:
        """Return the tracked files that are not as in the index, or are gone."""
        options = ("--name-only", "--relative", "-z")
        return tuple(self._git.listed("diff-files", *options, "--", "."))

    def staged(self, paths: Collection[Path]) -> tuple[str, ...]:
        """Return which files in `paths` are staged in another version than HEAD's."""
        wanted = PathSet.of(self._git.directory, paths)
        options = ("--cached", "--name-only", "--no-renames", "--relative", "-z")
        listed = self._git.listed("diff-index", *options, "HEAD", "--", ".")
        return tuple(path for path in listed if path in wanted)

    def committed_between(self, old: str, new: str) -> Versions:
        """Return the files that differ between two commits, in both versions."""
        return read_diff(self._git, "diff-tree", "-r", "--relative", old, new, "--", ".")
