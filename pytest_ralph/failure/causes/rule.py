"""Rule: one wording of one cause, as tools print it on a single line. The `.rules` files next to this one hold them.

    [service]
    refused     connection (?:was )?refused

A section is a verdict. Each row is a key (a lower-case word that every matching line contains), blanks, and a pattern;
`<q>` stands for any quote and `<n>` for a name without quotes. What a group of the pattern catches is what is missing.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

# Quotes that tools put around a name, in all their typographic variety.
SHORTHANDS = {"<q>": "[\"'`‘’“”«»]", "<n>": "[^\"'`‘’“”«»]+"}


class Rule(NamedTuple):
    verdict: str
    key: str
    pattern: str

    def search(self, line: str) -> re.Match[str] | None:
        return _compiled(self.pattern).search(line)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiled on first use: of five hundred wordings, one run meets a handful."""
    for short, long in SHORTHANDS.items():
        pattern = pattern.replace(short, long)
    return re.compile(pattern, re.IGNORECASE)


def read_rules(name: str) -> Iterator[Rule]:
    verdict = ""
    text = Path(__file__).with_name(f"{name}.rules").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("["):
            verdict = line.strip("[]")
        elif line and not line.startswith("#"):
            key, _, pattern = line.partition(" ")
            yield Rule(verdict, key, pattern.strip())
