"""Indicators: words of the table of kinds. A project's own come first, ours only where nothing else could be read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.failure import TYPES, Failure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_ralph.failure.context import Scene
    from pytest_ralph.failure.kinds import KindRow, Kinds


def read_project_words(scene: Scene, kinds: Kinds) -> Failure | None:
    """A word that the project itself declared: it knows its tools better than we do."""
    return _first(scene, kinds.added)


def read_last_words(scene: Scene, kinds: Kinds) -> Failure | None:
    """Where only the text decides: broken build, then failed verification, then exhausted context.

    That a context window is full is something only an executor can say of itself.
    """
    speaks = scene.evidence.source == "executor"
    rows = sorted(kinds, key=lambda row: TYPES.index(row.type))
    return _first(scene, (row for row in rows if speaks or row.name != "context_exhausted"))


def _first(scene: Scene, rows: Iterable[KindRow]) -> Failure | None:
    for row in rows:
        if row.indicators and (line := _line_with(scene, row.indicators)):
            return Failure(row.name, row.type, row.category, row.retryable, error=line)
    return None


def _line_with(scene: Scene, indicators: Iterable[str]) -> str | None:
    words = re.compile(
        "|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in indicators), re.IGNORECASE
    )
    told = (line for number, line in enumerate(scene.transcript.lines) if number not in scene.quiet)
    return next((line.strip() for line in told if words.search(line)), None)
