"""AttemptLog: everything tried on one task, in order, for its result and for the history."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_ralph.history.record import Record
from pytest_ralph.results import Attempt, FixResult, Note, TaskResult, changed_files, fix_tree
from pytest_ralph.text.bounded import cut_lines
from pytest_ralph.text.inert import without_escapes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.fixing.prompts import Tried
    from pytest_ralph.fixing.repairs.base import Repair, RepairResult
    from pytest_ralph.healing.decide import Decision
    from pytest_ralph.healing.executor_run import ObservedRun
    from pytest_ralph.running.checks import VerifyResult
    from pytest_ralph.spec.task import Task

# The approach of an executor that does not name it.
NOT_SAID = "approach not reported"
NOT_MERGED = "it passed but could not be merged; make the changes again in the current files"
UNCHANGED = "the error stayed the same"
NO_HELP = "it did not help"
# Lines of an output that a report keeps.
HEAD, TAIL = 40, 120


class AttemptLog:
    """The attempts at one task in one run.

    Each attempt goes to the history at once, so that a killed run loses none; `ended` turns all of
    them into the TaskResult. The lists are what decisions and prompts need to know.
    """

    def __init__(
        self,
        task: Task,
        *,
        spec: str,
        spec_path: str,
        run: str,
        record: Callable[[Record], None],
        mask: Callable[[str], str] = str,
        recovery: bool = False,
        max_attempts: int = 1,
    ) -> None:
        self.task = task
        self._mask = mask
        self.notes: list[Note] = []
        # The failure of the last verification that failed.
        self.last: Failure | None = None
        # By the tasks that were carried out: their last approach.
        self._approaches: dict[str, str] = {}
        # Executor runs and repairs, of earlier runs too, with what each of them changed.
        self.tried: list[Tried] = []
        self.repairs: list[str] = []
        self.runs = 0
        # The work on other tasks that broke this one, in one line and as a diff.
        self.culprit = ""
        self.culprit_diff = ""
        # Tasks to be carried out after this one because an executor asked for them.
        self.followups: list[Task] = []
        # Whether an executor claimed success before the last failed Verify, and on which fix task.
        self.claimed = False
        self.claimed_by = ""
        # The fix, repair or execution since the last verification that claims success.
        self._done: Attempt | None = None
        self._spec = spec
        self._spec_path = spec_path
        self._run = run
        self._record = record
        self._recovery = recovery
        self._max_attempts = max_attempts
        self._attempts: list[Attempt] = []
        # The verifications and fixes of an interrupted run that this one continues.
        self._resumed: list[Attempt] = []
        self._fixes: dict[str, FixResult] = {}
        self._started = time.time()
        self._clock = time.monotonic()
        # Seconds spent waiting for siblings, which do not count as duration of this task.
        self.waited = 0.0

    @property
    def attempts(self) -> int:
        """The number of verifications so far."""
        return sum(attempt.verifies for attempt in self._attempts)

    @property
    def changed(self) -> tuple[str, ...]:
        """The files that were changed for this task so far."""
        return changed_files(self._attempts)

    @property
    def failed(self) -> list[Attempt]:
        """The verifications that failed."""
        return [attempt for attempt in self._attempts if attempt.verifies and attempt.failed]

    @property
    def approaches(self) -> list[str]:
        """How each task was carried out, the last one last.

        One that is carried out again, such as in a new session, has one approach.
        """
        return list(self._approaches.values())

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """The fingerprints of the failures between fixes, also of an interrupted run."""
        return tuple(attempt.fingerprint for attempt in self._failed_between_fixes())

    @property
    def trees(self) -> tuple[str, ...]:
        """Fingerprints of the working tree at each of these failures."""
        return tuple(attempt.tree for attempt in self._failed_between_fixes())

    def _failed_between_fixes(self) -> list[Attempt]:
        """The last verification that failed before each fix, and the last one of all.

        That nothing changed after more time, or after a task was carried out again, says nothing
        about the fix before.
        """
        found: list[Attempt] = []
        fixes = set()
        is_after_fix = True
        for attempt in (*self._resumed, *self._attempts):
            if attempt.fix_id and attempt.fix_id not in fixes:
                fixes.add(attempt.fix_id)
                is_after_fix = True
            elif attempt.verifies and attempt.failed:
                if not is_after_fix:
                    found.pop()
                found.append(attempt)
                is_after_fix = False
        return found

    @property
    def last_fix(self) -> str:
        """The id of the fix task that was carried out last, or an empty string."""
        ids = [attempt.fix_id for attempt in self._attempts if attempt.fix_id]
        return ids[-1] if ids else ""

    def resume(self, attempts: Sequence[Attempt], carried_out: Collection[str]) -> None:
        """Continue an interrupted run: take over its attempts up to its last completed fix."""
        end = 0
        for at, attempt in enumerate(attempts, 1):
            if attempt.what in ("fix", "repair") and attempt.fix_id in carried_out:
                end = at
        for attempt in attempts[:end]:
            if attempt.what == "repair":
                self.repairs.append(attempt.approach)
            elif attempt.what == "fix" and attempt.approach:
                self._add_approach(attempt.fix_id, attempt.approach)
        self._resumed += attempts[:end]

    def add_earlier(self, attempts: Sequence[Attempt], fixes: Sequence[str]) -> None:
        """Take over what earlier runs tried without success, so that prompts name it.

        `attempts` come from the history, which may have been deleted, `fixes` from the state file.
        """
        # Imported here: a passing task needs no prompt.
        from pytest_ralph.fixing.prompts import Tried

        tried = _tried_in(attempts)
        recorded = {one.task_id for one in tried}
        for fix_id in fixes:
            if fix_id not in recorded:
                self.tried.append(
                    Tried(task_id=fix_id, approach=NOT_SAID, result=NO_HELP, origin="earlier")
                )
        self.tried += tried

    def absorb(self, result: TaskResult) -> None:
        """Add the work on another task that was done on account of this one."""
        self._attempts += [attempt for attempt in result.attempts if not attempt.verifies]
        self.notes += result.notes_elsewhere

    def note(self, *texts: str, task_id: str = "", is_detail: bool = False) -> None:
        """Add notes to the result, a line each; empty ones are left out."""
        for text in texts:
            # Before a secret of several lines is taken apart.
            lines = self._mask(text).splitlines()
            self.notes += [Note(line, task_id, is_detail) for line in lines]

    def verified(
        self,
        verified: VerifyResult,
        failure: Failure | None,
        *,
        timeout: float,
        tree: str = "",
        flaky: bool = False,
    ) -> None:
        """Record one run of the task's Verify; `flaky` if it passes with nothing changed."""
        if flaky:
            tree = self.failed[-1].tree
        facts: dict[str, Any] = {
            "number": self.attempts + 1,
            "what": "retry" if self.attempts and not self._fixes else "verify",
            "started": verified.started,
            "duration": verified.duration,
            "timeout": timeout,
            "tree": tree,
        }
        facts |= _shown(verified)
        if failure is None:
            attempt = Attempt(**facts)
            outcome = "recovered" if self.last else "passed"
            if flaky:
                outcome = "flaky"
            self._helped()
        else:
            attempt = _failed(failure, **facts, beside=verified.notes_on_others)
            outcome = "failed"
            self._did_not_help(failure)
            self.last = failure
        self._attempts.append(attempt)
        self._store(attempt._replace(what="verify", outcome=outcome))

    def decided(self, target: Task, failure: Failure, decision: Decision) -> None:
        """Record a decision: as a note, on the attempt that called for it, and in the history."""
        if self._attempts:
            self._attempts[-1] = self._attempts[-1]._replace(decision=decision.reason)
        if decision.action != "escalate":
            self.note(decision.reason, task_id=target.id)
        made = Attempt(
            what="decide",
            started=time.time(),
            outcome="escalated" if decision.action == "escalate" else "decided",
            decision=f"{decision.action}: {decision.reason}",
        )
        self._store(made.answering(failure))

    def found_circular(self) -> None:
        """What keeps coming back is of another type than when it came first: a person is needed."""
        from pytest_ralph.failure.failure import CIRCULAR_FIX

        assert self.last is not None
        self.last = replace(self.last, type=CIRCULAR_FIX, retryable=False)
        last = max(at for at, attempt in enumerate(self._attempts) if attempt.verifies)
        self._attempts[last] = self._attempts[last]._replace(type=CIRCULAR_FIX, retryable=False)

    def fix_planned(self, fix: Task, for_id: str, executor: str) -> None:
        title = without_escapes(fix.title)
        self._fixes.setdefault(fix.id, FixResult(fix.id, for_id, title, executor, "open"))

    def fix_removed(self, fix: Task) -> None:
        self._fixes.pop(fix.id, None)

    def repaired(
        self,
        fix: Task | None,
        answered: Failure,
        repair: Repair,
        result: RepairResult,
        *,
        prediction: float | None,
        diff: str = "",
    ) -> None:
        """Record a built-in repair; `fix` is None if it was not made."""
        task_id = fix.id if fix else self.task.id
        self.note(f"repair {repair.name}: {result.note}", task_id=task_id, is_detail=True)
        how_to_undo = repair.how_to_undo(result)
        if how_to_undo:
            self.note(f"undo: {how_to_undo}", task_id=task_id, is_detail=True)
        attempt = Attempt(
            number=len(self._attempts) + 1,
            what="repair",
            command=repair.command,
            started=time.time(),
            fix_id=fix.id if fix else "",
            executor=f"repair:{repair.name}",
            approach=repair.command,
            prediction=prediction,
            changed=result.files,
            diff=diff,
            outcome="passed" if fix else "failed",
            error="" if fix else result.note,
        )
        self._attempts.append(attempt)
        self.repairs.append(repair.command)
        if fix is not None:
            self._done = attempt
            self._add_tried(fix.id, repair.command, UNCHANGED, "")
            self._fix_ended(fix.id, "completed", attempt.executor)
        self._store(attempt.answering(answered))

    def carried_out(self, task: Task, answered: Failure | None, run: ObservedRun) -> None:
        """Record an executor run. `answered` is the failure it was meant to fix."""
        is_fix = task is not self.task
        outcome = run.outcome
        facts = _facts_of(run) | {
            "number": len(self._attempts) + 1,
            "what": "fix" if is_fix else "execute",
            "fix_id": task.id if is_fix else "",
        }
        self.runs += 1
        if run.diff or outcome.trouble is None:
            result = _result_of(task, run)
            unfinished = outcome.trouble is not None or bool(run.conflicts)
            self._add_tried(task.id, run.approach, result, run.diff, unfinished=unfinished)
        if outcome.trouble is not None and outcome.failure is not None:
            # Not an attempt to fix anything: it is no fix in the history, and no approach.
            attempt = _failed(outcome.failure, **(facts | {"what": "execute"}))
            self._attempts.append(attempt)
            self._store(attempt._replace(prediction=None))
            return
        if outcome.failure is None:
            attempt = Attempt(**facts, output=cut_lines(outcome.output, HEAD, TAIL))
            self._done = attempt
            # What could not be merged completes no fix.
            self._fix_ended(task.id, "failed" if run.conflicts else "completed", run.name)
            if is_fix:
                self._carried_out_after_fix(task.id)
        else:
            attempt = _failed(outcome.failure, **facts)
            self._done = None
            self._fix_ended(task.id, "failed", run.name)
        self._attempts.append(attempt)
        if run.approach:
            self._add_approach(task.id, run.approach)
        self._store_run(attempt, answered)

    def _add_approach(self, task_id: str, approach: str) -> None:
        self._approaches.pop(task_id, None)
        self._approaches[task_id] = approach

    def _store_run(self, attempt: Attempt, answered: Failure | None) -> None:
        """Write an executor run to the history: a failed fix as a run and as a fix."""
        if not attempt.fix_id:
            self._store(attempt)
            return
        if attempt.failed:
            # The cost is stored once, with the fix.
            without_cost = attempt._replace(prediction=None, cost=None, tokens=None)
            self._store(without_cost._replace(what="execute"))
        self._store(attempt.answering(answered))

    def _did_not_help(self, failure: Failure) -> None:
        """Mark the fix that claimed success before this failure, if there is one, as a mismatch."""
        done = self._done
        self._done = None
        self.claimed = False
        self.claimed_by = ""
        if done is None:
            return
        self.claimed = done.what != "repair"
        if done.fix_id in self._fixes:
            self.claimed_by = done.fix_id
        self.tried[-1] = replace(self.tried[-1], result=failure.error)
        self._fix_ended(done.fix_id, "verification_mismatch")

    def _add_tried(
        self, task_id: str, approach: str, result: str, diff: str, *, unfinished: bool = False
    ) -> None:
        # Imported here: a passing task needs no prompt.
        from pytest_ralph.fixing.prompts import Tried

        tried = Tried(
            task_id=task_id,
            approach=approach or NOT_SAID,
            result=result,
            diff=diff,
            unfinished=unfinished,
        )
        self.tried.append(tried)

    def _helped(self) -> None:
        """Mark the last fix as completed, whatever its executor said: Verify passes."""
        if not self._attempts:
            return
        last = self._attempts[-1]
        self._fix_ended(last.fix_id, "completed", last.executor)
        if last.what == "execute" and not last.fix_id:
            self._carried_out_after_fix(self.task.id)

    def _carried_out_after_fix(self, task_id: str) -> None:
        """Mark the last fix of a task as completed: after it, the task could be carried out."""
        fixes = [fix.id for fix in self._fixes.values() if fix.for_id == task_id]
        if fixes:
            self._fix_ended(fixes[-1], "completed")

    def _fix_ended(self, fix_id: str, outcome: str, executor: str = "") -> None:
        if fix_id in self._fixes:
            known = self._fixes[fix_id]
            self._fixes[fix_id] = known._replace(
                outcome=outcome, executor=executor or known.executor
            )

    def _store(self, attempt: Attempt) -> None:
        """Write to the history, where attempts of all kinds share one numbering."""
        numbered = attempt._replace(number=len(self._attempts))
        self._record(Record(self._run, self._spec, self.task.id, numbered))

    def crashed(self, worker: str) -> TaskResult:
        """The result of a task whose worker was killed while it ran."""
        from pytest_ralph.failure.failure import BROKEN_BUILD, Failure

        error = f"worker {worker!r} crashed while running it"
        failure = Failure(
            kind="crash", type=BROKEN_BUILD, task_id=self.task.id, error=error, status="cut off"
        )
        attempt = _failed(failure, number=1, started=self._started)
        self._attempts.append(attempt)
        self.last = failure
        self._store(attempt)
        return self.ended("failed", error)

    def crashed_after_pass(self, worker: str, fixes: Sequence[str] = ()) -> TaskResult:
        """The result of a task whose worker was killed after checking it off."""
        self._attempts.append(Attempt(started=self._started))
        reason = f"worker {worker!r} crashed after it had passed"
        return self.ended("recovered" if fixes else "passed", reason)

    def _notes_of_result(self) -> Iterator[Note]:
        """Yield the notes; those on fixes that were removed name them in their text."""
        for note in self.notes:
            is_known = note.task_id == self.task.id or note.task_id in self._fixes
            yield note if is_known else Note(note.line)

    def ended(self, outcome: str, reason: str = "", final: str = "") -> TaskResult:
        """The result of the task, with secrets masked."""
        task = self.task
        result = TaskResult(
            id=task.id,
            spec=self._spec,
            spec_path=self._spec_path,
            name=task.name,
            title=task.title,
            phase=task.phase,
            line=task.line,
            markers=task.markers,
            outcome=outcome,
            reason=reason,
            started=self._started,
            duration=time.monotonic() - self._clock - self.waited,
            attempts=tuple(self._attempts),
            fixes=fix_tree(self._fixes.values(), task.id),
            recovery=self._recovery,
            max_attempts=self._max_attempts,
            final=final,
            notes=tuple(self._notes_of_result()),
        )
        if self.last and not result.passed:
            files = self.last.files_modified or self.changed
            report = replace(self.last, files_modified=files).report()
            executors = {attempt.executor.partition(":")[0] for attempt in self._attempts}
            if executors <= {"", "repair"}:
                report = report.replace("Child agent failed:", "Task failed:", 1)
            result = result._replace(report=report)
        return result.masked(self._mask)


