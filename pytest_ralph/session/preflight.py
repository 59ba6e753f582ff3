"""Checks before anything runs: lock the specs, and refuse those that cannot be worked on.

Nothing is written through symbolic links that lead out of the project.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.files import (
    PROGRESS_NAME,
    STATE_NAME,
    our_directories,
    outside_target,
)
from pytest_ralph.session.locks import SpecLocked, SpecLocks
from pytest_ralph.session.requirements import (
    check_distribution,
    check_project_files,
    check_settings,
    check_tasks,
)
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_ralph.session.run import Run
    from pytest_ralph.spec.document import Spec
    from pytest_ralph.spec.plan_problems import PlanProblem
    from pytest_ralph.spec.task import Task


class Preflight:
    """Holds the locks of one run, and checks the run and each of its specs."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._locks = SpecLocks(run.locks)

    def check_run(self) -> None:
        """Raise UsageError for what would otherwise fail in the middle of the run."""
        check_project_files(self.run)
        for directory in our_directories(self.run.root):
            refuse_to_write(own_paths(directory), self.run.root)
        check_distribution(self.run)
        settings = self.run.settings
        needs_executor = settings.execute or settings.recovery is True
        check_settings(self.run, settings, needs_executor=needs_executor)

    def check(self, specs: Iterable[Spec]) -> None:
        """Lock and check the specs. Raise UsageError for the first that cannot be worked on."""
        for spec in specs:
            settings = self.run.specs.settings_of(spec)
            is_written = self.run.specs.is_written(spec)
            check_settings(self.run, settings, needs_executor=is_written)
            if is_written:
                check_tasks(self.run, spec, settings)
            self._lock(spec.path, is_written=is_written)
            if is_written:
                self._check_links(spec)

    def _lock(self, path: Path, *, is_written: bool) -> None:
        try:
            self._locks.take(path, self.run.specs.relative(path), is_written=is_written)
        except SpecLocked as error:
            raise pytest.UsageError(str(error)) from None
        except OSError as error:
            self.run.messages.note(
                "the spec could not be locked, so a second run at the same time would not be "
                f"noticed: {error}"
            )

    def _check_links(self, spec: Spec) -> None:
        """Refuse to write a spec through a link; note the files of tasks that a link leads to."""
        own_files = (spec.path, spec.directory / STATE_NAME, spec.directory / PROGRESS_NAME)
        refuse_to_write(own_files, self.run.root)
        if self.run.directory.is_file():
            name = self.run.directory.name
            raise pytest.UsageError(f"{name} is a file: recovery needs a directory of this name")
        for task in spec.tasks:
            for name in files_outside(task, self.run.root):
                place = f"{self.run.specs.relative(spec.path)}:{task.line}"
                self.run.messages.note(
                    f"{place}: {task.id}: {one_line(name)} is outside the project: "
                    "it is not repaired or committed"
                )

    def plan_error(self, spec: Spec) -> PlanProblem | None:
        """Return the first problem because of which the plan cannot be carried out."""
        problems = self.run.specs.plan(spec).problems
        tolerated = self.tolerated(spec)
        return next((problem for problem in problems if problem not in tolerated), None)

    def tolerated(self, spec: Spec) -> list[PlanProblem]:
        """Return the problems of a plan that only deserve a warning.

        Parallel tasks that name the same file can be verified, as long as nothing writes the file.
        """
        problems = self.run.specs.plan(spec).problems
        conflicts = [problem for problem in problems if problem.kind == "file_conflict"]
        if conflicts and self.run.specs.is_written(spec):
            return []
        return conflicts

    def release(self) -> None:
        """Let go of the locks."""
        self._locks.release()


def refuse_to_write(paths: Iterable[Path], root: Path) -> None:
    """Raise UsageError for the first path that a link points outside the project."""
    for path in paths:
        target = outside_target(path, root)
        if target is not None:
            name = one_line(path.relative_to(root).as_posix())
            raise pytest.UsageError(
                f"{name} points outside the project, to {one_line(str(target))}: "
                "nothing is written there"
            )


def own_paths(directory: Path) -> Iterator[Path]:
    """Yield a directory of ours and what is in it."""
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
