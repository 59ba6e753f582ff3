"""Predictions from the history: time limits, chances of success, fixes that helped before.

Nothing is predicted from fewer than five cases. That an error was fixed before is a fact, and is
reported from the first case on.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pytest_ralph.history.stats import MIN_CASES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_ralph.history.store import History

# A time limit is advised from the durations of the latest passes: this many times what most of them
# took, and no less than this many seconds.
DURATIONS = 50
LIMIT_FACTOR = 3.0
SHORTEST_LIMIT = 10.0
# The runs that tell whether a task is likely to fail.
RECENT_RUNS = 10
# The probability from which on something is called likely.
LIKELY = 0.5
# The latest attempts that say how well an executor or an approach does.
CANDIDATES = 100
# The latest fixes that are compared with a new error: older ones are rarely of use.
COMPARED_FIXES = 50
# The share of words that two similar errors have in common, and how many words each must have.
SIMILAR = 0.6
FEWEST_WORDS = 3
# The fixes and approaches that worked before and are named in a prompt.
FIXES = 3
APPROACHES = 2
# 95% of a normal distribution lie within this many standard deviations.
Z = 1.959964


@dataclass(frozen=True)
class TimeLimit:
    """A time limit that the past passes of a task would have kept easily."""

    seconds: float
    p95: float
    cases: int


@dataclass(frozen=True)
class Chance:
    """The probability of an event that happened in `hits` of `cases`."""

    hits: int
    cases: int
    basis: str = ""

    @property
    def probability(self) -> float:
        """Laplace's rule of succession: five of five is not a certainty."""
        return (self.hits + 1) / (self.cases + 2)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% confidence interval."""
        return wilson(self.hits, self.cases)

    def __str__(self) -> str:
        low, high = self.interval
        counts = f"{self.hits} of {self.cases} {self.basis}".rstrip()
        return f"{self.probability:.0%} ({counts}, 95% interval {low:.0%} to {high:.0%})"


class PastFix(NamedTuple):
    """A fix that made a task pass after the same error, or after a similar one."""

    executor: str
    approach: str
    spec: str
    task: str
    fix: str
    commit: str
    error: str
    same: bool = True
    similarity: float = 1.0
    times: int = 1

    def __str__(self) -> str:
        which = "this error" if self.same else f'a similar error ("{self.error}")'
        who = self.executor or "trying again"
        where = f"{self.spec} {self.fix or self.task}"
        text = f"{which} was fixed before by {who} ({where})"
        if self.times > 1:
            text += f", {self.times} times"
        if self.commit:
            text += f", commit {self.commit[:12]}"
        if self.approach:
            text += f": {self.approach}"
        return text


@dataclass(frozen=True)
class Risk:
    """A task that will probably fail, and the kind it fails with most often."""

    spec: str
    task: str
    chance: Chance
    kind: str


def time_limit(history: History, spec: str, task: str) -> TimeLimit | None:
    """Suggest a limit: three times what 95% of the latest passes took, twice the longest."""
    rows = history.query(
        """SELECT duration FROM attempts WHERE spec = ? AND task = ? AND what = 'verify'
           AND outcome IN ('passed', 'recovered') ORDER BY id DESC LIMIT ?""",
        (spec, task, DURATIONS),
    )
    if len(rows) < MIN_CASES:
        return None

    durations = sorted(duration for (duration,) in rows)
    p95 = durations[math.ceil(0.95 * len(durations)) - 1]
    longest = durations[-1]
    seconds = math.ceil(max(SHORTEST_LIMIT, LIMIT_FACTOR * p95, 2 * longest))
    return TimeLimit(float(seconds), p95, len(durations))


def wilson(hits: int, cases: int) -> tuple[float, float]:
    """Return Wilson's bounds of a proportion, which are sensible for few cases too."""
    share = hits / cases
    spread = Z * Z / cases
    middle = (share + spread / 2) / (1 + spread)
    variance = share * (1 - share) / cases + spread / (4 * cases)
    half = Z / (1 + spread) * math.sqrt(variance)
    return max(0.0, middle - half), min(1.0, middle + half)


def chance_of_fix(history: History, kind: str, executor: str = "") -> Chance | None:
    """Estimate from the fixes of this executor if there are enough, else from those of all."""
    all_hits = 0
    all_cases = 0
    for name, hits, cases in _tally(history, kind, "executor"):
        if name == executor and cases >= MIN_CASES:
            return Chance(hits, cases, f"similar fixes by {executor}")
        all_hits += hits
        all_cases += cases

    if all_cases < MIN_CASES:
        return None
    return Chance(all_hits, all_cases, "similar fixes")


def chances(
    history: History, kind: str, by: Literal["executor", "approach"] = "executor"
) -> dict[str, Chance]:
    """Return what was tried at least five times on this kind, best first."""
    tried = {}
    for name, hits, cases in _tally(history, kind, by):
        if cases >= MIN_CASES:
            tried[name] = Chance(hits, cases)
    return dict(sorted(tried.items(), key=lambda entry: -entry[1].probability))


def is_better(history: History, kind: str, executor: str, other: str) -> bool:
    """Return whether `executor` fixed this kind more often than `other`.

    One with too few cases counts as one that fixes every second failure.
    """
    even = Chance(0, 0)
    known = chances(history, kind)
    return known.get(executor, even).probability > known.get(other, even).probability


