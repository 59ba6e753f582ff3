"""The story of a run: what every report tells. Plain values only, so that it can travel between processes.

`to_json` gives dict, list, tuple, str, int, float, bool and None; `from_json` reads them back and ignores fields it
does not know.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pytest_ralph.failure.failure import Failure

# In the order a person wants to see them: what needs a hand first.
OUTCOMES = ("failed", "regression", "blocked", "recovered", "passed", "manual", "skipped")
BAD = ("failed", "regression")
VERIFYING = ("verify", "retry")
# What an attempt tells in our own words; all else is somebody's text.
OURS = {"what", "outcome", "kind", "type", "category", "fix_id", "log"}


def _masked(value: Any, mask: Callable[[str], str]) -> Any:
    if isinstance(value, tuple):
        return tuple(_masked(part, mask) for part in value)
    return mask(value) if isinstance(value, str) else value


def _known(cls: type[Any], data: Mapping[str, Any]) -> dict[str, Any]:
    known = ((name, data[name]) for name in cls._fields if name in data)
    return {name: tuple(value) if isinstance(value, list) else value for name, value in known}


def _plain(parts: Iterable[Any]) -> list[dict[str, Any]]:
    return [part.to_json() for part in parts]


class Attempt(NamedTuple):
    """One thing tried: a verification, a fix, a repair. `what` is verify, retry, fix, repair or execute."""

    number: int = 1
    what: str = "verify"
    command: str = ""
    started: float = 0.0
    duration: float = 0.0
    outcome: str = "passed"
    exit_code: int | None = None
    timed_out: bool = False

    error: str = ""
    kind: str = ""
    type: str = ""
    category: str | None = None
    retryable: bool = True
    decision: str = ""

    fix_id: str = ""
    executor: str = ""

    files: tuple[str, ...] = ()
    failed_tests: tuple[str, ...] = ()
    missing: str | None = None
    expected: str = ""
    got: str = ""
    # The other commands of the same Verify field, where they matter.
    beside: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    guidance: str = ""
    output: str = ""
    log: str = ""
    # Bytes on both streams; `output` is only what matters of them.
    printed: int = 0

    @property
    def failed(self) -> bool:
        return self.outcome == "failed"

    @property
    def verifies(self) -> bool:
        """Only a verification decides about a task; what an executor says of itself does not."""
        return self.what in VERIFYING

    @classmethod
    def of_failure(cls, failure: Failure, **facts: Any) -> Attempt:
        """A failed attempt with the evidence of its Failure; `facts` adds number, what, started, log, …"""
        shared = {*cls._fields} & {field.name for field in fields(failure)}
        told = {name: getattr(failure, name) for name in shared}
        advice = tuple(line for line in (*failure.suggested_actions, failure.guidance) if line)
        return cls(
            **{**told, "outcome": "failed", "advice": advice, "output": failure.raw_output, **facts}
        )

    def masked(self, mask: Callable[[str], str]) -> Attempt:
        """Without secrets: in what was printed, and in what was run."""
        told = ((name, value) for name in THEIRS if (value := getattr(self, name)))
        changed = {
            name: masked for name, value in told if (masked := _masked(value, mask)) != value
        }
        return self._replace(**changed) if changed else self

    def to_json(self) -> dict[str, Any]:
        return self._asdict()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Attempt:
        return cls(**_known(cls, data))


# Flags and numbers hold nobody's text.
_TEXTS = (
    name
    for name, default in Attempt._field_defaults.items()
    if not isinstance(default, float | int)
)
THEIRS = tuple(name for name in _TEXTS if name not in OURS)


class FixResult(NamedTuple):
    """A fix task and the fixes made for it. It ends open, completed, failed or as a verification_mismatch."""

    id: str
    for_id: str = ""
    title: str = ""
    executor: str = ""
    outcome: str = ""
    children: tuple[FixResult, ...] = ()

    def walk(self, depth: int = 0) -> Iterator[tuple[int, FixResult]]:
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "children": _plain(self.children)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FixResult:
        children = tuple(cls.from_json(child) for child in data.get("children", ()))
        return cls(**{**_known(cls, data), "children": children})


def fix_tree(fixes: Iterable[FixResult], root: str) -> tuple[FixResult, ...]:
    """A flat list of fixes, in the order they were made, as the tree below the task `root`."""
    flat = list(fixes)
    children = (
        fix._replace(children=fix_tree(flat, fix.id))
        for fix in flat
        if fix.for_id == root and fix.id != root
    )
    return tuple(children)


class TaskResult(NamedTuple):
    """One task: how it ended, everything tried on the way, and the fixes it took."""

    id: str
    spec: str = ""
    spec_path: str = ""
    name: str = ""
    title: str = ""
    phase: str = ""
    line: int = 1
    markers: tuple[str, ...] = ()
    outcome: str = "passed"
    reason: str = ""
    started: float = 0.0
    duration: float = 0.0
    attempts: tuple[Attempt, ...] = ()
    fixes: tuple[FixResult, ...] = ()
    commit: str = ""
    # What ended the recovery of a task that failed: `max limit`, `max depth`, `circular`, …
    final: str = ""
    estimate: float | None = None

    @property
    def node_id(self) -> str:
        return f"{self.spec_path}::{self.name or self.id}"

    @property
    def heading(self) -> str:
        return f"{self.id} {self.title}".strip()

    @property
    def place(self) -> str:
        return f"{self.spec_path or 'tasks.md'}:{self.line}"

    @property
    def bad(self) -> bool:
        return self.outcome in BAD

    @property
    def verifications(self) -> tuple[Attempt, ...]:
        return tuple(attempt for attempt in self.attempts if attempt.verifies)

    @property
    def last_failure(self) -> Attempt | None:
        """The failure to quote: of the last verification that failed, else of the last attempt that did."""
        failed = [attempt for attempt in self.attempts if attempt.failed]
        return next((a for a in reversed(failed) if a.verifies), failed[-1] if failed else None)

    @property
    def earlier_failures(self) -> tuple[Attempt, ...]:
        """The failed verifications before the one that decided."""
        failed = tuple(attempt for attempt in self.verifications if attempt.failed)
        return failed[:-1] if self.bad else failed

    @property
    def all_fixes(self) -> tuple[tuple[int, FixResult], ...]:
        """Every fix of the lineage with its depth, parents first."""
        return tuple(pair for fix in self.fixes for pair in fix.walk())

    def masked(self, mask: Callable[[str], str]) -> TaskResult:
        attempts = tuple(attempt.masked(mask) for attempt in self.attempts)
        if attempts == self.attempts and not self.reason:
            return self
        return self._replace(attempts=attempts, reason=mask(self.reason))

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "attempts": _plain(self.attempts), "fixes": _plain(self.fixes)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TaskResult:
        attempts = tuple(Attempt.from_json(attempt) for attempt in data.get("attempts", ()))
        fixes = tuple(FixResult.from_json(fix) for fix in data.get("fixes", ()))
        return cls(**{**_known(cls, data), "attempts": attempts, "fixes": fixes})


class TaskReport(NamedTuple):
    """What a pytest report carries about a task, as `report.ralph`."""

    story: TaskResult
    lines: tuple[str, ...] = ()
    recovery: bool = False
    max_attempts: int = 1

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "story": self.story.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TaskReport:
        return cls(**{**_known(cls, data), "story": TaskResult.from_json(data["story"])})


def task_report(report: object) -> TaskReport | None:
    """None for a report of anything but a task that ran."""
    return getattr(report, "ralph", None)


class PastRun(NamedTuple):
    """One earlier run, for the charts."""

    started: float
    duration: float = 0.0
    passed: int = 0
    recovered: int = 0
    failed: int = 0
    other: int = 0

    @property
    def total(self) -> int:
        return self.passed + self.recovered + self.failed + self.other

    @property
    def recovery_rate(self) -> float | None:
        """The share of what failed at first that passed in the end; None where nothing failed."""
        tried = self.recovered + self.failed
        return self.recovered / tried if tried else None


class PastKind(NamedTuple):
    """How often a kind of failure was met, and how often it was recovered from."""

    kind: str
    failures: int
    recovered: int = 0


class RunHistory(NamedTuple):
    """What earlier runs add: oldest run first, this run last."""

    runs: tuple[PastRun, ...] = ()
    kinds: tuple[PastKind, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "runs": [run._asdict() for run in self.runs],
            "kinds": [kind._asdict() for kind in self.kinds],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunHistory:
        runs = tuple(PastRun(**_known(PastRun, run)) for run in data.get("runs", ()))
        kinds = tuple(PastKind(**_known(PastKind, kind)) for kind in data.get("kinds", ()))
        return cls(runs, kinds)


class RunSummary(NamedTuple):
    """One run of pytest over any number of specs."""

    tasks: tuple[TaskResult, ...] = ()
    started: float = 0.0
    duration: float = 0.0
    command_line: str = ""
    root: str = ""
    version: str = ""
    history: RunHistory = RunHistory()
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Outcome → number of tasks, those met only, in the order of OUTCOMES; others after them."""
        met = [task.outcome for task in self.tasks]
        return {
            outcome: met.count(outcome)
            for outcome in (*OUTCOMES, *sorted({*met} - {*OUTCOMES}))
            if outcome in met
        }

    @property
    def specs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(task.spec for task in self.tasks))

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(
            sorted(
                {attempt.kind for task in self.tasks for attempt in task.attempts if attempt.kind}
            )
        )

    @property
    def ok(self) -> bool:
        return not any(task.bad or task.outcome == "blocked" for task in self.tasks)

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "tasks": _plain(self.tasks), "history": self.history.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunSummary:
        tasks = tuple(TaskResult.from_json(task) for task in data.get("tasks", ()))
        history = RunHistory.from_json(data.get("history", {}))
        return cls(**{**_known(cls, data), "tasks": tasks, "history": history})
