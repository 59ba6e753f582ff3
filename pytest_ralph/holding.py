"""Before anything runs: the specs of a run are held, and one that cannot be worked on is refused."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.locks import SpecHeld, SpecLocks
from pytest_ralph.report.halt import refusal_lines
from pytest_ralph.spec.state import STATE_NAME, State, StateError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pytest_ralph.session import Run
    from pytest_ralph.spec.document import Spec


class Holding:
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
            self.run.check_means(self.run.settings_of(spec))
            self._refuse(spec, writes=self.is_written(spec) or self.run.settings_of(spec).execute)

    def _lock(self, path: Path) -> None:
        try:
            self._locks.take(path, self.run.relative(path))
        except SpecHeld as error:
            raise pytest.UsageError(str(error)) from None
        except OSError as error:
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

    def _refuse(self, spec: Spec, *, writes: bool) -> None:
        """A plan that contradicts itself cannot be carried out; tasks that share a file can still be verified."""
        for problem in self.run.plan(spec).problems:
            if writes or problem.kind != "file_conflict":
                raise pytest.UsageError("\n".join(refusal_lines(problem)).removeprefix("ERROR: "))

    def release(self) -> None:
        if "_locks" in self.__dict__:
            self._locks.release()
