"""What ends work on a task with one clear line, because nobody here can put it right."""

from __future__ import annotations


class RecoveryError(Exception):
    """One line for a person."""


class FixTaskError(RecoveryError):
    """What a project writes as a fix task is of no use."""


class HookError(RecoveryError):
    """Which hook, what is wrong with it, and where."""


class SpecFilesError(RecoveryError):
    """Which file of the spec cannot be read or written, and why. It is as it was."""
