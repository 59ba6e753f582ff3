"""Before anything runs: the specs of a run are held, and one that cannot be worked on is refused."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.files import PROGRESS_NAME, STATE_NAME
from pytest_ralph.history.record import HistoryError
from pytest_ralph.session.locks import SpecHeld, SpecLocks
from pytest_ralph.spec.state import State
from pytest_ralph.spec.state_file import StateError
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pytest_ralph.session.run import Run
    from pytest_ralph.spec.document import Spec
    from pytest_ralph.spec.plan_problems import PlanProblem


class Preflight:
    """The locks of one run, and what is checked once they are held."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @cached_property
    def _locks(self) -> SpecLocks:
        return SpecLocks(self.run.directory)

    def hold(self, specs: Iterable[Spec]) -> None:
        """All of them or, with a UsageError, none."""
        for spec in specs:
            self._lock(spec.path)
            settings = self.run.settings_of(spec)
            self.run.check_means(settings)
            if settings.execute or self.is_written(spec):
                self._stay_inside(spec)
            self._refuse(spec)

    def _stay_inside(self, spec: Spec) -> None:
        """What is written must be where it seems to be; what is only named elsewhere is said."""
        from pytest_ralph.session.symlinks import files_outside, refuse_to_write

        root, directory = self.run.root, spec.directory
        refuse_to_write((spec.path, directory / STATE_NAME, directory / PROGRESS_NAME), root)
        for task in spec.tasks:
            for name in files_outside(task, root):
                where = f"{self.run.relative(spec.path)}:{task.line}: Files of {task.id}"
                self.run.note(
                    f"{where} leads out of the project: {one_line(name)} is not repaired or committed"
                )

    def _lock(self, path: Path) -> None:
        try:
            self._locks.take(path, self.run.relative(path))
        except SpecHeld as error:
            raise pytest.UsageError(str(error)) from None
        except (OSError, HistoryError) as error:
            self.run.note(f"no lock could be taken, so another run would not be noticed: {error}")

    def is_written(self, spec: Spec) -> bool:
        """Whether the spec is worked on in recovery mode."""
        state = self._state(spec)
        recovery = self.run.settings_of(spec).recovery
        return state.recovery_mode if recovery is None else recovery

    def _state(self, spec: Spec) -> State:
        try:
            return State.load(spec.directory / STATE_NAME)
        except StateError as error:
            if self.run.settings_of(spec).fresh:
                return State(error.path)
            # pytest puts the first word back.
            raise pytest.UsageError(str(error).removeprefix("ERROR: ")) from None

    def _refuse(self, spec: Spec) -> None:
        """A plan that contradicts itself cannot be carried out."""
        tolerated = self.tolerated(spec)
        for problem in self.run.plan(spec).problems:
            if problem not in tolerated:
                from pytest_ralph.report.halt import refusal_lines

                raise pytest.UsageError("\n".join(refusal_lines(problem)).removeprefix("ERROR: "))

    def tolerated(self, spec: Spec) -> list[PlanProblem]:
        """Tasks that run at once and name the same file can still be verified: that is a warning, and no more."""
        conflicts = [
            problem for problem in self.run.plan(spec).problems if problem.kind == "file_conflict"
        ]
        if not conflicts or self.run.settings_of(spec).execute:
            return []
        try:
            return [] if self.is_written(spec) else conflicts
        except pytest.UsageError:
            # Of the state, for which the spec will be refused.
            return []

    def release(self) -> None:
        if "_locks" in self.__dict__:
            self._locks.release()
