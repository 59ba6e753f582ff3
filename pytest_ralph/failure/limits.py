"""Limits: does an agent say that its context window is full, or that it may not go on for now? See limits.rules."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

# A rate limit counts tokens too, and is no full window.
PER_TIME = re.compile(r"rate[ _-]?limit|per (?:minute|day|hour)|quota", re.IGNORECASE)


def context_limit(line: str) -> bool:
    return bool(_patterns("context").search(line)) and not PER_TIME.search(line)


def rate_limit(line: str) -> bool:
    return bool(_patterns("rate").search(line))


@cache
def _patterns(section: str) -> re.Pattern[str]:
    text = Path(__file__).with_name("limits.rules").read_text(encoding="utf-8")
    body = text.split(f"[{section}]\n")[1].split("\n[")[0]
    rows = [line for line in body.splitlines() if line and not line.startswith("#")]
    return re.compile("|".join(rows), re.IGNORECASE)
