"""Causes: wordings by which tools tell why they stopped. One table for all tools, found by word."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.failure.causes.rule import Rule, read_rules
from pytest_ralph.failure.finding import Finding
from pytest_ralph.failure.output import CommandOutput

if TYPE_CHECKING:
    import re
    from collections.abc import Collection, Iterator, Mapping, Sequence

# A word that occurs on more lines than this is looked at only on the first and the last of them.
FIRST, LAST = 40, 15


def _by_key(*names: str) -> Mapping[str, Sequence[Rule]]:
    table: defaultdict[str, list[Rule]] = defaultdict(list)
    for name in names:
        for rule in read_rules(name):
            table[rule.key].append(rule)
    return table


TOOLS = _by_key("environment", "absent", "modules", "broken", "symptoms")
PEOPLE = _by_key("prose")


def causes_of(transcript: CommandOutput, quiet: Collection[int] = ()) -> Sequence[Finding]:
    """What the lines of an output say about causes, whatever tool printed them; `quiet` lines have no say."""
    return sorted(_find(TOOLS, transcript, quiet), key=lambda finding: (finding.line, finding.rank))


def causes_in(line: str, number: int = -1) -> Sequence[Finding]:
    """What one line says about causes."""
    return tuple(replace(finding, line=number) for finding in causes_of(CommandOutput(line)))


def spoken_causes_in(line: str) -> Sequence[Finding]:
    """What a person or an agent says about causes."""
    return tuple(_find(PEOPLE, CommandOutput(line), ()))


def _find(
    table: Mapping[str, Sequence[Rule]], transcript: CommandOutput, quiet: Collection[int]
) -> Iterator[Finding]:
    # In the order of the rules, never in that of a set: of two readings of one line the first rule decides.
    for key in (key for key in table if key in transcript.index):
        numbers = [number for number in transcript.index[key] if number not in quiet]
        for number in (
            numbers if len(numbers) <= FIRST + LAST else numbers[:FIRST] + numbers[-LAST:]
        ):
            line = transcript.lines[number]
            for rule in table[key]:
                if match := rule.search(line):
                    yield Finding(rule.verdict, line.strip(), number, _caught(match))


def _caught(match: re.Match[str]) -> str | None:
    """The name of what is missing, without what ends the sentence around it."""
    name = next(filter(None, match.groups()), None)
    return (name.rstrip(".,;:") or name) if name else None
