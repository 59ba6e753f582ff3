"""Circular fixes: has this approach been tried already, and did the last attempt change anything at all?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.failure.similarity import is_circular, keywords, similarity

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["is_circular", "is_stuck", "keywords", "similarity"]


def is_stuck(fingerprints: Sequence[str], trees: Sequence[str]) -> bool:
    """The same error twice in a row, with no change in the working tree between.

    An empty fingerprint or tree is one that is not known (no git), and is equal to nothing.
    """
    if len(fingerprints) < 2 or len(trees) < 2:
        return False
    known = bool(fingerprints[-1] and trees[-1])
    return known and fingerprints[-1] == fingerprints[-2] and trees[-1] == trees[-2]
