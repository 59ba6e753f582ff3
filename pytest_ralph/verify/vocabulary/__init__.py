"""The words that the readers know, as tables of text beside this file.

A line is `key: entries`; a key may have several lines; `#` starts a comment line.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Callable

# Chinese, Japanese and Korean do not put spaces between words.
_FIRST_CJK = 0x2E80
_LOOK_AROUND = regex(r"\(\?<?[=!](?:[^()]|\([^()]*\))*\)")
_GROUP = regex(r"\((?:\?:)?(?P<inside>[^()]*)\)(?P<optional>[?*]?)")
_OPTIONAL_LETTER = regex(r"(?:\[[^\]]*\]|\\?.)[?*]")


def words(table: str, key: str) -> frozenset[str]:
    """Return the entries of one key, where every entry is a single word."""
    found: set[str] = set()
    for row_key, row in _rows(table):
        if row_key == key:
            found.update(row.split())
    return frozenset(found)


def any_of(key: str, before: str = "", after: str = "") -> re.Pattern[str]:
    """Return a pattern for any entry of one key of prose.txt, with what must stand around it."""
    return regex(rf"{before}(?:{'|'.join(phrases('prose')[key])}){after}", re.IGNORECASE)


@cache
def phrases(table: str) -> dict[str, list[str]]:
    """Return the entries of every key, where an entry may be several words."""
    found: dict[str, list[str]] = {}
    for key, row in _rows(table):
        found.setdefault(key, []).extend(row.split(" | "))
    return found


@cache
def rewriter(table: str, without: str | None = None) -> Callable[[str], str]:
    """Return a function that replaces every entry of `table` in a text by its key.

    The entries are regular expressions. Where several match, the one that needs most letters wins;
    one that does not start with a letter comes last. The row `without` is not used.
    """
    entries: list[tuple[str, str]] = []
    for key, row in phrases(table).items():
        if key != without:
            entries += [(entry, key) for entry in row]
    entries.sort(key=lambda entry_and_key: _length(entry_and_key[0]), reverse=True)
    # Entries are tried by their first letter: all of them at every position would be slow.
    by_letter: dict[str, list[str]] = {}
    for at, (entry, _) in enumerate(entries):
        group = f"(?P<g{at}>{_bounded(entry)})"
        by_letter.setdefault(_first_letter(entry), []).append(group)
    others = by_letter.pop("", [])
    groups = [f"(?={letter})(?:{'|'.join(same)})" for letter, same in by_letter.items()]
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(groups)})|{'|'.join(others)}", re.IGNORECASE)

    def replace(match: re.Match[str]) -> str:
        group = match.lastgroup or "g0"
        _, key = entries[int(group[1:])]
        return f" {key} "

    return lambda text: pattern.sub(replace, text)


def _length(entry: str) -> tuple[int, int]:
    """Return how many letters an entry matches at least, and how long it is itself."""
    shortest = _LOOK_AROUND.sub("", entry)
    while group := _GROUP.search(shortest):
        kept = "" if group["optional"] else min(group["inside"].split("|"), key=len)
        shortest = shortest[: group.start()] + kept + shortest[group.end() :]
    return len(_OPTIONAL_LETTER.sub("", shortest)), len(entry)


def _first_letter(entry: str) -> str:
    """Return the letter that an entry starts with, or an empty string if it may be several."""
    first = entry[0]
    if first.isascii() and first.isalpha():
        return first.lower()
    return ""


def _bounded(entry: str) -> str:
    """Return the pattern of an entry that does not match inside a longer word."""
    if any(ord(letter) >= _FIRST_CJK for letter in entry):
        return entry
    first = entry.lstrip("(?:")[0]
    before = r"(?<![\w-])" if first.isalpha() else ""
    after = r"(?![\w-])" if entry[-1].isalpha() or entry[-1] in "?)" else ""
    return f"{before}{entry}{after}"


@cache
def _rows(table: str) -> list[tuple[str, str]]:
    text = Path(__file__).with_name(f"{table}.txt").read_text(encoding="utf-8")
    rows: list[tuple[str, str]] = []
    for line in text.split("\n"):
        if line and not line.startswith("#"):
            key, _, row = line.partition(": ")
            rows.append((key, row))
    return rows
