"""How much two descriptions of an attempt have in common."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

STOP_WORDS = frozenset("with using the a an and or but in on at to for trying".split())
SIMILAR = 0.3
RECENT_ATTEMPTS = 3
SIMILAR_ATTEMPTS = 2


def is_circular(approach: str, previous: Sequence[str]) -> bool:
    """Return whether at least two of the last three attempts are similar to this approach."""
    similar = 0
    for attempt in previous[-RECENT_ATTEMPTS:]:
        if similarity(approach, attempt) > SIMILAR:
            similar += 1
    return similar >= SIMILAR_ATTEMPTS


def similarity(one: str, other: str) -> float:
    """Return the share of keywords that two approaches have in common (Jaccard index)."""
    left = keywords(one)
    right = keywords(other)
    if not left or not right:
        return 0.0
    return len(left & right) / len(left | right)


def keywords(approach: str) -> frozenset[str]:
    """Return the words of an approach; punctuation splits words, as in `async/await`."""
    return frozenset(re.findall(r"[^\W_]+", approach.lower())) - STOP_WORDS
