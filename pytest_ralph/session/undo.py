"""`--ralph-undo`: put back what a run changed through repairs and executors."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

import pytest

# Before a run begins there is no public way to a terminal writer.
from _pytest.config import create_terminal_writer

from pytest_ralph.files import (
    BACKUPS_NAME,
    LOCKS_NAME,
    RALPH_DIRECTORY,
    backups_directory,
    lasting_directory,
)
from pytest_ralph.fixing.change_log import LIST_NAME, mark_undone, read_changes, undo_changes
from pytest_ralph.fixing.directory_modes import passable, put_back_modes, read_mode_changes
from pytest_ralph.fixing.errors import GitError
from pytest_ralph.fixing.git.command import GitCommand
from pytest_ralph.healing.errors import SpecFilesError
from pytest_ralph.healing.spec_files import SpecFiles
from pytest_ralph.healing.ticks import read_ticks
from pytest_ralph.session.locks import SpecLocked, between_runs
from pytest_ralph.session.preflight import refuse_to_write
from pytest_ralph.session.specs import ini_layer
from pytest_ralph.settings import SettingError, read_settings
from pytest_ralph.spec.completion import with_progress
from pytest_ralph.spec.document import Spec, SpecError
from pytest_ralph.spec.order import plan
from pytest_ralph.spec.state_file import StateError
from pytest_ralph.text.inert import one_line
from pytest_ralph.text.secrets import Masker, MaskError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

    from pytest_ralph.fixing.change_log import UndoResult
    from pytest_ralph.spec.task import Task

LAST = "last"
# Behind the name of a run: the directory with the files as they were before that run was undone.
UNDONE_SUFFIX = "-undone"
NOT_COVERED = (
    "not put back: fix tasks in tasks.md, commits, what was staged, new empty directories, "
    "installed packages, ignored directories, submodules and anything outside the project"
)


def undo_run(config: pytest.Config) -> int:
    """Undo a run and say what was done; return 1 if some of it could not be undone.

    Undoing an undo is a redo: the run counts as not undone again.
    """
    locks = lasting_directory(config.rootpath, LOCKS_NAME)
    try:
        with between_runs(locks):
            return _undo_run(config)
    except SpecLocked as error:
        raise pytest.UsageError(f"--ralph-undo: nothing was undone: {error}") from None


def _undo_run(config: pytest.Config) -> int:
    root = config.rootpath
    mask = _mask(config)
    directory = _find_run(config, _backups(root))
    run_name = directory.name.removesuffix(UNDONE_SUFFIX)
    is_redo = run_name != directory.name
    kept_name = run_name if is_redo else f"{run_name}{UNDONE_SUFFIX}"
    keep_in = directory.with_name(kept_name)
    result, directories = _put_back(root, directory, keep_in)
    restored = [*result.restored, *directories]
    reopened, not_reopened = _reopen_tasks(root, directory, [*restored, *result.as_before])
    is_undone = bool(restored) or not result.problems
    if is_undone and not result.is_unfinished:
        mark_undone(directory)

    write = _writer(config, mask)
    write(f"ralph: {'redoing' if is_redo else 'undoing'} run {run_name}")
    if _is_path(config):
        write("the run is undone as a whole: --ralph-undo takes a run name, not a path")
    _print_result(write, root, result)
    for path in directories:
        write(f"put back the permissions of {path}/")
    _print_reopened(write, reopened, not_reopened)
    if result.is_unfinished:
        write(f"to try the rest again: pytest --ralph-undo {directory.name}")
    _print_way_back(write, kept_name if restored else "", is_redo=is_redo)
    write(NOT_COVERED)
    is_incomplete = result.problems or not_reopened
    return int(pytest.ExitCode.TESTS_FAILED if is_incomplete else pytest.ExitCode.OK)


def _put_back(root: Path, directory: Path, keep_in: Path) -> tuple[UndoResult, Sequence[str]]:
    """Put back files and the permissions of directories; return the result and these."""
    mode_changes = read_mode_changes(directory)
    try:
        with passable(root, mode_changes):
            result = undo_changes(root, directory, keep_in)
    except OSError as error:
        raise pytest.UsageError(f"--ralph-undo: nothing was undone: {error}") from None
    directories, problems = put_back_modes(root, mode_changes, keep_in)
    return result._replace(problems=(*result.problems, *problems)), directories


def _mask(config: pytest.Config) -> Callable[[str], str]:
    """Return what hides secrets, which may be in the names of files."""
    try:
        return Masker(extra=read_settings(ini_layer(config)).secrets).mask
    except (MaskError, SettingError) as error:
        raise pytest.UsageError(str(error)) from None


def _writer(config: pytest.Config, mask: Callable[[str], str]) -> Callable[..., None]:
    """Return what writes a line."""
    writer = create_terminal_writer(config)

    def write(line: str, *, red: bool = False) -> None:
        writer.line(one_line(mask(line)), red=red)

    return write


def _print_result(write: Callable[..., None], root: Path, result: UndoResult) -> None:
    for path in result.restored:
        exists = os.path.lexists(root / path)
        # A file that the run had created is gone now.
        write(f"put back {path}" if exists else f"removed {path}")
    for problem in result.problems:
        write(f"cannot put back {problem}", red=True)
    staged = _staged(root, result.restored)
    if staged:
        names = shlex.join(staged)
        write(f"still staged (to unstage: git restore --staged {names})")


def _print_way_back(write: Callable[..., None], kept_name: str, *, is_redo: bool) -> None:
    """Say how what was put back, if anything, is taken back."""
    if is_redo:
        write("tasks that were reopened stay open until they pass again")
    if kept_name:
        purpose = "to undo it again" if is_redo else "to get back what was undone"
        write(f"{purpose}: pytest --ralph-undo {kept_name}")


def _print_reopened(
    write: Callable[..., None], reopened: Iterable[str], problems: Iterable[str]
) -> None:
    for tasks in reopened:
        write(f"reopened: {tasks}")
    for problem in problems:
        write(f"cannot reopen tasks in {problem}", red=True)


def _staged(root: Path, paths: Collection[str]) -> list[str]:
    """Return which of the files that were put back have changes in git's index."""
    if not paths:
        return []
    options = ("--cached", "--name-only", "--no-renames", "--relative", "-z")
    try:
        # Without the paths: there may be too many of them for a command line.
        staged = GitCommand.at(root).listed("diff", *options)
    except GitError:
        # Outside a repository, or git is not installed.
        return []
    put_back = set(paths)
    return [path for path in staged if path in put_back]


