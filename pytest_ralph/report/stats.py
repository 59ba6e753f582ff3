"""`--ralph-stats`: the Statistics of a history as lines of text or as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_ralph.files import HISTORY_NAME, RALPH_DIRECTORY
from pytest_ralph.history.record import HistoryError
from pytest_ralph.history.stats import ALERT_THRESHOLD, measure, percent
from pytest_ralph.history.store import History
from pytest_ralph.text.inert import one_line
from pytest_ralph.text.width import columns, fitted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pytest

    from pytest_ralph.history.stats import (
        Calibration,
        LastDay,
        Recovery,
        Score,
        Share,
        Statistics,
        Totals,
    )

Role = Literal["title", "head", "text", "alert", "note"]
MOST_ROWS = 10
NARROWEST = 40
LONGEST_NAME = 200
MARKUP: dict[Role, dict[str, bool]] = {
    "title": {"bold": True},
    "head": {"bold": True},
    "alert": {"red": True, "bold": True},
    "note": {"light": True},
    "text": {},
}


@dataclass(frozen=True)
class Line:
    """A line of plain text, and what it is: how it looks is for the writer to say."""

    text: str
    role: Role = "text"


def print_statistics(config: pytest.Config) -> int:
    """Write them to the terminal, whole and at once, where `--ralph-stats` was given."""
    import pytest
    from _pytest.config import (
        create_terminal_writer,
    )  # before a run begins, a config has no public way to a writer

    try:
        with History.open(config.rootpath / RALPH_DIRECTORY / HISTORY_NAME) as history:
            found = measure(history, threshold=_threshold(config))
    except HistoryError as error:
        raise pytest.UsageError(str(error)) from error
    writer = create_terminal_writer(config)
    if config.getoption("ralph_stats") == "json":
        writer.line(as_json(found))
        return 0
    for line in statistics_lines(found, writer.fullwidth):
        writer.line(line.text, **MARKUP[line.role])
    return 0


def _threshold(config: pytest.Config) -> int:
    import pytest

    given = str(config.getini("ralph_alert") or ALERT_THRESHOLD)
    if not given.strip().isdecimal():
        raise pytest.UsageError(f"ralph_alert: expected a whole number, 0 or more, got {given!r}")
    return int(given)


def as_json(found: Statistics) -> str:
    return json.dumps(found.to_json(), indent=2)


def statistics_lines(found: Statistics, width: int = 80) -> list[Line]:
    """No line wider than `width` (nor narrower than can be read), no character that a terminal would obey."""
    if not found.totals.attempts and not found.totals.fixes:
        return [Line("ralph: no attempts are recorded yet", "note")]
    lines = [line for section in _sections(found) for line in section]
    return [Line(fitted(line.text, max(width - 1, NARROWEST)), line.role) for line in lines]


def _sections(found: Statistics) -> Iterator[Iterator[Line]]:
    yield _totals(found.totals)
    yield _last_day(found.last_day)
    yield _shares("failures by category", found.by_category)
    yield _shares("failures by kind", found.by_kind)
    yield _scores("specs", found.by_spec)
    yield _scores("tasks that failed most", [score for score in found.by_task if score.failures])
    yield _executors(found)
    yield _fix_rates(found)
    yield _list(
        "top blockers",
        [f"{_name(blocker.name)}: {blocker.count} occurrences" for blocker in found.blockers],
    )
    yield _flaky(found)
    yield _recovery(found.recovery)
    yield _calibration(found.calibration)


def _totals(totals: Totals) -> Iterator[Line]:
    yield Line("ralph statistics", "title")
    rate = percent(totals.failures, totals.attempts)
    counts = (
        _count(totals.runs, "run"),
        _count(totals.tasks, "task"),
        _count(totals.attempts, "attempt"),
    )
    yield Line(
        f"{', '.join(counts)}, {_count(totals.failures, 'failure')} ({rate:.1f}%), {_many_fixes(totals.fixes)}"
    )


def _many_fixes(count: int) -> str:
    return "1 fix" if count == 1 else f"{count} fixes"


def _last_day(day: LastDay) -> Iterator[Line]:
    yield from _head("last 24 hours")
    yield Line(
        f"  {_count(day.failures, 'failure')} in {_count(day.attempts, 'attempt')} ({day.percent:.1f}%)"
    )
    yield from (Line(f"  {share_text(share)}") for share in day.by_category)
    if day.alert:
        yield Line(day.alert, "alert")


def share_text(share: Share) -> str:
    return f"{_name(share.name or 'none')}: {share.count} ({share.percent:.1f}%)"


def _shares(title: str, shares: Sequence[Share]) -> Iterator[Line]:
    return _list(title, [share_text(share) for share in shares])


def _list(title: str, rows: Sequence[str]) -> Iterator[Line]:
    if rows:
        yield from _head(title)
        yield from (Line(f"  {row}") for row in rows)


def _scores(title: str, scores: Sequence[Score]) -> Iterator[Line]:
    header = ("", "attempts", "failures", "recovered", "unrecovered", "mean time")
    rows = [
        (
            _name(f"{score.task} {score.spec}"),
            str(score.attempts),
            str(score.failures),
            str(score.recovered),
            str(score.unrecovered),
            seconds(score.mean_duration),
        )
        for score in scores
    ]
    return _table(title, header, rows)


def _executors(found: Statistics) -> Iterator[Line]:
    rows = [
        (
            _name(e.executor),
            str(e.runs),
            str(e.succeeded),
            f"{e.rate:.1%}",
            seconds(e.mean_duration),
        )
        for e in found.by_executor
    ]
    return _table("executors", ("", "runs", "succeeded", "rate", "mean time"), rows)


def _fix_rates(found: Statistics) -> Iterator[Line]:
    rows = [
        (
            _name(f"{rate.kind} by {rate.executor or 'nobody'}"),
            str(rate.tried),
            str(rate.worked),
            f"{rate.rate:.1%}",
        )
        for rate in found.fix_rates
    ]
    return _table("fixes by kind and executor", ("", "tried", "worked", "rate"), rows)


def _flaky(found: Statistics) -> Iterator[Line]:
    rows = [
        (_name(f"{task.task} {task.spec}"), str(task.flips), str(task.verifications))
        for task in found.flaky
    ]
    return _table(
        "flaky tasks (passed and failed, nothing changed)", ("", "flips", "verifications"), rows
    )


def _recovery(recovery: Recovery) -> Iterator[Line]:
    if not recovery.failed_tasks:
        return
    yield from _head("recovery")
    share = percent(recovery.tasks, recovery.failed_tasks)
    yield Line(
        f"  {recovery.tasks} of {_count(recovery.failed_tasks, 'failed task')} recovered ({share:.1f}%)"
    )
    if recovery.mean_attempts is not None and recovery.mean_seconds is not None:
        yield Line(
            f"  mean: {recovery.mean_attempts:.1f} attempts, {seconds(recovery.mean_seconds)}"
        )


def _calibration(calibration: Calibration) -> Iterator[Line]:
    if not calibration.cases:
        return
    yield from _head("predictions of fixes")
    if calibration.brier is None:
        yield Line(f"  {calibration.cases} so far: too few to score", "note")
        return
    yield Line(
        f"  Brier score {calibration.brier:.3f} of {calibration.cases} (0 is perfect, 0.25 a coin)"
    )
    for bin_ in calibration.bins:
        foretold = f"foretold {bin_.predicted:4.0%}, came true {bin_.observed:4.0%}"
        yield Line(f"  {bin_.low:4.0%} to {bin_.high:4.0%}: {foretold} ({bin_.cases})")


def _head(title: str) -> Iterator[Line]:
    yield Line("")
    yield Line(title, "head")


def _table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[Line]:
    """Numbers first, so that a narrow terminal cuts names only."""
    if not rows:
        return
    yield from _head(title)
    shown = [header, *rows[:MOST_ROWS]]
    widths = [max(columns(row[at]) for row in shown) for at in range(1, len(header))]
    for row in shown:
        numbers = "  ".join(f"{cell:>{width}}" for cell, width in zip(row[1:], widths, strict=True))
        yield Line(f"  {numbers}  {row[0]}".rstrip(), "note" if row is header else "text")
    if len(rows) > MOST_ROWS:
        yield Line(f"  and {len(rows) - MOST_ROWS} more: --ralph-stats=json has them all", "note")


def _name(text: str) -> str:
    return one_line(text.strip(), LONGEST_NAME)


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def seconds(duration: float) -> str:
    if duration >= 120:
        return f"{duration / 60:.0f} min"
    return f"{duration:.1f} s" if duration < 10 else f"{duration:.0f} s"
