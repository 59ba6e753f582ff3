"""The Reading of a Verify field that is more than one code span: passages, lists and scripts, in order."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.bare_lines import read_bare_lines
from pytest_ralph.verify.commands_in_prose import mentions
from pytest_ralph.verify.expect import read_expectations
from pytest_ralph.verify.model import Check
from pytest_ralph.verify.pieces import Passage, Script, read_pieces
from pytest_ralph.verify.scripts import runnable
from pytest_ralph.verify.translate import in_english
from pytest_ralph.verify.vocabulary import any_of, phrases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.verify.commands_in_prose import Mention

_MANUAL = any_of("manual", r"\W*")
_RESULT = any_of("result", r"\W*")
_EVERY = regex(r"\b(?:both|each|every|all|either)\b", re.IGNORECASE)
# `No output from …`: an expectation in front of its command.
_LEAD = regex(r"\W*(?:expect|no |zero |nothing|empty|at least|exactly|\d+ )", re.IGNORECASE)
_LEAD_END = regex(r"\b(?:from|of|for|by|when running|after running|in|with)\W*$", re.IGNORECASE)
_RED = regex(r"\W*(?:verify\s+)?red\b", re.IGNORECASE)
_GREEN = regex(r"\W*(?:verify\s+)?green\b", re.IGNORECASE)
_DIRECTORY = regex(
    r"\b(?:from|in|inside|within|under)\s+(?:the\s+)?(?P<called>[`\"']?[\w.@-][\w./@-]*[`\"']?)"
    r"\s+(?:directory|folder|dir\b|package|spec_files)"
    r"|\b(?:from|inside|within)\s+(?:the\s+)?(?P<path>`?[\w.@-]+/[\w./@-]*`?|`[\w.@-]+`)",
    re.IGNORECASE,
)
_INSIDE = regex(r"\s*\(in\s+(?:the\s+)?(`[\w./@-]+`|[\w.@-]+/[\w./@-]*)\)", re.IGNORECASE)
# In front of a list or a script: `In `web`:`, `(in web/app):`
_AHEAD = regex(
    r"\W*(?:run |all )?\(?(?:in|from|inside|within|under)\s+(?:the\s+)?(`[\w./@-]+`|[\w.@-]+/[\w./@-]*)"
    r"(?:\s+(?:directory|folder|dir|package|spec_files))?\)?\s*[:,]",
    re.IGNORECASE,
)
_NO_DIRECTORY = frozenset(phrases("prose")["no directory"])


@dataclass
class Reading:
    """What has been understood so far while going through the pieces of a field."""

    checks: list[Check] = field(default_factory=list)
    # Whether each is an alternative to the one before it, and in which piece of the field it stands.
    alternatives: list[bool] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    place: int = 0
    # Said before a list, about all of its items.
    common: str = ""
    # The directory it names for what follows.
    directory: str | None = None
    # The prose just before, which tells a fence of output from a script.
    said: str = ""

    def add(self, check: Check, alternative: bool = False) -> None:
        self.checks.append(check)
        self.alternatives.append(alternative)
        self.places.append(self.place)

    @property
    def any_is_enough(self) -> bool:
        """`A or B`; `A, B or C` in one sentence."""
        joints = self.alternatives[1:]
        if not joints or not joints[-1]:
            return False
        return all(joints) or (len(joints) == 2 and len(set(self.places)) == 1)

    @property
    def required(self) -> list[Check]:
        """The checks without those that may stand in for the one before, where not just any one is enough."""
        chosen = zip(self.checks, self.alternatives, strict=True)
        return [
            check for at, (check, alternative) in enumerate(chosen) if at == 0 or not alternative
        ]


def read(text: str) -> Reading:
    """What a field asks for; no checks where a person has to look."""
    reading = Reading()
    pieces = _without_red(read_pieces(text))
    first = pieces[0] if pieces else None
    if isinstance(first, Passage) and _MANUAL.match(in_english(_lead(first))):
        return reading
    for reading.place, piece in enumerate(pieces):
        _take(piece, reading)
    if not reading.checks and all(
        isinstance(piece, Passage) and not piece.has_code for piece in pieces
    ):
        for check in read_bare_lines(text):
            reading.add(check)
    return reading


def _take(piece: Passage | Script, reading: Reading) -> None:
    if isinstance(piece, Script):
        if command := runnable(piece, reading.said):
            reading.add(Check(command, directory=reading.directory))
        return
    lead = in_english(_lead(piece))
    if _MANUAL.match(lead) and piece.listed:
        return
    found = mentions(piece, lone=not reading.checks)
    if found and reading.checks:
        _take_result(found[0].before, reading)
    if found:
        _take_commands(piece, found, reading)
    elif reading.checks:
        _take_result(piece.prose, reading)
    if not piece.listed:
        reading.common = piece.prose if piece.prose.endswith(":") else ""
        reading.directory = _name_of(_AHEAD.match(piece.prose))
    reading.said = piece.prose


def _take_result(words: str, reading: Reading) -> None:
    """`Expected: 3` in a passage of its own is about the command before it."""
    last = reading.checks[-1]
    if not last.expect and _RESULT.match(in_english(words)):
        reading.checks[-1] = last._replace(expect=read_expectations(last.command, words))


def _take_commands(piece: Passage, found: Sequence[Mention], reading: Reading) -> None:
    shared = found[-1].after if _EVERY.search(found[-1].after) else ""
    directory = _directory(found) or (reading.directory if piece.listed else None)
    for one in found:
        expect = read_expectations(one.command, one.after)
        if not expect and shared:
            expect = read_expectations(one.command, shared)
        if (
            not expect
            and len(found) == 1
            and _LEAD.match(one.before)
            and _LEAD_END.search(one.before)
        ):
            expect = read_expectations(one.command, one.before)
        if not expect and piece.listed and _EVERY.search(reading.common):
            expect = read_expectations(one.command, reading.common.rstrip(":"))
        reading.add(Check(one.command, expect, directory), one.alternative)


def _directory(found: Sequence[Mention]) -> str | None:
    """The directory the words right before or right behind the commands say to run them in."""
    before, after = found[0].before, found[-1].after
    if ahead := _AHEAD.match(before):
        return _name_of(ahead)
    return _name_of(
        _DIRECTORY.search(before)
        or _DIRECTORY.match(after.lstrip(" (,;—–-"))
        or _INSIDE.match(after)
    )


def _name_of(match: re.Match[str] | None) -> str | None:
    """The directory that was matched, unless its name says no directory at all."""
    if match is None:
        return None
    name = next(filter(None, match.groups())).strip("`\"'").rstrip("/")
    return name if name and name.lower() not in _NO_DIRECTORY else None


def _without_red(pieces: Sequence[Passage | Script]) -> Sequence[Passage | Script]:
    """Of a RED and GREEN pair only the GREEN counts: the task is done, so the test passes."""
    if not any(isinstance(piece, Passage) and _GREEN.match(piece.prose) for piece in pieces):
        return pieces
    return [
        piece for piece in pieces if not (isinstance(piece, Passage) and _RED.match(piece.prose))
    ]


def _lead(passage: Passage) -> str:
    return passage.pieces[0].text if passage.pieces and passage.pieces[0].kind == "prose" else ""
