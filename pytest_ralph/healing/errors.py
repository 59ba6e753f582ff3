"""Exceptions that end the work on a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.fixing.errors import RecoveryError

if TYPE_CHECKING:
    from pytest_ralph.healing.decide import Decision


class GaveUpError(Exception):
    """Nothing more can be done about a failure; `decision` says why."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(decision.reason)
        self.decision = decision


class FixTaskError(RecoveryError):
    """A template or a hook wrote a fix task that cannot be used."""


class HookError(RecoveryError):
    """A hook raised an exception or returned a wrong value."""


class SpecFilesError(RecoveryError):
    """A file of the spec cannot be read or written. It is unchanged."""


class IsolationError(RecoveryError):
    """No worktree could be used for an executor run."""
