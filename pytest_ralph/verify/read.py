"""A Verify field as a careful person reads it: which words are commands, and what is asked of each."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_ralph.verify.commands import runs_alone, without_prompt
from pytest_ralph.verify.model import Check, Verify
from pytest_ralph.verify.vocabulary import any_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_NO_COMMAND = any_of("no command", "", "$")
# Sentence by sentence, a longer field would take seconds to read.
LONGEST = 50_000


@lru_cache(maxsize=1024)
def read_verify(text: str) -> Verify:
    """The checks of a Verify field, or the reason why a person has to look; nothing at all for an empty field."""
    stripped = text.strip()
    if not stripped:
        return Verify(text=text)
    if stripped[0] == stripped[-1] == "`" and stripped.count("`") == 2 and "\n" not in stripped:
        command = without_prompt(stripped[1:-1].strip())
        return _verify(
            text, [Check(command)] if runs_alone(command) and not _NO_COMMAND.match(command) else []
        )
    if len(text) > LONGEST and not stripped.startswith(("```", "~~~")):
        return Verify(
            manual=f"longer than {LONGEST:,} characters, which only a person can make sense of",
            text=text,
        )
    from pytest_ralph.verify.reading import read

    reading = read(text)
    checks = reading.checks if reading.any_is_enough else reading.required
    return _verify(text, checks, any_is_enough=reading.any_is_enough)


def _verify(text: str, checks: Sequence[Check], any_is_enough: bool = False) -> Verify:
    if checks:
        return Verify(tuple(checks), "any" if any_is_enough else "all", text=text)
    return Verify(manual=" ".join(text.split())[:500], text=text)
