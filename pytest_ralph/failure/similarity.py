"""Approach: how much two descriptions of an attempt have in common."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

STOP_WORDS = frozenset("with using the a an and or but in on at to for trying".split())
SIMILAR = 0.3
RECENT = 3
ENOUGH = 2


def is_circular(approach: str, previous: Sequence[str]) -> bool:
    """Do two or more of the last three attempts share much of this approach's words?"""
    similar = [old for old in previous[-RECENT:] if similarity(approach, old) > SIMILAR]
    return len(similar) >= ENOUGH


def similarity(one: str, other: str) -> float:
    """Jaccard: the share of keywords two approaches have in common."""
    left, right = keywords(one), keywords(other)
    return len(left & right) / len(left | right) if left and right else 0.0


def keywords(approach: str) -> frozenset[str]:
    """Punctuation splits words, so that `async/await` is `async await`."""
    return frozenset(re.findall(r"[^\W_]+", approach.lower())) - STOP_WORDS
