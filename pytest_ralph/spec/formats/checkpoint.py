"""Checkpoints: `All commands exit 0`, with the commands in the Do field or in the title."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from pytest_ralph.spec.task_line import TaskLine

_ALL_COMMANDS = regex(
    r"(?:all|both)(?: of)?(?: the)?(?: quality| verification| listed)? (?:commands|checks)(?: must)?"
    r" (?:exit(?: with)?(?: code| status)? 0|pass|succeed|are green)\W*",
    re.IGNORECASE,
)
# A title that is the check: `T004 Verify: npm test`.
_TITLE_CHECK = regex(
    r"(?:\[[^\]]*\][ \t]*)*(?:verify|verification|run)[ \t]*:[ \t]*(?P<check>\S.*)", re.IGNORECASE
)


def refers_to_commands(verify: str) -> bool:
    """Return whether a Verify text only says that the commands of the task pass."""
    return _ALL_COMMANDS.fullmatch(verify.strip()) is not None


def check_in_title(title: TaskLine) -> str:
    """Return the check that a title consists of, or an empty string."""
    match = _TITLE_CHECK.fullmatch(title.title)
    return match["check"] if match else ""
