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


def fitted(text: str, width: int, ellipsis: str = "…") -> str:
    """Return `text` cut to `width` columns, with an ellipsis if anything is missing."""
    if columns(text) <= width:
        return text

    used = 0
    for index, character in enumerate(text):
        used += _columns_of(character)
        if used > width - len(ellipsis):
            return text[:index].rstrip() + ellipsis
    return text


def wrapped(text: str, width: int) -> list[str]:
    """Return lines of at most `width` columns, broken at spaces, or in words that are too long."""
    lines = []
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if columns(longer) <= width:
            line = longer
            continue
        if line:
            lines.append(line)
        *full, line = _split(word, width)
        lines += full
    lines.append(line)
    return lines


def _split(word: str, width: int) -> list[str]:
    pieces = []
    piece = ""
    for character in word:
        if piece and columns(piece + character) > width:
            pieces.append(piece)
            piece = ""
        piece += character
    pieces.append(piece)
    return pieces