def _facts_of(run: ObservedRun) -> dict[str, Any]:
    """What an attempt records of an executor run. What was not merged is no change."""
    outcome = run.outcome
    usage = outcome.usage
    return {
        "started": run.started,
        "duration": run.duration,
        "executor": run.name,
        "approach": run.approach,
        "prediction": run.prediction,
        "session_id": outcome.session_id,
        "changed": run.report.changed if run.merged else (),
        "diff": run.diff if run.merged else "",
        "findings": run.report.findings,
        "trouble": str(outcome.trouble or ""),
        "cost": usage.cost,
        "tokens": (usage.input_tokens + usage.output_tokens) or None,
        "log": str(outcome.ended.stdout.path) if outcome.ended else "",
        "transcript": str(outcome.transcript or ""),
    }


def _tried_in(attempts: Sequence[Attempt]) -> list[Tried]:
    """The fixes and repairs among the attempts of earlier runs, and what came of each."""
    from pytest_ralph.fixing.agents import display_name
    from pytest_ralph.fixing.prompts import Tried

    tried: list[Tried] = []
    has_claimed = False
    error_before = ""
    for attempt in attempts:
        if attempt.what in ("fix", "repair") and attempt.fix_id:
            has_claimed = not attempt.failed
            one = Tried(
                task_id=attempt.fix_id,
                approach=attempt.approach or NOT_SAID,
                # A failed fix follows the record of its executor run, which has the error.
                result=error_before if attempt.failed else NO_HELP,
                origin=f"earlier, by {display_name(attempt.executor)}",
            )
            tried.append(one)
        elif has_claimed and attempt.what == "verify":
            has_claimed = False
            tried[-1] = replace(tried[-1], result=attempt.error)
        error_before = attempt.error
    return tried


