"""Exceptions that whoever has a fix carried out must expect."""

from __future__ import annotations


class GitError(Exception):
    """git could not do something. The message is one line; nothing was changed."""


class RecoveryError(Exception):
    """The task cannot be worked on, through no fault of its own; the message is one line."""


class TemplatesError(RecoveryError):
    """A template cannot be used. The message is one line with its file and line number."""
