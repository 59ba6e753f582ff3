"""What the lines of an output say about the cause of a failure, whatever tool printed them.

The rules are read from the `.rules` files next to this module.

    [service]
    sh-refused | refused reset
        connection (?:was )?refused
        connection reset by peer

A section is a verdict. A rule starts with the name of the sample (in `tests/samples/failures`) that
needs it and its keys: lower-case words, one of which every matching line contains. The indented
lines are alternatives of one pattern. In a pattern `<q>` stands for any quote, `<n>` for a name
without quotes and `<cannot>` for the ways to say that; the first group that matches is the name of
what is missing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.failure.finding import Finding
from pytest_ralph.failure.output import CommandOutput

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

TOOL_FILES = ("environment", "absent", "modules", "broken", "symptoms")
PROSE_FILES = ("prose",)
# A word that occurs on more lines than this is looked up only on the first and the last of them.
FIRST_LINES = 40
LAST_LINES = 15
CANNOT = "(?:cannot|can ?not|can't|could not|couldn't|unable to|failed to)"
# Quotes that tools put around a name, in all their typographic variety.
SHORTHANDS = {"<q>": "[\"'`‘’‚“”„«»‹›]", "<n>": "[^\"'`‘’‚“”„«»‹›]+", "<cannot>": CANNOT}


@dataclass(eq=False)
class Rule:
    """The wordings of one cause."""

    verdict: str
    sample: str
    keys: tuple[str, ...]
    alternatives: list[str] = field(default_factory=list)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled on first use: one output needs only a handful of all rules."""
        source = "|".join(self.alternatives)
        for shorthand, expansion in SHORTHANDS.items():
            source = source.replace(shorthand, expansion)
        return re.compile(source, re.IGNORECASE)


def read_rules(name: str) -> list[Rule]:
    """Return the rules of one file, in the order in which they are written."""
    text = Path(__file__).with_name(f"{name}.rules").read_text(encoding="utf-8")
    rules: list[Rule] = []
    verdict = ""
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            verdict = line.strip("[]")
        elif line.startswith(" "):
            rules[-1].alternatives.append(line[4:])
        else:
            sample, _, keys = line.partition(" | ")
            rules.append(Rule(verdict, sample, tuple(keys.split())))
    return rules


@cache
def rules_by_key(names: tuple[str, ...]) -> Mapping[str, Sequence[Rule]]:
    """Return the rules of the named files, found by each of their keys."""
    table: defaultdict[str, list[Rule]] = defaultdict(list)
    for name in names:
        for rule in read_rules(name):
            for key in rule.keys:
                table[key].append(rule)
    return table


def causes_of(output: CommandOutput, ignored: Collection[int] = ()) -> Sequence[Finding]:
    """Return what a tool's output says about causes, apart from the `ignored` line numbers."""
    found = _matches(rules_by_key(TOOL_FILES), output, ignored)
    return sorted(found, key=lambda finding: (finding.line, finding.rank))


def causes_in(line: str, number: int = -1) -> Sequence[Finding]:
    """Return what one line of a tool's output says about causes."""
    found = causes_of(CommandOutput(line))
    return tuple(replace(finding, line=number) for finding in found)


def causes_in_prose(sentence: str) -> Sequence[Finding]:
    """Return what a person or an agent says about causes."""
    return tuple(_matches(rules_by_key(PROSE_FILES), CommandOutput(sentence), ()))


def _matches(
    table: Mapping[str, Sequence[Rule]], output: CommandOutput, ignored: Collection[int]
) -> Iterator[Finding]:
    """Yield what the rules find on the lines that contain one of their keys."""
    seen: set[tuple[int, int]] = set()
    # Follow the order of the rules, not of the words: of two readings of a line the first counts.
    for key, rules in table.items():
        if key not in output.index:
            continue
        for number in _numbers_of(key, output, ignored):
            for rule in rules:
                if (id(rule), number) in seen:
                    continue
                seen.add((id(rule), number))
                match = rule.pattern.search(output.english[number])
                if match:
                    line = output.lines[number].strip()
                    yield Finding(rule.verdict, line, number, _name_in(match))


def _numbers_of(key: str, output: CommandOutput, ignored: Collection[int]) -> Sequence[int]:
    """Return the numbers of the lines on which a key is looked up."""
    numbers = [number for number in output.index[key] if number not in ignored]
    first = numbers[:FIRST_LINES]
    others = numbers[FIRST_LINES:]
    return first + others[-LAST_LINES:]


def _name_in(match: re.Match[str]) -> str | None:
    """Return the name of what is missing, without the punctuation that ends the sentence."""
    for name in match.groups():
        if name:
            return str(name).rstrip(".,;:")
    return None