def _result_of(task: Task, run: ObservedRun) -> str:
    """What came of an executor run, before Verify says whether it helped."""
    if run.conflicts:
        return NOT_MERGED
    if run.outcome.failure is not None:
        return run.outcome.failure.error
    return "done" if task.has_marker("SPLIT") else UNCHANGED


def _shown(verified: VerifyResult) -> dict[str, Any]:
    """The facts of the check to show: the one that failed, or else the last one."""
    shown = verified.failing
    if shown is None:
        if not verified.checked:
            return {}
        shown = verified.checked[-1]
    spools = [spool for spool in (shown.ended.stdout, shown.ended.stderr) if spool and spool.size]
    logs = [str(spool.path) for spool in spools if not spool.unstored]
    return {
        "command": shown.check.command,
        "exit_code": shown.ended.exit_code,
        "log": logs[0] if logs else "",
        "printed": sum(spool.size for spool in spools),
        "expected": "; ".join(unmet.expected for unmet in shown.unmet),
        "got": "; ".join(unmet.got for unmet in shown.unmet),
    }


def _failed(failure: Failure, **facts: Any) -> Attempt:
    """A failed attempt for the reports, its output bounded: a run may hold thousands of them."""
    return Attempt.of_failure(
        failure, output=cut_lines(failure.raw_output, HEAD, TAIL, around=failure.error), **facts
    )
