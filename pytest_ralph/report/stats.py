"""`--ralph-stats`: the statistics of a history as lines of text or as JSON."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

# Before a run begins there is no public way to a terminal writer.
from _pytest.config import create_terminal_writer

from pytest_ralph.failure.wording import headline, without_shell
from pytest_ralph.files import HISTORY_NAME, RALPH_DIRECTORY
from pytest_ralph.history.record import HistoryError
from pytest_ralph.history.stats import ALERT_THRESHOLD, measure, percent
from pytest_ralph.history.store import History
from pytest_ralph.report.lines import Line
from pytest_ralph.report.phrases import dollars, duration
from pytest_ralph.text.bounded import columns, cut_to_columns
from pytest_ralph.text.inert import one_line
from pytest_ralph.text.listing import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_ralph.history.stats import (
        Blocker,
        LastDay,
        Recovery,
        Score,
        Share,
        Statistics,
        Totals,
    )

# A row of a table: the cells by the heading of their column. That of the first one is empty.
Row = dict[str, str]
MOST_ROWS = 10
NARROWEST = 40
LONGEST_NAME = 200
HEADING = ("bold",)
ALERT = ("red", "bold")
NOTE = ("light",)


def print_statistics(config: pytest.Config) -> int:
    """Carry out `--ralph-stats`, and return the exit status."""
    try:
        with History(config.rootpath / RALPH_DIRECTORY / HISTORY_NAME) as history:
            statistics = measure(history, threshold=_threshold(config))
    except HistoryError as error:
        raise pytest.UsageError(str(error)) from error

    writer = create_terminal_writer(config)
    if config.getoption("ralph_stats") == "json":
        writer.line(as_json(statistics))
        return 0
    for line in statistics_lines(statistics, writer.fullwidth):
        line.write(writer)
    return 0


def _threshold(config: pytest.Config) -> int:
    """Return how many failures in 24 hours raise an alert."""
    given = str(config.getini("ralph_alert") or ALERT_THRESHOLD)
    if not given.strip().isdecimal():
        raise pytest.UsageError(f"ralph_alert: expected a whole number, 0 or more, got {given!r}")
    return int(given)


def as_json(statistics: Statistics) -> str:
    """Return the statistics as indented JSON."""
    return json.dumps(statistics.to_json(), indent=2)


def statistics_lines(statistics: Statistics, width: int = 80) -> list[Line]:
    """Return lines for a terminal of `width` columns, free of terminal control sequences."""
    if not statistics.totals.attempts and not statistics.totals.fixes:
        return [Line("ralph: no attempts are recorded yet", NOTE)]
    room = max(width - 1, NARROWEST)
    lines = _lines(statistics, room)
    return [line._replace(text=cut_to_columns(line.text, room)) for line in lines]


def _lines(statistics: Statistics, room: int) -> Iterator[Line]:
    yield from _totals(statistics.totals)
    yield from _last_day(statistics.last_day)
    yield from _list("failures by category", map(share_text, statistics.by_category))
    yield from _list("failures by kind", map(kind_text, statistics.by_kind))
    yield from _specs(statistics)
    yield from _tasks(statistics)
    yield from _executors(statistics)
    yield from _fix_rates(statistics)
    yield from _list("top blockers", (_blocker(one, room) for one in statistics.blockers))
    yield from _flaky(statistics)
    yield from _recovery(statistics.recovery)


def _totals(totals: Totals) -> Iterator[Line]:
    """Yield the title, and the sums over the whole history."""
    yield Line("ralph statistics", HEADING)
    share = percent(totals.failures, totals.attempts)
    counts = (
        count(totals.runs, "run"),
        count(totals.tasks, "task"),
        count(totals.attempts, "attempt"),
        f"{count(totals.failures, 'failure')} ({share:.1f}%)",
        count(totals.fixes, "fix", "fixes"),
        dollars(totals.cost),
    )
    yield Line(", ".join(filter(None, counts)))


def _last_day(day: LastDay) -> Iterator[Line]:
    """Yield the failures of the last 24 hours, with an alert if there are many."""
    yield from _heading("last 24 hours")
    failures = count(day.failures, "failure")
    yield Line(f"  {failures} in {count(day.attempts, 'attempt')} ({day.percent:.1f}%)")
    for share in day.by_category:
        yield Line(f"  {share_text(share)}")
    if day.alert:
        yield Line(day.alert, ALERT)


def share_text(share: Share) -> str:
    """Return a category in words with its share: `tool error: 3 (30.0%)`."""
    name = share.name or "verification failed"
    return _with_share(name.replace("_", " "), share)


def kind_text(share: Share) -> str:
    """Return a kind of failure in words with its share: `tests failed: 3 (30.0%)`."""
    return _with_share(headline(share.name or ""), share)


def _with_share(name: str, share: Share) -> str:
    return f"{_name(name)}: {share.count} ({share.percent:.1f}%)"


def _blocker(blocker: Blocker, room: int) -> str:
    """Return what failed and how often; a narrow terminal cuts only the former."""
    times = count(blocker.count, "occurrence")
    name = without_shell(_name(blocker.name))
    return f"{cut_to_columns(name, room - len(times) - len('  : '))}: {times}"


def _list(title: str, rows: Iterable[str]) -> Iterator[Line]:
    """Yield rows below a title, or nothing."""
    rows = list(rows)
    if rows:
        yield from _heading(title)
    for row in rows:
        yield Line(f"  {row}")


def _specs(statistics: Statistics) -> Iterator[Line]:
    """Yield the table of specs, in which each task counts once however often it ran."""
    tasks = statistics.by_task
    recovered = Counter(task.spec for task in tasks if task.recovered)
    failed = Counter(task.spec for task in tasks if task.unrecovered)
    rows = []
    for score in statistics.by_spec:
        spec = score.spec
        rows.append(_score(score, "tasks", recovered[spec], failed[spec]))
    return _table("specs", rows)


def _tasks(statistics: Statistics) -> Iterator[Line]:
    scores = [score for score in statistics.by_task if score.failures]
    rows = [_score(one, "runs", one.recovered, one.unrecovered) for one in scores]
    return _table("tasks that failed most", rows)


def _score(score: Score, what: str, recovered: int, failed: int) -> Row:
    """Return the row of a task or a spec, with how many runs or tasks were recovered or failed."""
    return {
        "": _name(f"{score.task} {score.spec}"),
        "attempts": str(score.attempts),
        "failures": str(score.failures),
        f"{what} recovered": str(recovered),
        f"{what} failed": str(failed),
        "mean time": _time(score.mean_duration),
        "cost": dollars(score.cost),
    }


def _executors(statistics: Statistics) -> Iterator[Line]:
    rows = []
    for score in statistics.by_executor:
        row = {
            "": _name(score.executor),
            "runs": str(score.runs),
            "succeeded": str(score.succeeded),
            "rate": f"{score.rate:.1%}",
            "mean time": _time(score.mean_duration),
            "cost": dollars(score.cost),
        }
        rows.append(row)
    return _table("executors", rows)


def _fix_rates(statistics: Statistics) -> Iterator[Line]:
    rows = []
    for rate in statistics.fix_rates:
        name = headline(rate.kind)
        if rate.executor:
            name += f" by {rate.executor}"
        row = {
            "": _name(name),
            "tried": str(rate.tried),
            "worked": str(rate.worked),
            "rate": f"{rate.rate:.1%}",
        }
        rows.append(row)
    return _table("fixes by kind and executor", rows)


def _flaky(statistics: Statistics) -> Iterator[Line]:
    rows = []
    for task in statistics.flaky:
        row = {
            "": _name(f"{task.task} {task.spec}"),
            "flips": str(task.flips),
            "verifications": str(task.verifications),
        }
        rows.append(row)
    return _table("flaky tasks (passed and failed, nothing changed)", rows)


def _recovery(recovery: Recovery) -> Iterator[Line]:
    """Yield how many failed tasks were recovered, and how fast."""
    if not recovery.failed_tasks:
        return
    yield from _heading("recovery")
    failed = count(recovery.failed_tasks, "failed task")
    share = percent(recovery.tasks, recovery.failed_tasks)
    yield Line(f"  {recovery.tasks} of {failed} recovered ({share:.1f}%)")
    if recovery.mean_attempts is not None and recovery.mean_seconds is not None:
        mean_time = _time(recovery.mean_seconds)
        yield Line(f"  on average after {recovery.mean_attempts:.1f} attempts and {mean_time}")


def _heading(title: str) -> Iterator[Line]:
    yield Line()
    yield Line(title, HEADING)


def _table(title: str, rows: Sequence[Row]) -> Iterator[Line]:
    """Yield a table with the numbers first, so that a narrow terminal cuts only the names.

    A column without any value, such as costs that nobody reported, is left out.
    """
    if not rows:
        return
    yield from _heading(title)

    shown_rows = [row.values() for row in rows[:MOST_ROWS]]
    names, *numbers = zip(rows[0], *shown_rows, strict=True)
    shown = []
    for column in numbers:
        if any(column[1:]):
            width = max(map(columns, column))
            shown.append([cell.rjust(width) for cell in column])

    heading, *lines = zip(*shown, names, strict=True)
    yield _row(heading, NOTE)
    for cells in lines:
        yield _row(cells)
    if len(rows) > MOST_ROWS:
        yield Line(f"  and {len(rows) - MOST_ROWS} more: --ralph-stats=json has them all", NOTE)


def _row(cells: Sequence[str], markup: tuple[str, ...] = ()) -> Line:
    return Line(f"  {'  '.join(cells)}".rstrip(), markup)


def _name(text: str) -> str:
    return one_line(text.strip(), LONGEST_NAME)


def _time(seconds: float) -> str:
    return " ".join(duration(seconds))