def _reopen_tasks(
    root: Path, directory: Path, restored: Iterable[str]
) -> tuple[list[str], list[str]]:
    """Reopen the tasks that the run ticked and that may rest on files which were put back.

    Return which tasks were reopened, and why others were not: a line for each spec.
    """
    reopened = []
    problems = []
    for spec_path, tasks in _tasks_to_reopen(directory, set(restored)).items():
        try:
            names = _reopen_in_spec(root, spec_path, tasks)
        except (SpecError, SpecFilesError, StateError, OSError, pytest.UsageError) as error:
            reason = str(error).removeprefix("ERROR: ")
            problems.append(f"{spec_path}: {reason}")
            continue
        if names:
            reopened.append(f"{', '.join(names)} ({spec_path})")
    return reopened, problems


def _tasks_to_reopen(directory: Path, restored: set[str]) -> dict[str, list[Task]]:
    """Return the tasks to reopen, by the paths of their specs.

    A task without work of its own may have passed thanks to the work on another one.
    """
    tasks: dict[str, list[Task]] = {}
    if not restored:
        return tasks
    for tick in read_ticks(directory):
        own_work = {change.path for change in read_changes(directory, tick.owner)}
        if own_work and own_work.isdisjoint(restored):
            # The user has changed these files since then, so they were left as they are.
            continue
        tasks.setdefault(tick.spec_path, []).append(tick.task)
    return tasks


def _reopen_in_spec(root: Path, spec_path: str, tasks: Iterable[Task]) -> list[str]:
    """Reopen the tasks of one spec that are checked off by now; return their names."""
    path = root / spec_path
    if not path.exists():
        # The user has deleted the spec since then.
        return []
    spec = with_progress(Spec.load(path))
    spec_files = SpecFiles(spec, plan(spec.tasks))
    refuse_to_write(spec_files.own_files, root)
    return spec_files.reopen(tasks)


def _is_path(config: pytest.Config) -> bool:
    """Return whether a path is given, which argparse takes for the name of a run."""
    name: str = config.getoption("ralph_undo")
    return (config.rootpath / name).exists()


def _backups(root: Path) -> set[Path]:
    """Return where the copies of runs are: the project may not always have been in a repository."""
    return {backups_directory(root), root / RALPH_DIRECTORY / BACKUPS_NAME}


def _find_run(config: pytest.Config, backups: Iterable[Path]) -> Path:
    """Return the directory of the run to undo. Raise UsageError if there is none."""
    # Runs that are undone have no list of this name. By time, as a redo is newer than its run, and
    # two runs may begin in the same second, which is all that their names tell.
    lists = [path for place in backups for path in place.glob(f"*/{LIST_NAME}")]
    lists.sort(key=lambda path: path.stat().st_mtime_ns)
    runs = {path.parent.name: path.parent for path in lists}
    name = config.getoption("ralph_undo")
    if name == LAST or _is_path(config):
        names = [run for run in runs if not run.endswith(UNDONE_SUFFIX)]
        if not names:
            raise pytest.UsageError(
                "--ralph-undo: no run has changed anything that can be put back"
            )
        name = names[-1]
    if name in runs:
        return runs[name]
    known = ", ".join([*runs][-3:]) or "none"
    raise pytest.UsageError(f"--ralph-undo: no such run: {name} (last runs with changes: {known})")
