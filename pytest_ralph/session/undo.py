"""`--ralph-undo`: put back what a run changed through repairs and executors."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

# Before a run begins there is no public way to a terminal writer.
from _pytest.config import create_terminal_writer

from pytest_ralph.files import BACKUPS_NAME, RALPH_DIRECTORY
from pytest_ralph.fixing.change_log import LIST_NAME, mark_undone, undo_changes
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from pathlib import Path

LAST = "last"
# Behind the name of a run: the directory with the files as they were before that run was undone.
UNDONE_SUFFIX = "-undone"
NOT_COVERED = (
    "not put back: ticks and fix tasks in tasks.md, commits, installed packages, "
    "ignored files, submodules and anything outside the project"
)


def undo_run(config: pytest.Config) -> int:
    """Undo a run and say what was done; return 1 if some files could not be put back."""
    backups = config.rootpath / RALPH_DIRECTORY / BACKUPS_NAME
    directory = _find_run(config, backups)
    kept = directory.with_name(f"{directory.name}{UNDONE_SUFFIX}")
    try:
        result = undo_changes(config.rootpath, directory, kept)
    except OSError as error:
        raise pytest.UsageError(f"--ralph-undo: nothing was undone: {error}") from None
    if result.restored or not result.problems:
        mark_undone(directory)

    writer = create_terminal_writer(config)
    writer.line(f"ralph: undoing run {directory.name}")
    if _is_path(config):
        writer.line("the run is undone as a whole: --ralph-undo takes the name of a run, no path")
    for path in result.restored:
        exists = os.path.lexists(config.rootpath / path)
        # A file that the run had created is gone now.
        writer.line(one_line(f"put back {path}" if exists else f"removed {path}"))
    for problem in result.problems:
        writer.line(one_line(f"cannot put back {problem}"), red=True)
    if result.restored:
        writer.line(f"to get back what was undone: pytest --ralph-undo {kept.name}")
    writer.line(NOT_COVERED)
    return int(pytest.ExitCode.TESTS_FAILED if result.problems else pytest.ExitCode.OK)


def _is_path(config: pytest.Config) -> bool:
    """Return whether a path is given, which argparse takes for the name of a run."""
    name: str = config.getoption("ralph_undo")
    return (config.rootpath / name).exists()


def _find_run(config: pytest.Config, backups: Path) -> Path:
    """Return the directory of the run to undo. Raise UsageError if there is none."""
    runs = sorted(path.parent for path in backups.glob(f"*/{LIST_NAME}"))
    name = config.getoption("ralph_undo")
    if name == LAST or _is_path(config):
        last = [run for run in runs if not run.name.endswith(UNDONE_SUFFIX)]
        if last:
            return last[-1]
        raise pytest.UsageError("--ralph-undo: no run has changed anything that can be put back")
    for run in runs:
        if run.name == name:
            return run
    known = ", ".join(run.name for run in runs[-3:]) or "none"
    raise pytest.UsageError(f"--ralph-undo: no such run: {name} (last runs with changes: {known})")
