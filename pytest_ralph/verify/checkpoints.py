"""Verify fields of checkpoints, which refer to commands elsewhere: "All commands above exit 0"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.read import read_verify

if TYPE_CHECKING:
    from pytest_ralph.verify.model import Verify

_REFERENCE = regex(
    r"\W*(?:run )?(?:all|both|each|every|the)(?: of)?(?: the| these| those)?(?: \d+| \w+)?"
    r" (?:commands?|checks?|greps?)(?: above| below| listed| from \S+| in do)?"
    r"(?: must| should| will)?(?: still| all)?"
    r" (?:exits?|pass(?:es)?|succeeds?|return|print|are green|green)\b[^`]*",
    re.IGNORECASE,
)


def refers_to_commands(text: str) -> bool:
    """Whether a Verify field only says that commands given elsewhere must pass."""
    return "`" not in text and bool(_REFERENCE.fullmatch(" ".join(text.split())))


def read_checkpoint(text: str, *elsewhere: str) -> Verify:
    """Return the reading of a field that refers to commands, such as those of Do or the title.

    The first of the texts `elsewhere` that has commands is taken; without one the field is manual.
    """
    verify = read_verify(text)
    if verify.checks or not refers_to_commands(text):
        return verify
    for other in elsewhere:
        found = read_verify(other)
        if found.checks:
            return found._replace(text=text)
    return verify
