"""The results of a run, as every report, the history and the workers of pytest-xdist exchange them.

An `Attempt` is one thing that was tried, a `TaskResult` one task with all its attempts and fixes.
They travel between processes as JSON: `from_json` reads what `to_json` wrote.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pytest_ralph.failure.failure import Failure

# Reports list them in this order: what needs attention comes first.
OUTCOMES = (
    "failed",
    "regression",
    "blocked",
    "recovered",
    "flaky",
    "passed",
    "manual",
    "skipped",
)
BAD = ("failed", "regression")
GOOD = ("passed", "recovered", "flaky")
NOT_RUN = ("skipped", "manual", "blocked")
VERIFYING = ("verify", "retry")
# The failure protocol words the advice as a parameter, which no person can set.
MORE_TIME = "Raise the time limit"
_RETRY = regex(r"Retry with timeout=(\S+)")
# Advice of the failure protocol about the prompt, which a person does not write.
_ABOUT_PROMPTS = ("Include specific file paths in prompt", "Add example of expected output")


def _masked(value: Any, mask: Callable[[str], str]) -> Any:
    if isinstance(value, tuple):
        return tuple(_masked(part, mask) for part in value)
    if isinstance(value, str):
        return mask(value)
    return value


class Attempt(NamedTuple):
    """One thing that was tried on a task, as reports show it and the history stores it.

    `what` is `verify` (or `retry`: verified again with nothing fixed in between), `execute`, `fix`
    or `repair`. The history also stores `decide`: what was decided after a failed attempt.
    """

    number: int = 1
    what: str = "verify"
    command: str = ""
    started: float = 0.0
    duration: float = 0.0
    outcome: str = "passed"
    exit_code: int | None = None
    timed_out: bool = False
    timeout: float | None = None

    error: str = ""
    kind: str = ""
    type: str = ""
    category: str | None = None
    retryable: bool = True
    fingerprint: str = ""
    blocked_on: str | None = None
    decision: str = ""

    # Who did it: `claude`, `repair:format`; and for which fix task.
    fix_id: str = ""
    executor: str = ""
    approach: str = ""
    session_id: str = ""
    # The estimated probability, before the attempt, that it would succeed.
    prediction: float | None = None
    # What the executor run cost, as far as it reported that, and the files it changed.
    cost: float | None = None
    tokens: int | None = None
    changed: tuple[str, ...] = ()
    # What it changed, as a unified diff.
    diff: str = ""
    # What the executor should not have done, and why it was unavailable.
    findings: tuple[str, ...] = ()
    trouble: str = ""
    commit: str = ""
    # Fingerprint of the working tree: equal means that nothing changed in between.
    tree: str = ""

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
    # The readable account of what an agent said and did, beside its log.
    transcript: str = ""
    # Bytes on both streams; `output` holds only the part that matters.
    printed: int = 0

    @property
    def failed(self) -> bool:
        return self.outcome == "failed"

    @property
    def advice_for_people(self) -> tuple[str, ...]:
        """The advice without the guidance for executors and the advice about their prompt."""
        for_executors = (self.guidance, *_ABOUT_PROMPTS)
        raise_limit = rf"{MORE_TIME}: `**Timeout**: \1`"
        advice = [text for text in self.advice if text not in for_executors]
        return tuple(_RETRY.sub(raise_limit, text) for text in advice)

    @property
    def verifies(self) -> bool:
        """Only a verification decides about a task; an executor's own claim does not."""
        return self.what in VERIFYING

    @classmethod
    def of_failure(cls, failure: Failure, **facts: Any) -> Attempt:
        """A failed attempt with the evidence of its Failure; `facts` add to it and override it."""
        shared = [field.name for field in fields(failure) if field.name in cls._fields]
        evidence = {name: getattr(failure, name) for name in shared}
        advice = filter(None, (*failure.suggested_actions, failure.guidance))
        evidence |= {"outcome": "failed", "advice": tuple(advice), "output": failure.raw_output}
        return cls(**{**evidence, **facts})

    def answering(self, failure: Failure | None) -> Attempt:
        """This attempt as the answer to `failure`, the way the history stores fixes and repairs."""
        if failure is None:
            return self
        return self._replace(
            kind=failure.kind,
            type=failure.type,
            category=failure.category,
            error=failure.error,
            fingerprint=failure.fingerprint,
            blocked_on=failure.blocked_on,
        )

    def masked(self, mask: Callable[[str], str]) -> Attempt:
        """Without secrets in what was run and printed."""
        texts: dict[str, Any] = {}
        for name in FREE_TEXT:
            text = getattr(self, name)
            if text:
                texts[name] = _masked(text, mask)
        return self._replace(**texts)


def changed_files(attempts: Iterable[Attempt]) -> tuple[str, ...]:
    """Each file that attempts changed, in the order of the first change."""
    paths: dict[str, None] = {}
    for attempt in attempts:
        paths.update(dict.fromkeys(attempt.changed))
    return tuple(paths)


