"""What a History teaches: time limits, chances, remedies that helped. Plain statistics, honest about few data.

Nothing is claimed under five cases. That an error was fixed before is a fact, and told from the first case on.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from pytest_ralph.history.stats import MIN_CASES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ralph.history.store import History

DURATIONS = 50
LIMIT_FACTOR = 3.0
SHORTEST_LIMIT = 10.0
RECENT_RUNS = 10
LIKELY = 0.5
CANDIDATES = 500
SIMILAR = 0.6
FEWEST_WORDS = 3
APPROACHES = 2
# 95 per cent of a normal distribution lie within so many standard deviations.
Z = 1.959964


@dataclass(frozen=True)
class TimeLimit:
    """A limit that this task's past passes would have kept with ease."""

    seconds: float
    p95: float
    longest: float
    cases: int


@dataclass(frozen=True)
class Chance:
    """How probable something is after `cases` of which `hits` came out so, with the 95% interval (Wilson)."""

    hits: int
    cases: int
    basis: str = ""

    @property
    def probability(self) -> float:
        """Laplace's rule of succession: five of five is no certainty."""
        return (self.hits + 1) / (self.cases + 2)

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.hits, self.cases)

    def __str__(self) -> str:
        low, high = self.interval
        basis = f" {self.basis}" if self.basis else ""
        return f"{self.probability:.0%} ({self.hits} of {self.cases}{basis}, 95% interval {low:.0%} to {high:.0%})"


@dataclass(frozen=True)
class PastFix:
    """A remedy that made a task pass after the `same` error, or after one much like it."""

    executor: str
    approach: str
    spec: str
    task: str
    fix: str
    commit: str
    error: str
    time: float
    same: bool = True
    similarity: float = 1.0
    times: int = 1

    def __str__(self) -> str:
        what = "this error was" if self.same else f'an error like it ("{self.error}") was'
        where = f" ({self.spec} {self.fix or self.task})"
        how = f": {self.approach}" if self.approach else ""
        often = f", {self.times} times" if self.times > 1 else ""
        commit = f", commit {self.commit[:12]}" if self.commit else ""
        return (
            f"{what} fixed before by {self.executor or 'trying again'}{where}{often}{commit}{how}"
        )


@dataclass(frozen=True)
class Risk:
    """A task that is more likely to fail than to pass at the start of a run, and the kind it mostly fails with."""

    spec: str
    task: str
    chance: Chance
    kind: str


@dataclass(frozen=True)
class Strategy:
    """Somebody or something that was tried on a kind of failure."""

    name: str
    chance: Chance


def time_limit(
    history: History, spec: str, task: str, *, shortest: float = SHORTEST_LIMIT
) -> TimeLimit | None:
    """From the task's latest passes: three times what 95% of them took, twice what the longest took."""
    rows = history.query(
        """SELECT duration FROM attempts WHERE spec = ? AND task = ? AND what = 'verify'
           AND outcome IN ('passed', 'recovered') ORDER BY id DESC LIMIT ?""",
        (spec, task, DURATIONS),
    )
    if len(rows) < MIN_CASES:
        return None
    durations = sorted(duration for (duration,) in rows)
    p95, longest = durations[math.ceil(0.95 * len(durations)) - 1], durations[-1]
    seconds = math.ceil(max(shortest, LIMIT_FACTOR * p95, 2 * longest))
    return TimeLimit(float(seconds), p95, longest, len(durations))


def wilson(hits: int, cases: int) -> tuple[float, float]:
    """Bounds of a proportion that stay sensible for few cases and for none or all of them."""
    share, spread = hits / cases, Z * Z / cases
    middle = (share + spread / 2) / (1 + spread)
    half = Z / (1 + spread) * math.sqrt(share * (1 - share) / cases + spread / (4 * cases))
    return max(0.0, middle - half), min(1.0, middle + half)


def chance_of_fix(history: History, kind: str, executor: str = "") -> Chance | None:
    """By this executor if it has tried often enough, else by anybody, else None."""
    tally = {name: (hits, cases) for name, hits, cases in _tally(history, kind, "executor")}
    mine = tally.get(executor, (0, 0))
    everybody = (sum(hits for hits, _ in tally.values()), sum(cases for _, cases in tally.values()))
    for (hits, cases), whose in ((mine, f" by {executor}"), (everybody, "")):
        if cases >= MIN_CASES:
            return Chance(hits, cases, f"fixes of {kind}{whose}")
    return None


def strategies(
    history: History, kind: str, by: Literal["executor", "approach"] = "executor"
) -> tuple[Strategy, ...]:
    """What was tried at least five times on this kind, best first."""
    known = [
        Strategy(name, Chance(hits, cases))
        for name, hits, cases in _tally(history, kind, by)
        if cases >= MIN_CASES
    ]
    return tuple(sorted(known, key=lambda strategy: (-strategy.chance.probability, strategy.name)))


def best_first(
    history: History,
    kind: str,
    names: Sequence[str],
    by: Literal["executor", "approach"] = "executor",
) -> tuple[str, ...]:
    """`names` in the order of what worked before; one with too few cases counts as even, and keeps its place there."""
    known = {
        strategy.name: strategy.chance.probability for strategy in strategies(history, kind, by)
    }
    return tuple(sorted(names, key=lambda name: -known.get(name, 0.5)))


