"""Where every mark of the report's charts lies. Geometry only: the template draws, the style sheet colours."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ralph.results import PastKind, PastRun

WIDTH = 560.0
HEIGHT = 150.0
RUNS_SHOWN = 40
KINDS_SHOWN = 8
# A bar thinner than this share of the meter could not be seen nor pointed at.
THINNEST = 0.006


@dataclass(frozen=True)
class Mark:
    """A rectangle: its look is the outcome it stands for, its tip what a pointer reads there."""

    x: float
    y: float
    width: float
    height: float
    look: str
    tip: str = ""


def meter(counts: Mapping[str, int]) -> list[Mark]:
    """One bar from left to right, in per cent of the width."""
    total = sum(counts.values()) or 1
    wanted = {outcome: max(count / total, THINNEST) for outcome, count in counts.items()}
    scale, x, marks = 100 / (sum(wanted.values()) or 1), 0.0, []
    for outcome, share in wanted.items():
        gap = 0.25 if x else 0.0
        marks.append(
            Mark(x + gap, 0, share * scale - gap, 10, outcome, f"{counts[outcome]} {outcome}")
        )
        x += share * scale
    return marks


def day(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, timezone.utc).astimezone()
    return f"{moment.day} {moment:%b %H:%M}"


def run_bars(runs: Sequence[PastRun]) -> list[Mark]:
    """One column a run, what failed at the top of it."""
    runs = runs[-RUNS_SHOWN:]
    tallest = max((run.total for run in runs), default=0) or 1
    slot = WIDTH / max(len(runs), 12)
    return [
        mark
        for at, run in enumerate(runs)
        for mark in _column(run, at * slot, slot, HEIGHT / tallest)
    ]


def _column(run: PastRun, x: float, slot: float, unit: float) -> list[Mark]:
    parts = {
        "manual": run.other,
        "passed": run.passed,
        "recovered": run.recovered,
        "failed": run.failed,
    }
    told = f"{day(run.started)}: {run.passed} passed, {run.recovered} recovered, {run.failed} failed, {run.other} other"
    y, marks = HEIGHT, []
    for look, count in parts.items():
        if count:
            y -= count * unit
            marks.append(
                Mark(x + slot * 0.14, y, slot * 0.72, max(count * unit - 1, 1.5), look, told)
            )
    return marks


def line(values: Sequence[float | None]) -> list[tuple[float, float]]:
    """The points of a line over the runs, None for a run that has no value."""
    highest = max((value for value in values if value is not None), default=0.0) or 1.0
    step = WIDTH / max(len(values) - 1, 1)
    return [
        (at * step, HEIGHT * (1 - 0.94 * v / highest))
        for at, v in enumerate(values)
        if v is not None
    ]


@dataclass(frozen=True)
class KindRow:
    kind: str
    failures: int
    recovered: int
    y: float
    width: float
    recovered_width: float


def kind_rows(kinds: Sequence[PastKind]) -> list[KindRow]:
    """One row a kind, the most frequent first; the recovered share is the beginning of its bar."""
    most = sorted(kinds, key=lambda kind: (-kind.failures, kind.kind))[:KINDS_SHOWN]
    unit = 320 / max((kind.failures for kind in most), default=1)
    return [
        KindRow(
            kind.kind,
            kind.failures,
            kind.recovered,
            at * 30.0,
            kind.failures * unit,
            kind.recovered * unit,
        )
        for at, kind in enumerate(most)
    ]
