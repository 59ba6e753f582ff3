"""Symbolic links that lead out of the project: nothing is written through them."""

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


def outside_target(path: Path, root: Path) -> Path | None:
    """Return where `path` really is if it lies in `root` by name and a link leads out of it."""
    if ".." in path.parts or not path.absolute().is_relative_to(root):
        return None
    target = Path(os.path.realpath(path))
    if target.is_relative_to(os.path.realpath(root)):
        return None
    return target


def refuse_to_write(paths: Iterable[Path], root: Path) -> None:
    """Raise UsageError for the first path that a link leads out of the project."""
    for path in paths:
        target = outside_target(path, root)
        if target is not None:
            name = one_line(path.relative_to(root).as_posix())
            raise pytest.UsageError(
                f"{name} leads out of the project, to {one_line(str(target))}: "
                "nothing is written there"
            )


def own_paths(directory: Path) -> Iterator[Path]:
    """Yield our directory in a project and what is in it."""
    yield directory
    with contextlib.suppress(OSError):
        yield from directory.iterdir()


def files_outside(task: Task, root: Path) -> list[str]:
    """Return the entries of a task's Files field that are outside the project, links resolved."""
    real_root = Path(os.path.realpath(root))
    return [name for name in task.files if not _resolve(root, name).is_relative_to(real_root)]


def _resolve(root: Path, name: str) -> Path:
    # Unlike Path.expanduser, os.path.expanduser does not raise for an unknown user.
    expanded = os.path.expanduser(name.replace("\0", ""))  # noqa: PTH111
    return Path(os.path.realpath(root / expanded))
