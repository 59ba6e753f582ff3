"""The rules that say what a line of output means, read from the `.rules` files next to this module.

    [service]
    sh-refused | refused reset
        connection (?:was )?refused
        connection reset by peer

A section is a verdict. A rule starts with the name of the sample (in `tests/samples/failures`) that
needs it and its keys: lower-case words, one of which every matching line contains. The indented
lines are alternatives of one pattern. In a pattern `<q>` stands for any quote and `<n>` for a name
without quotes; the first group that matches is the name of what is missing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

# Quotes that tools put around a name, in all their typographic variety.
SHORTHANDS = {"<q>": "[\"'`‘’“”«»]", "<n>": "[^\"'`‘’“”«»]+"}


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