def _tally(
    history: History, kind: str, by: Literal["executor", "approach"]
) -> list[tuple[Any, ...]]:
    """Return (name, hits, cases) for the latest remedies tried on a kind, by name."""
    return history.query(
        f"""SELECT {by}, SUM(worked), COUNT(*)
            FROM (SELECT {by}, worked FROM remedy
                  WHERE kind = ? AND what <> 'retry' ORDER BY id DESC LIMIT ?)
            WHERE worked IS NOT NULL GROUP BY {by} ORDER BY {by}""",  # noqa: S608
        (kind, CANDIDATES),
    )


def likely_to_fail(history: History, spec: str | None = None) -> tuple[Risk, ...]:
    """Return the tasks that mostly failed at first in their latest ten runs, worst first."""
    rows = history.query(
        """WITH beginning AS (
               SELECT MIN(id) AS id FROM attempts
               WHERE what = 'verify' AND (:spec IS NULL OR spec = :spec)
               GROUP BY run, spec, task
           ), recent AS (
               SELECT spec, task, bad, kind,
                      ROW_NUMBER() OVER (PARTITION BY spec, task ORDER BY id DESC) AS age
               FROM beginning JOIN observation USING (id)
           )
           SELECT spec, task, SUM(number * bad), SUM(number), kind, MAX(number * bad)
           -- SQLite takes the bare column `kind` from the row with the maximum.
           FROM (SELECT spec, task, bad, kind, COUNT(*) AS number FROM recent WHERE age <= :runs
                 GROUP BY spec, task, bad, kind)
           GROUP BY spec, task""",
        {"spec": spec, "runs": RECENT_RUNS},
    )

    risks = []
    for spec_name, task, failures, runs, kind, _ in rows:
        chance = Chance(failures, runs, "runs")
        if runs >= MIN_CASES and chance.probability > LIKELY:
            risks.append(Risk(spec_name, task, chance, kind))
    risks.sort(key=lambda risk: (-risk.chance.probability, risk.spec, risk.task))
    return tuple(risks)


def fixed_before(
    history: History, error: str, *, fingerprint: str, kind: str
) -> tuple[PastFix, ...]:
    """Return what made a task pass after the same error, or else after similar errors."""
    fixes = _successful_fixes(history, "fingerprint", fingerprint) if fingerprint else []
    if not fixes:
        fixes = _similar(_successful_fixes(history, "kind", kind), error)
    return tuple(_merged(fixes)[:FIXES])


def hints(history: History, error: str, *, fingerprint: str, kind: str) -> tuple[str, ...]:
    """Return lines for a prompt: how this error was fixed before, and what works on its kind."""
    fixes = fixed_before(history, error, fingerprint=fingerprint, kind=kind)
    good = []
    for approach, chance in chances(history, kind, by="approach").items():
        if approach and chance.probability > LIKELY:
            good.append(f"worked before on {kind}: {approach}, {chance}")
    lines = [*map(str, fixes), *good[:APPROACHES]]
    return tuple(lines)


def _successful_fixes(
    history: History, column: Literal["fingerprint", "kind"], value: str
) -> list[PastFix]:
    """Return the latest first."""
    rows = history.query(
        f"""SELECT executor, approach, spec, task, fix, "commit", error FROM remedy
            WHERE {column} = ? AND worked ORDER BY id DESC LIMIT ?""",  # noqa: S608
        (value, COMPARED_FIXES),
    )
    return [PastFix(*row) for row in rows]


def _similar(fixes: Iterable[PastFix], error: str) -> list[PastFix]:
    """Return the fixes of errors that have most of their words in common with this one."""
    words = error_words(error)
    similar = []
    for fix in fixes:
        score = similarity(words, error_words(fix.error))
        if score >= SIMILAR:
            similar.append(fix._replace(same=False, similarity=score))
    return similar


def _merged(fixes: Iterable[PastFix]) -> list[PastFix]:
    """Merge the fixes with the same executor and approach into the most similar of them."""
    groups: dict[tuple[str, str], list[PastFix]] = defaultdict(list)
    for fix in sorted(fixes, key=lambda fix: -fix.similarity):
        groups[fix.executor, fix.approach].append(fix)

    merged = []
    for most_similar, *others in groups.values():
        merged.append(most_similar._replace(times=1 + len(others)))
    return sorted(merged, key=lambda fix: (-fix.similarity, -fix.times))


_DIRECTORIES = re.compile(r"(?:[\w.~-]*/)+")
_NUMBER = re.compile(r"0x[0-9a-f]+|\b(?=[a-f]*\d)[0-9a-f]{7,}\b|\d+", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d]{2,}")


# Each new failure is compared with the last fixes, which takes a millisecond without the cache.
@lru_cache(maxsize=4096)
def error_words(error: str) -> frozenset[str]:
    """Return the words of an error without numbers, addresses and directories."""
    text = _NUMBER.sub(" ", _DIRECTORIES.sub("", error))
    return frozenset(_WORD.findall(text.lower()))


def similarity(words: frozenset[str], other: frozenset[str]) -> float:
    """Return the Jaccard index: common words by all words. Short errors resemble nothing."""
    if min(len(words), len(other)) < FEWEST_WORDS:
        return 0.0
    return len(words & other) / len(words | other)
