"""Counts and lists in the form in which people write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def count(number: int, singular: str, plural: str = "") -> str:
    """Return `1 fix` or `2 fixes`."""
    if number == 1:
        return f"1 {singular}"
    return f"{number:,} {plural or singular + 's'}"


def joined(names: Sequence[str]) -> str:
    """Return `1.1, 1.2 and 1.3`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def listed(names: Sequence[str], most: int) -> str:
    """Return at most `most` names: `1.1, 1.2 and 7 more`."""
    text = ", ".join(names[:most])
    if len(names) > most:
        text += f" and {len(names) - most} more"
    return text


def shortened(ids: Sequence[str]) -> list[str]:
    """Return three and more consecutive ids as `1.3 to 2.7`."""
    if len(ids) < 3:
        return [*ids]
    return [f"{ids[0]} to {ids[-1]}"]