# Words of our own, paths, hashes and numbers.
_NEVER_SECRET = frozenset(
    """
    number what started duration outcome exit_code timed_out timeout kind type category retryable
    fingerprint fix_id session_id prediction cost tokens commit tree log transcript printed
    """.split()
)
# The fields that may quote a command, a tool or a person.
FREE_TEXT = tuple(name for name in Attempt._fields if name not in _NEVER_SECRET)


def _is_another_failure(before: Attempt, after: Attempt, *, is_repair: bool) -> bool:
    """Return whether a fix led from one failure to another one.

    Executors change the numbers and words of the same error, repairs do not.
    """
    if (before.kind, before.missing) != (after.kind, after.missing):
        return True
    return is_repair and before.fingerprint != after.fingerprint


def total_cost(parts: Iterable[TaskResult | Attempt]) -> float | None:
    """What executor runs cost in USD; None if none of them reported it."""
    costs = [part.cost for part in parts if part.cost is not None]
    return sum(costs) if costs else None


class Note(NamedTuple):
    """What is said about a step of the recovery, for the terminal and the HTML report.

    task_id: The task or fix that it is about; empty if that is all of it, or if the text says so.
    is_detail: Whether only `-v` shows it: the row of a fix says which repair was made, and
        `--ralph-undo` undoes it.
    """

    text: str
    task_id: str = ""
    is_detail: bool = False

    @property
    def line(self) -> str:
        return f"{self.task_id}: {self.text}" if self.task_id else self.text


