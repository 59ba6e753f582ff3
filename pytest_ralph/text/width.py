"""Measure and cut text in terminal columns, where wide characters take two."""

from __future__ import annotations

import unicodedata

ZERO_WIDTH_CATEGORIES = ("Mn", "Me", "Cf")


def columns(text: str) -> int:
    """Return how many terminal columns `text` takes."""
    if text.isascii():
        return len(text)
    return sum(map(_columns_of, text))


def _columns_of(character: str) -> int:
    if unicodedata.category(character) in ZERO_WIDTH_CATEGORIES:
        return 0
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    return 1


def fitted(text: str, width: int) -> str:
    """Return `text` cut to `width` columns, with an ellipsis if anything is missing."""
    if columns(text) <= width:
        return text

    used = 0
    for index, character in enumerate(text):
        used += _columns_of(character)
        if used > width - 1:
            return text[:index].rstrip() + "…"
    return text
