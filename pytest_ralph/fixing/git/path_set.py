"""Sets of paths in a project, and what a rollback must not touch."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.files import RALPH_DIRECTORY, SPEC_FILES, TASKS_NAME

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

# Documents that people write beside a tasks.md. A rollback leaves them alone.
SPEC_DOCUMENTS = (
    "requirements.md",
    "design.md",
    "research.md",
    "spec.md",
    "plan.md",
    "proposal.md",
)


@dataclass(frozen=True)
class PathSet:
    """A set of paths, given relative to the root: files of some names anywhere, and whole paths.

    A directory in `paths` stands for everything below it.
    """

    paths: frozenset[str]
    names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, root: Path, paths: Iterable[Path]) -> PathSet:
        """Return the set of `paths`. Those outside `root` are left out."""
        return cls(_relative_paths(root, paths))

    @classmethod
    def protected(cls, root: Path, keep: Collection[Path]) -> PathSet:
        """Return what a rollback must not touch: `keep`, and the files of specs and of ralph."""
        documents = [
            path.parent / name
            for path in keep
            if path.name == TASKS_NAME
            for name in SPEC_DOCUMENTS
        ]
        return cls(_relative_paths(root, [*keep, *documents]) | {RALPH_DIRECTORY}, SPEC_FILES)

    def __contains__(self, path: str) -> bool:
        if path.rpartition("/")[2] in self.names or "." in self.paths:
            return True
        # Upwards from the path: there may be many thousand members.
        while path:
            if path in self.paths:
                return True
            path = path.rpartition("/")[0]
        return False


def is_within(path: str, directory: str) -> bool:
    """Return whether a path is that of a directory or below it."""
    return path == directory or path.startswith(f"{directory}/")


def _relative_paths(root: Path, paths: Iterable[Path]) -> frozenset[str]:
    relative = set()
    for path in paths:
        # Resolve the directory only: the path itself may be a link that is to be kept.
        directory = os.path.realpath((root / path).parent)
        name = os.path.relpath(Path(directory, path.name), root)
        if not is_within(name, ".."):
            relative.add(name)
    return frozenset(relative)
