"""The geometry of the charts in the HTML report. The template draws them, CSS colours them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from pytest_ralph.failure.wording import headline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ralph.history.stats import KindCounts, RunCounts

WIDTH = 560.0
HEIGHT = 150.0
RUNS_SHOWN = 40
KINDS_SHOWN = 8
KIND_ROW_HEIGHT = 30.0
KIND_WIDTH = 320
# A bar thinner than this share of the meter could be neither seen nor pointed at.
THINNEST = 0.006
METER_GAP = 0.25
FEWEST_SLOTS = 12


@dataclass(frozen=True)
class Bar:
    """A rectangle: `look` is the outcome it stands for, `tip` its tooltip."""

    x: float
    y: float
    width: float
    height: float
    look: str
    tip: str = ""


def meter(counts: Mapping[str, int]) -> list[Bar]:
    """Return one bar per outcome from left to right, in per cent of the width."""
    total = sum(counts.values())
    shares = {outcome: max(count / total, THINNEST) for outcome, count in counts.items()}
    # More than 1 if thin bars were made wider.
    whole = sum(shares.values())

    bars = []
    x = 0.0
    gap = 0.0
    for outcome, share in shares.items():
        width = 100 * share / whole
        tip = f"{counts[outcome]} {outcome}"
        bars.append(Bar(x + gap, 0, width - gap, 10, outcome, tip))
        x += width
        gap = METER_GAP
    return bars


def day(seconds: float) -> str:
    """Return a time as `3 Mar 14:05`."""
    moment = datetime.fromtimestamp(seconds, timezone.utc).astimezone()
    return f"{moment.day} {moment:%b %H:%M}"


def run_bars(runs: Sequence[RunCounts]) -> list[Bar]:
    """Return one column per run, with the failures on top."""
    runs = runs[-RUNS_SHOWN:]
    tallest = max((run.total for run in runs), default=0)
    slot = WIDTH / max(len(runs), FEWEST_SLOTS)
    bars = []
    for index, run in enumerate(runs):
        bars += _column(run, index * slot, slot, HEIGHT / max(tallest, 1))
    return bars


def _column(run: RunCounts, x: float, slot: float, unit: float) -> list[Bar]:
    """Return the parts of one column, from below, which share a tooltip."""
    tip = f"{day(run.started)}: {run.passed} passed, {run.recovered} recovered, {run.failed} failed"
    from_below = {
        "passed": run.passed,
        "recovered": run.recovered,
        "failed": run.failed,
    }
    left = x + slot * 0.14
    width = slot * 0.72
    bars = []
    y = HEIGHT
    for look, count in from_below.items():
        if count:
            y -= count * unit
            height = max(count * unit - 1, 1.5)
            bars.append(Bar(left, y, width, height, look, tip))
    return bars


def line(values: Sequence[float | None]) -> list[tuple[float, float]]:
    """Return the points of a line over the runs; a run without a value (None) has no point."""
    highest = max(filter(None, values), default=1.0)
    step = WIDTH / max(len(values) - 1, 1)
    points = []
    for index, value in enumerate(values):
        if value is not None:
            # Below the upper edge, where the stroke would be cut.
            height = HEIGHT * 0.94 * value / highest
            points.append((index * step, HEIGHT - height))
    return points


@dataclass(frozen=True)
class KindBar:
    """The bar of one kind of failure; the beginning of it stands for the recovered share."""

    words: str
    failures: int
    recovered: int
    y: float
    width: float
    recovered_width: float


def kind_bars(kinds: Sequence[KindCounts]) -> list[KindBar]:
    """Return one row per kind, the most frequent first."""
    shown = sorted(kinds, key=lambda kind: (-kind.failures, kind.kind))[:KINDS_SHOWN]
    unit = KIND_WIDTH / max((kind.failures for kind in shown), default=1)
    bars = []
    for index, kind in enumerate(shown):
        bar = KindBar(
            headline(kind.kind),
            kind.failures,
            kind.recovered,
            y=index * KIND_ROW_HEIGHT,
            width=kind.failures * unit,
            recovered_width=kind.recovered * unit,
        )
        bars.append(bar)
    return bars
