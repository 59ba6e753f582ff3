"""Indicator words of the kinds: a project's own first, ours only if nothing else was read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.failure.failure import TYPES, Failure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_ralph.failure.context import FailureContext
    from pytest_ralph.failure.kinds import KindRow, Kinds


def read_project_indicators(context: FailureContext, kinds: Kinds) -> Failure | None:
    """Look for words that the project declared: it knows its tools better than we do."""
    return _first_indicated(context, kinds.added)


def read_indicators(context: FailureContext, kinds: Kinds) -> Failure | None:
    """Look for the words of the table: broken build, failed verification, exhausted context.

    Only an executor can say that a context window is full.
    """
    rows = sorted(kinds, key=lambda row: TYPES.index(row.type))
    if context.evidence.source != "executor":
        rows = [row for row in rows if row.name != "context_exhausted"]
    return _first_indicated(context, rows)


def _first_indicated(context: FailureContext, rows: Iterable[KindRow]) -> Failure | None:
    for row in rows:
        if not row.indicators:
            continue
        line = _line_with(context, row.indicators)
        if line:
            return Failure(row.name, row.type, row.category, row.retryable, error=line)
    return None


def _line_with(context: FailureContext, indicators: Iterable[str]) -> str | None:
    alternatives = "|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in indicators)
    pattern = re.compile(alternatives, re.IGNORECASE)
    for number, line in enumerate(context.output.lines):
        if number not in context.ignored and pattern.search(line):
            return line.strip()
    return None
