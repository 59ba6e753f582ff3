"""Statistics of a history: what fails, how often, and what helps. SQLite does the counting."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pytest_ralph.history.schema import materialize

if TYPE_CHECKING:
    from pytest_ralph.history.store import History

SCHEMA = 1
DAY = 86_400.0
ALERT_THRESHOLD = 20
TOP_BLOCKERS = 10
RUNS_KEPT = 40
BINS = 5.0
MIN_CASES = 5
INFINITY = float("inf")


@dataclass(frozen=True)
class Share:
    """How many of all failures have this kind or category."""

    name: str | None
    count: int
    percent: float


@dataclass(frozen=True)
class Score:
    """A task, or a whole spec if `task` is empty.

    `recovered` and `unrecovered` count the runs in which it failed at first.
    """

    spec: str
    task: str
    attempts: int
    failures: int
    recovered: int
    unrecovered: int
    mean_duration: float
    cost: float | None = None


@dataclass(frozen=True)
class ExecutorScore:
    """How often an executor ran, and how often the task passed afterwards."""

    executor: str
    runs: int
    succeeded: int
    rate: float
    mean_duration: float
    cost: float | None = None


@dataclass(frozen=True)
class FixRate:
    """How often a fix of this kind of failure by this executor made the task pass."""

    kind: str
    executor: str
    tried: int
    worked: int
    rate: float


@dataclass(frozen=True)
class Blocker:
    """What failures named as their reason, or else their error."""

    name: str
    count: int


@dataclass(frozen=True)
class Flaky:
    """A task that changed between passing and failing `flips` times with nothing changed."""

    spec: str
    task: str
    flips: int
    verifications: int


@dataclass(frozen=True)
class Recovery:
    """Tasks that ever failed, each counted once.

    `tasks` passed again in the last run in which they had failed. The means are over all runs:
    verifications and seconds from the first failure to the pass.
    """

    tasks: int
    failed_tasks: int
    mean_attempts: float | None
    mean_seconds: float | None


@dataclass(frozen=True)
class Bin:
    """The predictions between `low` and `high`: their mean, and the share that came true."""

    low: float
    high: float
    cases: int
    predicted: float
    observed: float


@dataclass(frozen=True)
class Calibration:
    """How good the predictions were.

    A Brier score of 0 is perfect, and tossing a coin gets 0.25. It is None below five cases.
    """

    cases: int
    brier: float | None
    bins: tuple[Bin, ...]


@dataclass(frozen=True)
class LastDay:
    """The last 24 hours, with an alert if there were more failures than `threshold`."""

    attempts: int
    failures: int
    percent: float
    threshold: int
    by_category: tuple[Share, ...]

    @property
    def alert(self) -> str | None:
        if self.failures <= self.threshold:
            return None
        return f"High delegation failure rate: {self.failures} failures in 24h"


@dataclass(frozen=True)
class RunCounts:
    """One run: how many of its tasks ended in which way."""

    run: str
    started: float
    duration: float
    passed: int
    recovered: int
    failed: int

    @property
    def total(self) -> int:
        return self.passed + self.recovered + self.failed

    @property
    def recovery_rate(self) -> float | None:
        """The share of the tasks that failed first and passed in the end; None if none failed."""
        tried = self.recovered + self.failed
        return self.recovered / tried if tried else None


@dataclass(frozen=True)
class KindCounts:
    """How often a kind of failure occurred, and how often the task recovered from it."""

    kind: str
    failures: int
    recovered: int


@dataclass(frozen=True)
class Totals:
    """Everything that was ever recorded."""

    runs: int
    tasks: int
    attempts: int
    failures: int
    fixes: int
    cost: float | None = None
    tokens: int | None = None


@dataclass(frozen=True)
class Statistics:
    """All statistics of a history at one moment."""

    generated: float
    totals: Totals
    last_day: LastDay
    by_category: tuple[Share, ...]
    by_kind: tuple[Share, ...]
    by_spec: tuple[Score, ...]
    by_task: tuple[Score, ...]
    by_executor: tuple[ExecutorScore, ...]
    fix_rates: tuple[FixRate, ...]
    blockers: tuple[Blocker, ...]
    flaky: tuple[Flaky, ...]
    recovery: Recovery
    calibration: Calibration
    runs: tuple[RunCounts, ...]
    kinds: tuple[KindCounts, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; `schema` grows when a key changes its meaning or is removed."""
        plain = asdict(self)
        plain["last_day"]["alert"] = self.last_day.alert
        return {"schema": SCHEMA, **plain}


