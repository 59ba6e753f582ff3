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
# Where an entry may start: with a word, in one of these scripts, or with a sign or number.
_START = regex(r"(?<![\w-])[^\W_]|[^\x00-\u2e7f]|[^\w\s]|\d")
_LOOK_AROUNDS = regex(r"^(?:\(\?<?[=!](?:[^()]|\([^()]*\))*\))+")
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
        for letter in _first_letters(entry):
            by_letter.setdefault(letter, []).append(f"(?P<g{at}>{_bounded(entry)})")
    patterns = {
        letter: re.compile("|".join(groups), re.IGNORECASE) for letter, groups in by_letter.items()
    }

    def rewrite(text: str) -> str:
        parts: list[str] = []
        end = 0
        for start in _START.finditer(text):
            at = start.start()
            pattern = patterns.get(text[at].lower())
            match = pattern.match(text, at) if pattern and at >= end else None
            if match is None:
                continue
            group = match.lastgroup or "g0"
            _, key = entries[int(group[1:])]
            parts += [text[end:at], f" {key} "]
            end = match.end()
        return "".join(parts) + text[end:]

    return rewrite


def _length(entry: str) -> tuple[int, int]:
    """Return how many letters an entry matches at least, and how long it is itself."""
    shortest = _LOOK_AROUND.sub("", entry)
    while group := _GROUP.search(shortest):
        kept = "" if group["optional"] else min(group["inside"].split("|"), key=len)
        shortest = shortest[: group.start()] + kept + shortest[group.end() :]
    return len(_OPTIONAL_LETTER.sub("", shortest)), len(entry)


def _first_letters(entry: str) -> frozenset[str]:
    """Return the letters that what an entry matches may start with."""
    entry = _LOOK_AROUNDS.sub("", entry)
    if not entry:
        return frozenset()
    if entry.startswith("("):
        end = _end_of_group(entry)
        choices = _choices(entry[1:end].removeprefix("?:"))
        letters = frozenset().union(*map(_first_letters, choices))
        may_be_empty = not all(map(_first_letters, choices))
    elif entry.startswith("["):
        end = entry.index("]")
        letters = frozenset(entry[1:end])
        may_be_empty = False
    else:
        end = 0
        letters = frozenset(entry[0].lower())
        may_be_empty = False
    rest = entry[end + 1 :]
    if may_be_empty or rest.startswith("?"):
        letters |= _first_letters(rest.removeprefix("?"))
    return letters


def _end_of_group(entry: str) -> int:
    """Return where the group ends with which an entry starts."""
    depth = 0
    for at, letter in enumerate(entry):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return at
    raise ValueError(entry)


def _choices(inside: str) -> list[str]:
    """Divide what a group holds at those `|` that are in no other group."""
    choices = [""]
    depth = 0
    for letter in inside:
        depth += (letter == "(") - (letter == ")")
        if letter == "|" and depth == 0:
            choices.append("")
        else:
            choices[-1] += letter
    return choices


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
