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
    from collections.abc import Callable, Sequence

# Chinese, Japanese and Korean do not put spaces between words.
_FIRST_CJK = 0x2E80
# Where an entry may start: with a word, in one of these scripts, or with a sign or number.
_START = regex(r"(?<![\w-])[^\W_]|[^\x00-\u2e7f]|[^\w\s]|(?<!\d)\d")
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
    return regex(f"{before}{one_of(key)}{after}", re.IGNORECASE)


def one_of(key: str) -> str:
    """Return the part of a pattern that stands for any entry of one key of prose.txt."""
    entries = "|".join(phrases("prose")[key])
    return f"(?:{entries})"


@cache
def phrases(table: str) -> dict[str, list[str]]:
    """Return the entries of every key, where an entry may be several words."""
    found: dict[str, list[str]] = {}
    for key, row in _rows(table):
        entries = found.setdefault(key, [])
        entries += row.split(" | ")
    return found


@cache
def rewriter(table: str, without: str | None = None) -> Callable[[str], str]:
    """Return a function that replaces every entry of `table` in a text by its key.

    The entries are regular expressions. Where several match, the one that needs most letters wins;
    one that does not start with a letter comes last. The row `without` is not used.
    """
    key_of: dict[str, str] = {}
    for key, row in phrases(table).items():
        if key == without:
            continue
        for entry in row:
            key_of.setdefault(entry, key)
    entries = sorted(key_of, key=_length, reverse=True)
    patterns = _patterns_by_letter(entries)

    def rewrite(text: str) -> str:
        parts: list[str] = []
        end = 0
        for start in _START.finditer(text):
            at = start.start()
            pattern = patterns.get(text[at].lower())
            if pattern is None or at < end:
                continue
            match = pattern.match(text, at)
            if match is None:
                continue
            index = int((match.lastgroup or "g0")[1:])
            parts += [text[end:at], f" {key_of[entries[index]]} "]
            end = match.end()
        return "".join(parts) + text[end:]

    return rewrite


def _patterns_by_letter(entries: Sequence[str]) -> dict[str, re.Pattern[str]]:
    """Return for each letter a pattern of the entries that may start with it.

    All entries at every position of a text would be slow. A group is named after the place of its
    entry.
    """
    groups: dict[str, list[str]] = {}
    for index, entry in enumerate(entries):
        group = f"(?P<g{index}>{_bounded(entry)})"
        for letter in _first_letters(entry):
            groups.setdefault(letter, []).append(group)
    return {letter: re.compile("|".join(row), re.IGNORECASE) for letter, row in groups.items()}


def _length(entry: str) -> tuple[int, int]:
    """Return how many letters an entry matches at least, and how long it is itself."""
    shortest = _LOOK_AROUND.sub("", entry)
    while group := _GROUP.search(shortest):
        choices = group["inside"].split("|")
        kept = "" if group["optional"] else min(choices, key=len)
        before = shortest[: group.start()]
        behind = shortest[group.end() :]
        shortest = f"{before}{kept}{behind}"
    shortest = _OPTIONAL_LETTER.sub("", shortest)
    return len(shortest), len(entry)


def _first_letters(entry: str) -> frozenset[str]:
    """Return the letters that what an entry matches may start with."""
    entry = _LOOK_AROUNDS.sub("", entry)
    if not entry:
        return frozenset()
    may_be_empty = False
    if entry.startswith("("):
        choices, rest = _split_group(entry)
        firsts = [_first_letters(choice) for choice in choices]
        letters = frozenset().union(*firsts)
        may_be_empty = not all(firsts)
    elif entry.startswith("["):
        inside, _, rest = entry[1:].partition("]")
        letters = frozenset(inside)
    else:
        letters = frozenset(entry[0].lower())
        rest = entry[1:]
    if may_be_empty or rest.startswith("?"):
        letters |= _first_letters(rest.removeprefix("?"))
    return letters


def _split_group(entry: str) -> tuple[list[str], str]:
    """Return the choices of the group that an entry starts with, and what follows the group."""
    choices = [""]
    depth = 0
    for end, letter in enumerate(entry):
        if letter == ")":
            depth -= 1
        if letter == ")" and depth == 0:
            choices[0] = choices[0].removeprefix("?:")
            return choices, entry[end + 1 :]
        if letter == "|" and depth == 1:
            choices.append("")
        elif depth > 0:
            choices[-1] += letter
        if letter == "(":
            depth += 1
    raise ValueError(entry)


def _bounded(entry: str) -> str:
    """Return the pattern of an entry that does not match inside a longer word."""
    if max(map(ord, entry)) >= _FIRST_CJK:
        return entry
    first = entry.lstrip("(?:")[0]
    last = entry[-1]
    if first.isalpha():
        entry = rf"(?<![\w-]){entry}"
    if last.isalpha() or last in "?)":
        entry = rf"{entry}(?![\w-])"
    return entry


@cache
def _rows(table: str) -> list[tuple[str, str]]:
    file = Path(__file__).with_name(f"{table}.txt")
    rows: list[tuple[str, str]] = []
    for line in file.read_text(encoding="utf-8").split("\n"):
        if line and not line.startswith("#"):
            key, _, row = line.partition(": ")
            rows.append((key, row))
    return rows
