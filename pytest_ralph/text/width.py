"""Text: how wide a line is on a terminal, and cutting it to what there is room for."""

from __future__ import annotations

import unicodedata

WITHOUT_WIDTH = ("Mn", "Me", "Cf")


def columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def _columns_of(character: str) -> int:
    if unicodedata.category(character) in WITHOUT_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def fitted(text: str, width: int) -> str:
    """`text` cut to `width` columns, with a mark where something is missing."""
    if columns(text) <= width:
        return text
    used = 0
    for at, character in enumerate(text):
        used += _columns_of(character)
        if used > width - 1:
            return text[:at].rstrip() + "…"
    return text
