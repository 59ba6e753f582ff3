"""Titles that are the check, as tasks of spec-kit have them: `T004 Verify: npm test`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from pytest_ralph.spec.task_line import TaskLine

_TITLE_CHECK = regex(
    r"(?:\[[^\]]*\][ \t]*)*(?:verify|verification|run)[ \t]*:[ \t]*(?P<check>\S.*)", re.IGNORECASE
)


def check_in_title(title: TaskLine) -> str:
    """Return the check that a title consists of, or an empty string."""
    match = _TITLE_CHECK.fullmatch(title.title)
    return match["check"] if match else ""