class FixResult(NamedTuple):
    """A fix task and its own fixes. It ends open, completed, failed or verification_mismatch."""

    id: str
    for_id: str = ""
    title: str = ""
    executor: str = ""
    outcome: str = ""
    children: tuple[FixResult, ...] = ()

    def walk(self, depth: int = 0) -> Iterator[tuple[int, FixResult]]:
        """This fix and all below it, each with its depth, parents first."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)

    def masked(self, mask: Callable[[str], str]) -> FixResult:
        """Without secrets in its title and the command line of its executor."""
        return self._replace(
            title=mask(self.title),
            executor=mask(self.executor),
            children=tuple(child.masked(mask) for child in self.children),
        )


def fix_tree(fixes: Iterable[FixResult], root: str) -> tuple[FixResult, ...]:
    """Turn a flat list of fixes, in the order they were made, into the tree below `root`."""
    flat = tuple(fixes)
    direct = [fix for fix in flat if fix.for_id == root and fix.id != root]
    # Each fix once: a person may have written fixes for themselves or for each other.
    others = [fix for fix in flat if fix.for_id != root]
    return tuple(fix._replace(children=fix_tree(others, fix.id)) for fix in direct)


class TaskResult(NamedTuple):
    """How one task ended: every attempt, the fixes it took, and what a person reads about it."""

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
    # Whether it was run in recovery mode, and how often it could be verified.
    recovery: bool = False
    max_attempts: int = 1
    # The files that the task names and that were not there when it passed.
    absent: tuple[str, ...] = ()
    # Whether it ran in a copy of the project on another machine.
    elsewhere: bool = False
    # What ended the recovery of a task that failed: `max limit`, `max depth`, `circular`, …
    final: str = ""
    notes: tuple[Note, ...] = ()
    # The failure report of a task that did not pass.
    report: str = ""
    # Fields of the task for the HTML report, and the words of its Verify that were not checked.
    do: str = ""
    done_when: str = ""
    verify: str = ""
    unread: tuple[str, ...] = ()
    # Tasks that had passed and that the work on this one broke, as they ended after that.
    regressions: tuple[TaskResult, ...] = ()

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
    def passed(self) -> bool:
        return self.outcome in GOOD

    @property
    def skipped(self) -> bool:
        return self.outcome in NOT_RUN

    @property
    def verifications(self) -> tuple[Attempt, ...]:
        return tuple(attempt for attempt in self.attempts if attempt.verifies)

    @property
    def last_failure(self) -> Attempt | None:
        """The failure to quote: the last failed verification, or else the last failed attempt."""
        failed = [attempt for attempt in self.attempts if attempt.failed]
        verified = [attempt for attempt in failed if attempt.verifies]
        return next(reversed(verified or failed), None)

    @property
    def advice(self) -> tuple[str, ...]:
        """What a person can do about the failure, without what the decision contradicts."""
        failure = self.last_failure
        if failure is None:
            return ()
        advice = failure.advice_for_people
        if not self.reason.endswith("more time would not help"):
            return advice
        return tuple(text for text in advice if not text.startswith(MORE_TIME))

    @property
    def earlier_failures(self) -> tuple[Attempt, ...]:
        """The failed verifications before the one that decided."""
        failed = tuple(attempt for attempt in self.verifications if attempt.failed)
        return failed[:-1] if self.bad else failed

    @property
    def all_fixes(self) -> tuple[tuple[int, FixResult], ...]:
        """Every fix of the lineage with its depth, parents first."""
        found: list[tuple[int, FixResult]] = []
        for fix in self.fixes:
            found += fix.walk()
        return tuple(found)

    def led_to_another_failure(self, fix: FixResult) -> bool:
        """Whether the task failed in another way after a fix than before it."""
        if fix.outcome != "verification_mismatch":
            return False
        before = None
        is_after = False

        for attempt in self.attempts:
            if attempt.fix_id == fix.id:
                is_after = True
            if not attempt.verifies or not attempt.failed:
                continue
            if not is_after:
                before = attempt
            elif before is not None:
                is_repair = fix.executor.startswith("repair:")
                return _is_another_failure(before, attempt, is_repair=is_repair)
        return False

    def notes_on(self, task_id: str) -> list[Note]:
        """The notes on this task or one of its fixes; those on none of them for an empty id."""
        return [note for note in self.notes if note.task_id == task_id]

    @property
    def changed(self) -> tuple[str, ...]:
        """The files that executors and repairs changed, in the order of the first change."""
        return changed_files(self.attempts)

    @property
    def findings(self) -> tuple[str, ...]:
        """What executors did that they should not have done, such as changing tests.

        What several of them did is listed once, after the ids of the tasks they worked on.
        """
        ids_by_finding: dict[str, dict[str, None]] = {}
        for attempt in self.attempts:
            for finding in attempt.findings:
                task_id, _, what = finding.partition(" ")
                ids_by_finding.setdefault(what, {})[task_id] = None
        return tuple(f"{', '.join(ids)} {what}" for what, ids in ids_by_finding.items())

    @property
    def troubles(self) -> tuple[str, ...]:
        """Why executors were unavailable, each with the name of the executor."""
        reasons: dict[str, None] = {}
        for attempt in self.attempts:
            if attempt.trouble:
                reasons[f"{attempt.executor}: {attempt.trouble}"] = None
        return tuple(reasons)

    @property
    def was_worked_on(self) -> bool:
        """Whether an executor or a repair was at work, even if it changed nothing."""
        return any(attempt.executor for attempt in self.attempts)

    @property
    def cost(self) -> float | None:
        """What the executor runs cost in USD; None if none of them reported it."""
        return total_cost(self.attempts)

    def with_work_of(self, other: TaskResult) -> TaskResult:
        """Add what executors and repairs did for another task on account of this one."""
        work = tuple(attempt for attempt in other.attempts if not attempt.verifies)
        return self._replace(
            attempts=self.attempts + work, notes=self.notes + other.notes_elsewhere
        )

    def with_regression(self, other: TaskResult) -> TaskResult:
        """Add a task that the work on this one broke, as it ended after that."""
        return self._replace(regressions=(*self.regressions, other))

    def with_note(self, text: str, task_id: str = "", *, is_detail: bool = False) -> TaskResult:
        return self._replace(notes=(*self.notes, Note(text, task_id, is_detail)))

    @property
    def notes_elsewhere(self) -> tuple[Note, ...]:
        """The notes for the result of another task, which does not know the ids in them."""
        return tuple(Note(note.line) for note in self.notes)

    def followed_by(self, later: TaskResult) -> TaskResult:
        """The result of a task that passed, was broken, and ended in the result `later`."""
        return later._replace(
            started=self.started,
            duration=self.duration + later.duration,
            attempts=self.attempts + later.attempts,
            fixes=self.fixes + later.fixes,
            notes=self.notes + later.notes,
            regressions=self.regressions + later.regressions,
        )

    def masked(self, mask: Callable[[str], str]) -> TaskResult:
        """Without secrets in anything that quotes commands, tools or people."""
        return self._replace(
            title=mask(self.title),
            phase=mask(self.phase),
            attempts=tuple(attempt.masked(mask) for attempt in self.attempts),
            fixes=tuple(fix.masked(mask) for fix in self.fixes),
            reason=mask(self.reason),
            notes=tuple(note._replace(text=mask(note.text)) for note in self.notes),
            report=mask(self.report),
        )


def task_result(report: object) -> TaskResult | None:
    """The result that a pytest report carries as `report.ralph`; None if no task was run."""
    return getattr(report, "ralph", None)


Result = TypeVar("Result", Attempt, Note, FixResult, TaskResult)
# The fields that consist of results.
_NESTED: dict[str, Any] = {
    "attempts": Attempt,
    "notes": Note,
    "fixes": FixResult,
    "children": FixResult,
    "regressions": TaskResult,
}


def to_json(result: Attempt | Note | FixResult | TaskResult) -> dict[str, Any]:
    """A result and those in it as dictionaries."""
    data = result._asdict()
    for name in _NESTED.keys() & data.keys():
        data[name] = [to_json(part) for part in data[name]]
    return data


def from_json(cls: type[Result], data: Mapping[str, Any]) -> Result:
    """What `to_json` has made; fields that the class does not have are ignored."""
    known: dict[str, Any] = {}
    for name in data.keys() & {*cls._fields}:  # type: ignore[attr-defined] # a named tuple
        value = data[name]
        if name in _NESTED:
            value = [from_json(_NESTED[name], part) for part in value]
        # JSON has lists in place of tuples.
        if isinstance(value, list):
            value = tuple(value)
        known[name] = value
    return cls(**known)
