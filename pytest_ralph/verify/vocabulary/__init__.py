"""The Words a reader knows, as tables of text beside this file.

A line is `key: entries`; a key may have many lines; `#` starts a comment line.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from pytest_ralph.text.regex import regex


def words(table: str, key: str) -> frozenset[str]:
    """The entries of one key, where every entry is a single word."""
    return frozenset(
        word for row_key, row in _rows(table) if row_key == key for word in row.split()
    )


def any_of(key: str, before: str = "", after: str = "") -> re.Pattern[str]:
    """A pattern for any entry of one key of prose.txt, with what has to stand around it."""
    return regex(rf"{before}(?:{'|'.join(phrases('prose')[key])}){after}", re.IGNORECASE)


@cache
def phrases(table: str) -> dict[str, list[str]]:
    """The entries of every key, where an entry may be several words: `at least | no fewer than`."""
    found: dict[str, list[str]] = {}
    for key, row in _rows(table):
        found.setdefault(key, []).extend(row.split(" | "))
    return found


def _rows(table: str) -> list[tuple[str, str]]:
    text = Path(__file__).with_name(f"{table}.txt").read_text(encoding="utf-8")
    rows = [line.partition(": ") for line in text.split("\n") if line and not line.startswith("#")]
    return [(key, row) for key, _, row in rows]