def _tally(history: History, kind: str, by: str) -> list[tuple[Any, ...]]:
    """(name, hits, cases) of the latest remedies tried on a kind."""
    return history.query(
        """SELECT CASE :by WHEN 'approach' THEN approach ELSE executor END AS name, SUM(worked), COUNT(*)
           FROM (SELECT approach, executor, worked FROM remedy
                 WHERE kind = :kind AND what <> 'retry' ORDER BY id DESC LIMIT :latest)
           WHERE worked IS NOT NULL GROUP BY name ORDER BY name""",
        {"by": by, "kind": kind, "latest": CANDIDATES},
    )


def likely_to_fail(history: History, spec: str | None = None) -> tuple[Risk, ...]:
    """By how each task fared first thing in its latest ten runs; most likely first."""
    rows = history.query(
        """WITH beginning AS (
               SELECT MIN(id) AS id FROM attempts WHERE what = 'verify' AND (:spec IS NULL OR spec = :spec)
               GROUP BY run, spec, task
           ), recent AS (
               SELECT spec, task, bad, kind, ROW_NUMBER() OVER (PARTITION BY spec, task ORDER BY id DESC) AS age
               FROM beginning JOIN observation USING (id)
           )
           SELECT spec, task, bad, kind, COUNT(*) FROM recent WHERE age <= :runs GROUP BY spec, task, bad, kind""",
        {"spec": spec, "runs": RECENT_RUNS},
    )
    fared: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
    for row in rows:
        fared.setdefault(row[:2], []).append(row[2:])
    risks = (_risk(*task, counts) for task, counts in fared.items())
    likely = (
        risk
        for risk in risks
        if risk.chance.cases >= MIN_CASES and risk.chance.probability > LIKELY
    )
    return tuple(sorted(likely, key=lambda risk: (-risk.chance.probability, risk.spec, risk.task)))


def _risk(spec: str, task: str, counts: Iterable[tuple[Any, ...]]) -> Risk:
    kinds, cases = Counter[str](), 0
    for bad, kind, count in counts:
        cases += count
        if bad:
            kinds[kind] += count
    worst = max(sorted(kinds), key=lambda kind: kinds[kind], default="")
    return Risk(spec, task, Chance(sum(kinds.values()), cases, "runs"), worst)


def fixed_before(
    history: History, error: str, *, fingerprint: str, kind: str, limit: int = 3
) -> tuple[PastFix, ...]:
    """What made the task pass after an equal error; where there was none, after the errors of its kind most like it."""
    equal = _worked(history, fingerprint=fingerprint) if fingerprint else []
    return tuple(_together(equal or _alike(_worked(history, kind=kind), error)))[:limit]


def hints(history: History, error: str, *, fingerprint: str, kind: str) -> tuple[str, ...]:
    """What the history has to say to somebody about to fix this error, a line each."""
    known = [str(fix) for fix in fixed_before(history, error, fingerprint=fingerprint, kind=kind)]
    good = [
        s
        for s in strategies(history, kind, by="approach")
        if s.name and s.chance.probability > LIKELY
    ]
    return (
        *known,
        *(
            f"worked before on {kind}: {strategy.name}, {strategy.chance}"
            for strategy in good[:APPROACHES]
        ),
    )


def _worked(history: History, *, fingerprint: str = "", kind: str = "") -> list[PastFix]:
    """Latest first."""
    rows = history.query(
        """SELECT executor, approach, spec, task, fix, "commit", error, time FROM remedy
           WHERE fingerprint = :fingerprint AND worked ORDER BY id DESC LIMIT :latest"""
        if fingerprint
        else """SELECT executor, approach, spec, task, fix, "commit", error, time FROM remedy
           WHERE kind = :kind AND worked ORDER BY id DESC LIMIT :latest""",
        {"fingerprint": fingerprint, "kind": kind, "latest": CANDIDATES},
    )
    return [PastFix(*row) for row in rows]


def _alike(past: Iterable[PastFix], error: str) -> list[PastFix]:
    words = error_words(error)
    likeness = ((fix, similarity(words, error_words(fix.error))) for fix in past)
    return [replace(fix, same=False, similarity=like) for fix, like in likeness if like >= SIMILAR]


def _together(fixes: Iterable[PastFix]) -> list[PastFix]:
    """One for each way of fixing, the nearest of its like with the number of them."""
    ways: dict[tuple[str, str], list[PastFix]] = {}
    for fix in sorted(fixes, key=lambda fix: -fix.similarity):
        ways.setdefault((fix.executor, fix.approach), []).append(fix)
    nearest = (replace(alike[0], times=len(alike)) for alike in ways.values())
    return sorted(nearest, key=lambda fix: (-fix.similarity, -fix.times))


_PATH = re.compile(r"(?:[\w.~-]*/)+")
_NO_WORD = re.compile(r"0x[0-9a-f]+|\b(?=[a-f]*\d)[0-9a-f]{7,}\b|\d+", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d]{2,}")


@lru_cache(maxsize=4096)
def error_words(error: str) -> frozenset[str]:
    """The words of an error without numbers, addresses and directories."""
    return frozenset(_WORD.findall(_NO_WORD.sub(" ", _PATH.sub("", error)).lower()))


def similarity(one: frozenset[str], other: frozenset[str]) -> float:
    """Jaccard: words in common of all words. Too few words are like nothing."""
    if min(len(one), len(other)) < FEWEST_WORDS:
        return 0.0
    return len(one & other) / len(one | other)