def measure(
    history: History, *, now: float | None = None, threshold: int = ALERT_THRESHOLD
) -> Statistics:
    """Compute all statistics from one snapshot of the history."""
    if now is None:
        now = time.time()
    with history.snapshot():
        materialize(history, "trouble")
        materialize(history, "remedy")
        materialize(history, "score")
        return Statistics(
            generated=now,
            totals=_totals(history),
            last_day=_last_day(history, now, threshold),
            by_category=_failures_by(history, "category"),
            by_kind=_failures_by(history, "kind"),
            by_spec=_by_spec(history),
            by_task=_by_task(history),
            by_executor=_by_executor(history),
            fix_rates=_fix_rates(history),
            blockers=_blockers(history),
            flaky=_flaky(history),
            recovery=_recovery(history),
            calibration=_calibration(history),
            runs=_runs(history),
            kinds=_kinds(history),
        )


def _totals(history: History) -> Totals:
    rows = history.query(
        """SELECT COUNT(DISTINCT run),
                  (SELECT COUNT(*) FROM (SELECT DISTINCT spec, task FROM attempts)),
                  COUNT(*), IFNULL(SUM(bad), 0), (SELECT COUNT(*) FROM remedy),
                  (SELECT SUM(cost) FROM attempts), (SELECT SUM(tokens) FROM attempts)
           FROM observation"""
    )
    return Totals(*rows[0]) if rows else Totals(0, 0, 0, 0, 0)


def _failures_by(
    history: History, column: str, since: float = -INFINITY, until: float = INFINITY
) -> tuple[Share, ...]:
    rows = history.query(
        """SELECT NULLIF(CASE :column WHEN 'kind' THEN kind ELSE category END, '') AS name, COUNT(*)
           FROM observation WHERE bad AND time > :since AND time < :until
           GROUP BY name ORDER BY COUNT(*) DESC, name""",
        {"column": column, "since": since, "until": until},
    )
    total = sum(count for _, count in rows)
    return tuple(Share(name, count, percent(count, total)) for name, count in rows)


def percent(part: float, whole: float) -> float:
    """Return what percentage `part` is of `whole`, 0 if there is nothing."""
    return 100 * part / whole if whole else 0.0


def _last_day(history: History, now: float, threshold: int) -> LastDay:
    # On both sides of now: setting the clock back must not hide today's failures.
    since = now - DAY
    until = now + DAY
    shares = _failures_by(history, "category", since, until)
    rows = history.query(
        "SELECT COUNT(*) FROM observation WHERE time > ? AND time < ?", (since, until)
    )
    attempts = rows[0][0] if rows else 0
    failures = sum(share.count for share in shares)
    return LastDay(attempts, failures, percent(failures, attempts), threshold, shares)


def _by_task(history: History) -> tuple[Score, ...]:
    rows = history.query("SELECT * FROM score ORDER BY failures DESC, attempts DESC, spec, task")
    return tuple(Score(*row) for row in rows)


def _by_spec(history: History) -> tuple[Score, ...]:
    rows = history.query(
        """SELECT spec, '', SUM(attempts), SUM(failures), SUM(recovered), SUM(unrecovered),
                  SUM(mean * attempts) / SUM(attempts), SUM(cost)
           FROM score GROUP BY spec ORDER BY SUM(failures) DESC, SUM(attempts) DESC, spec"""
    )
    return tuple(Score(*row) for row in rows)


def _by_executor(history: History) -> tuple[ExecutorScore, ...]:
    rows = history.query(
        """SELECT executor, COUNT(*), IFNULL(SUM(worked), 0), IFNULL(AVG(worked), 0.0),
                  AVG(duration), SUM(cost)
           FROM (SELECT executor, duration, worked, cost FROM remedy UNION ALL
                 -- A failed fix is counted as a remedy already.
                 SELECT executor, duration, NOT bad, cost FROM observation
                 WHERE what = 'execute' AND fix = '')
           WHERE executor <> '' GROUP BY executor ORDER BY COUNT(*) DESC, executor"""
    )
    return tuple(ExecutorScore(*row) for row in rows)


def _fix_rates(history: History) -> tuple[FixRate, ...]:
    rows = history.query(
        """SELECT kind, executor, COUNT(*), SUM(worked), AVG(worked) FROM remedy
           WHERE worked IS NOT NULL GROUP BY kind, executor
           ORDER BY COUNT(*) DESC, kind, executor"""
    )
    return tuple(FixRate(*row) for row in rows)


