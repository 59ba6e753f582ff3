"""What leads out of the project: nothing is written there, and it is said."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_ralph.spec.task import Task


def leads_out(path: Path, root: Path) -> Path | None:
    """Where `path` really is, if it is named inside `root` and a link leads from there to the outside."""
    real = Path(os.path.realpath(path))
    inside = path.absolute().is_relative_to(root) and ".." not in path.parts
    return real if inside and not real.is_relative_to(os.path.realpath(root)) else None


def refuse_to_write(paths: Iterable[Path], root: Path) -> None:
    """A UsageError for the first of the paths that is not where it seems to be."""
    for path in paths:
        if there := leads_out(path, root):
            name = path.relative_to(root).as_posix()
            raise pytest.UsageError(
                f"{one_line(name)} leads out of the project, to {one_line(str(there))}: nothing is written there"
            )


def own_paths(directory: Path) -> Iterator[Path]:
    """The directory of ours in a project, and what is in it."""
    yield directory
    with contextlib.suppress(OSError):
        yield from directory.iterdir()


def files_outside(task: Task, root: Path) -> list[str]:
    """What the Files of a task name outside the project, by their names or by way of a link."""
    real = Path(os.path.realpath(root))
    return [name for name in task.files if not _real(root, name).is_relative_to(real)]


def _real(root: Path, name: str) -> Path:
    # Not Path.expanduser, which raises for a user that nobody knows.
    return Path(os.path.realpath(root / os.path.expanduser(name.replace("\0", ""))))  # noqa: PTH111
