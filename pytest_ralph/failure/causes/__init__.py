"""Causes: wordings by which tools tell why they stopped. One table for all tools, found by word."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from pytest_ralph.failure.causes.rule import Rule, read_rules
from pytest_ralph.failure.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

WORD = re.compile(r"\w+")
ENDINGS = ("error", "exception", "warning", "exit", "interrupt")


def _by_key(*names: str) -> Mapping[str, Sequence[Rule]]:
    table: defaultdict[str, list[Rule]] = defaultdict(list)
    for name in names:
        for rule in read_rules(name):
            table[rule.key].append(rule)
    return table


TOOLS = _by_key("environment", "absent", "modules", "broken", "symptoms")
PEOPLE = _by_key("prose")


def causes_in(line: str, number: int = -1) -> Iterator[Finding]:
    """What a line says about causes, whatever tool printed it."""
    return _find(TOOLS, line, number)


def spoken_causes_in(line: str) -> Iterator[Finding]:
    """What a person or an agent says about causes."""
    return _find(PEOPLE, line, -1)


def _find(table: Mapping[str, Sequence[Rule]], line: str, number: int) -> Iterator[Finding]:
    for word in dict.fromkeys(_keys(line)):
        for rule in table.get(word, ()):
            if match := rule.search(line):
                yield Finding(rule.verdict, line.strip(), number, next(filter(None, match.groups()), None))


def _keys(line: str) -> Iterator[str]:
    """The words of a line; the names of exceptions also by their ending, as `*error`."""
    for word in WORD.findall(line.lower()):
        yield word
        for ending in ENDINGS:
            if word.endswith(ending) and word != ending:
                yield f"*{ending}"