def _blockers(history: History) -> tuple[Blocker, ...]:
    """Count failures by the blocker they name, else by their error, whatever its line numbers."""
    rows = history.query(
        """SELECT COALESCE(NULLIF(blocker, ''), error) AS name, COUNT(*), MAX(id)
           FROM observation WHERE bad
           GROUP BY COALESCE(NULLIF(blocker, ''), NULLIF(fingerprint, ''), error) HAVING name <> ''
           ORDER BY COUNT(*) DESC, name LIMIT ?""",
        (TOP_BLOCKERS,),
    )
    return tuple(Blocker(name, count) for name, count, _ in rows)


def _flaky(history: History) -> tuple[Flaky, ...]:
    """Leave out failures that are repaired outside the tree, and time limits that were raised."""
    rows = history.query(
        """SELECT spec, task, COUNT(*) AS flips,
                  (SELECT COUNT(*) FROM attempts
                   WHERE attempts.spec = flip.spec AND attempts.task = flip.task
                     AND what = 'verify')
           FROM flip
           WHERE kind NOT IN ('dependency_missing', 'command_not_found', 'permission_denied')
             AND NOT (kind = 'timeout' AND new_limit)
           GROUP BY spec, task ORDER BY flips DESC, spec, task"""
    )
    return tuple(Flaky(*row) for row in rows)


def _recovery(history: History) -> Recovery:
    # Durations come from a monotonic clock, times do not: the longer of the two is right.
    rows = history.query(
        """SELECT AVG(tries), AVG(MAX(clock, worked))
           FROM (SELECT SUM(later.what = 'verify') AS tries, SUM(later.duration) AS worked,
                        ended - first.time AS clock
                 FROM trouble AS t CROSS JOIN attempts AS first ON first.id = first_bad
                 CROSS JOIN attempts AS later
                     ON later.spec = t.spec AND later.task = t.task AND later.run = t.run
                     AND later.id > first_bad AND later.id <= last
                 WHERE good GROUP BY last)"""
    )
    attempts, seconds = rows[0] if rows else (None, None)

    # SQLite takes the bare column `good` from the row with the maximum.
    rows = history.query(
        """SELECT IFNULL(SUM(good), 0), COUNT(*)
           FROM (SELECT good, MAX(last) FROM trouble GROUP BY spec, task)"""
    )
    recovered, failed = rows[0] if rows else (0, 0)
    return Recovery(recovered, failed, attempts, seconds)


def _calibration(history: History) -> Calibration:
    bins = history.query(
        """SELECT bin / :bins, (bin + 1) / :bins, COUNT(*), AVG(prediction), AVG(came_true)
           FROM (SELECT *, MIN(CAST(prediction * :bins AS INTEGER), :bins - 1) AS bin
                 FROM prediction)
           GROUP BY bin ORDER BY bin""",
        {"bins": BINS},
    )

    rows = history.query(
        "SELECT COUNT(*), AVG((prediction - came_true) * (prediction - came_true)) FROM prediction"
    )
    cases, brier = rows[0] if rows else (0, None)
    if cases < MIN_CASES:
        brier = None
    return Calibration(cases, brier, tuple(Bin(*row) for row in bins))


def _runs(history: History) -> tuple[RunCounts, ...]:
    """Return the latest runs, oldest first."""
    rows = history.query(
        """WITH latest AS (
               SELECT run, MAX(id) AS at FROM attempts WHERE what = 'verify'
               GROUP BY run ORDER BY at DESC LIMIT ?
           ), ended AS (
               SELECT run, SUM(good) AS recovered, SUM(NOT good) AS failed FROM trouble GROUP BY run
           ), counted AS (
               SELECT run, at, MIN(time - duration) AS started, MAX(time) AS ended,
                      COUNT(DISTINCT spec || char(10) || task) AS tasks
               FROM latest CROSS JOIN attempts USING (run) WHERE what = 'verify' GROUP BY run
           )
           SELECT run, started, ended - started, tasks - IFNULL(recovered + failed, 0),
                  IFNULL(recovered, 0), IFNULL(failed, 0)
           FROM counted LEFT JOIN ended USING (run) ORDER BY at""",
        (RUNS_KEPT,),
    )
    return tuple(RunCounts(*row) for row in rows)


def _kinds(history: History) -> tuple[KindCounts, ...]:
    """Count failures by kind; those count as recovered whose task passed later in that run."""
    rows = history.query(
        """SELECT kind, COUNT(*), IFNULL(SUM(good), 0)
           FROM observation LEFT JOIN trouble USING (run, spec, task)
           WHERE bad AND kind <> '' GROUP BY kind ORDER BY COUNT(*) DESC, kind"""
    )
    return tuple(KindCounts(*row) for row in rows)
