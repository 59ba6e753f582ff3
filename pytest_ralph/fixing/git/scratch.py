"""Temporary directories in the git directory, so that those of killed runs can be removed."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_ralph.files import is_process_running
from pytest_ralph.fixing.errors import GitError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NAME = re.compile(r"ralph-(?P<pid>\d+)-[0-9a-f]+")


@contextmanager
def scratch_directory(git_dir: Path) -> Iterator[Path]:
    """Create a directory that is removed at the end of the `with` statement.

    Raise GitError if it cannot be created: git could not write anything either.
    """
    directory = git_dir / f"ralph-{os.getpid()}-{os.urandom(6).hex()}"
    try:
        directory.mkdir()
    except OSError as error:
        raise GitError(f"{git_dir.name} cannot be written: {error.strerror or error}") from error
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def sweep_scratch(git_dir: Path) -> None:
    """Remove the directories of processes that are gone."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(git_dir):
            match = _NAME.fullmatch(entry.name)
            if match is not None and not is_process_running(int(match["pid"])):
                shutil.rmtree(entry.path, ignore_errors=True)
