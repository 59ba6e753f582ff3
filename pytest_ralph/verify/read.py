"""A Verify field as a careful person reads it: its commands, and what is asked of each."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import Literal

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.commands import is_powershell, runs_alone, without_prompt
from pytest_ralph.verify.model import Check, Verify
from pytest_ralph.verify.vocabulary import any_of

_NO_COMMAND = any_of("no command", "", "$")
# A longer field would take seconds to read sentence by sentence.
MAX_LENGTH = 50_000
# How much of a field is shown as the reason why a person has to look.
_MAX_REASON = 500
# A command that holds one of these may have a comment, or a value that a person has to fill in.
_LOOK_CLOSER = ("#", "<", "{", "…", "...", "path/to/", "your")
_POWERSHELL = "needs PowerShell: "
_MIXED = "alternatives mixed with other commands: "
_POWERSHELL_FENCE = regex(r"(?:```|~~~)[ \t]*(?:powershell|pwsh|ps1)\b", re.IGNORECASE)


@lru_cache(maxsize=1024)
def read_verify(text: str) -> Verify:
    """Return the checks of a Verify field, or the reason why a person has to look.

    An empty field has neither.
    """
    stripped = text.strip()
    if not stripped:
        return Verify(text=text)
    if _is_one_span(stripped):
        # By far the most frequent field, read without loading the rest of the package.
        verify = _read_one_span(text, stripped)
        if verify is not None:
            return verify
    if len(text) > MAX_LENGTH and not stripped.startswith(("```", "~~~")):
        reason = f"longer than {MAX_LENGTH:,} characters: too long to be read"
        return Verify(manual=reason, text=text)
    return _read_passages(text)


def _read_one_span(text: str, stripped: str) -> Verify | None:
    """Return the reading of a field that is one code span, or None if it takes a closer look."""
    command = without_prompt(stripped[1:-1].strip())
    if _NO_COMMAND.match(command) or not runs_alone(command):
        return _manual(text)
    if _needs_powershell(command):
        return _manual(text, _POWERSHELL)
    if any(mark in command for mark in _LOOK_CLOSER):
        return None
    return Verify((Check(command),), text=text)


def _read_passages(text: str) -> Verify:
    from pytest_ralph.verify.reading import read

    reading = read(text)
    if reading.mixes_alternatives:
        return _manual(text, _MIXED)
    if not reading.checks:
        is_foreign = _POWERSHELL_FENCE.search(text)
        return _manual(text, _POWERSHELL if is_foreign else "")
    checks: list[Check] = []
    unread = reading.unread
    for check in reading.checks:
        if _needs_powershell(check.command):
            unread.append(f"`{check.command}`")
        else:
            checks.append(check)
    if not checks:
        return _manual(text, _POWERSHELL)
    mode: Literal["all", "any"] = "any" if reading.any_is_enough else "all"
    return Verify(tuple(checks), mode, text=text, unread=tuple(dict.fromkeys(unread)))


def with_expected(verify: Verify, words: str) -> Verify:
    """Return `verify` with what `words` expect of its last command.

    The words come from another place than the field, such as an `**Expected**:` below it. They are
    never searched for commands.
    """
    if not verify.checks:
        return verify
    from pytest_ralph.verify.expect import read_expectations

    last = verify.checks[-1]
    demands = read_expectations(last.command, f"Expected: {words}")
    checks = (*verify.checks[:-1], demands.added_to(last))
    return verify._replace(checks=checks, unread=(*verify.unread, *demands.unread))


def _is_one_span(text: str) -> bool:
    if text.count("`") != 2 or "\n" in text:
        return False
    return text[0] == text[-1] == "`"


def _needs_powershell(command: str) -> bool:
    """Whether no shell of this system can run a command."""
    return os.name == "posix" and is_powershell(command)


def _manual(text: str, reason: str = "") -> Verify:
    written = " ".join(text.split())
    return Verify(manual=f"{reason}{written}"[:_MAX_REASON], text=text)
