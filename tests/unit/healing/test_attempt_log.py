"""What is tried on a task is told to the reports and to the history, each thing as it was."""

from __future__ import annotations

import os
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.failure.failure import BROKEN_BUILD, CIRCULAR_FIX, VERIFICATION_FAILED, Failure
from pytest_ralph.fixing.agents.base import Outcome
from pytest_ralph.fixing.file_state import Change
from pytest_ralph.fixing.prompts import Tried
from pytest_ralph.fixing.repairs.base import Repair, RepairResult
from pytest_ralph.healing.attempt_log import HEAD, TAIL, AttemptLog
from pytest_ralph.healing.decide import Decision
from pytest_ralph.healing.executor_run import ObservedRun
from pytest_ralph.healing.guard import GuardReport
from pytest_ralph.results import Attempt, Note
from pytest_ralph.running.checks import RunContext, VerifyResult, run_checks
from pytest_ralph.running.runner import Runner
from pytest_ralph.spec.task import Task
from pytest_ralph.verify.model import Check, Expect, Verify

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.history.record import Record

TASK = Task("1.3", "Add it", markers=("P",), phase="One", line=7, name="1.3~2")
FIX = Task("1.3.1", "Fix: no", markers=("FIX 1.3",))
NO = Failure(
    kind="test_failure",
    type=VERIFICATION_FAILED,
    category="partial",
    error="assert 1 == 2",
    fingerprint="f1",
    blocked_on="the sum",
    raw_output="a\nassert 1 == 2\n",
)
STUCK = Failure(kind="task_incomplete", error="cannot", fingerprint="f2", attempted_fix="praying")
BAD = VerifyResult(passed=False, started=5.0, duration=1.5)
GOOD = VerifyResult(started=6.0, duration=2.5)


REPAIR = Repair("chmod", "it may not be executed", argv=("chmod", "+x", "run.sh"))


class Kept:
    """A journal and what it had recorded."""

    def __init__(self, mask: str = "") -> None:
        self.records: list[Record] = []
        self.attempt_log = AttemptLog(
            TASK,
            spec="demo",
            spec_path="specs/demo/tasks.md",
            run="r1",
            record=self.records.append,
            mask=lambda text: text.replace(mask, "***") if mask else text,
        )

    def told(self, *names: str) -> list[tuple[Any, ...]]:
        return [tuple(getattr(record.attempt, name) for name in names) for record in self.records]


@pytest.fixture
def kept() -> Kept:
    return Kept()


def fail(kept: Kept, failure: Failure = NO, tree: str = "t1") -> None:
    kept.attempt_log.verified(BAD, failure, timeout=30.0, tree=tree)


def carry_out(
    kept: Kept, task: Task = FIX, failure: Failure | None = None, approach: str = "by hand"
) -> None:
    output = f"said\nApproach: {approach}\n" if approach else "said\n"
    outcome = Outcome(completed=failure is None, failure=failure, session_id="s1", output=output)
    run = ObservedRun(
        outcome,
        GuardReport(("sum.py",)),
        name="claude",
        started=9.0,
        duration=3.0,
        prediction=0.7,
    )
    kept.attempt_log.carried_out(task, NO, run)


def test_a_task_that_passes_at_once_is_one_attempt_without_a_report(kept: Kept) -> None:
    before = time.time()
    kept.attempt_log.verified(GOOD, None, timeout=30.0, tree="t0")
    result = kept.attempt_log.ended("passed")
    assert (result.id, result.name, result.title, result.phase) == ("1.3", "1.3~2", "Add it", "One")
    assert (result.spec, result.spec_path, result.line, result.markers) == (
        "demo",
        "specs/demo/tasks.md",
        7,
        ("P",),
    )
    assert (result.outcome, result.reason, result.final, result.fixes) == ("passed", "", "", ())
    assert [
        (one.number, one.what, one.started, one.duration, one.outcome) for one in result.attempts
    ] == [(1, "verify", 6.0, 2.5, "passed")]
    assert before - 1 <= result.started <= time.time()
    assert (result.passed, result.skipped, result.report, result.notes) == (True, False, "", ())
    (record,) = kept.records
    assert (record.run, record.spec, record.task, record.time) == ("r1", "demo", "1.3", 8.5)
    assert record.attempt == result.attempts[0]
    assert (record.attempt.timeout, record.attempt.tree) == (30.0, "t0")


def test_a_failed_attempt_is_told_with_everything_known_of_its_failure(kept: Kept) -> None:
    fail(kept)
    result = kept.attempt_log.ended("failed", "it is so", "max limit")
    (attempt,) = result.attempts
    assert (attempt.number, attempt.what, attempt.outcome) == (1, "verify", "failed")
    assert (attempt.kind, attempt.type, attempt.category) == (
        "test_failure",
        VERIFICATION_FAILED,
        "partial",
    )
    assert (attempt.error, attempt.output, attempt.started, attempt.duration) == (
        NO.error,
        "a\nassert 1 == 2",
        5.0,
        1.5,
    )
    assert (result.reason, result.final, result.report) == (
        "it is so",
        "max limit",
        # No agent has worked on it.
        NO.report().replace("Child agent failed", "Task failed"),
    )
    assert (result.passed, result.skipped) == (False, False)
    assert (kept.attempt_log.last, kept.attempt_log.fingerprints, kept.attempt_log.trees) == (
        NO,
        ("f1",),
        ("t1",),
    )
    same = ("kind", "type", "category", "error", "fingerprint", "blocked_on", "outcome", "what")
    assert kept.told(*same) == [
        (
            "test_failure",
            VERIFICATION_FAILED,
            "partial",
            "assert 1 == 2",
            "f1",
            "the sum",
            "failed",
            "verify",
        )
    ]


def test_a_long_output_is_kept_at_both_ends_and_around_the_error(kept: Kept) -> None:
    lines = [f"line {number}" for number in range(2_000)]
    fail(kept, Failure(error="line 1000", raw_output="\n".join(lines)))
    output = kept.attempt_log.ended("failed").attempts[0].output
    assert {"line 0", f"line {HEAD - 1}", "line 1000", f"line {2_000 - TAIL + 5}", "line 1999"} <= {
        *output.splitlines()
    }
    assert len(output.splitlines()) < HEAD + TAIL + 60


def test_without_a_fix_between_them_the_second_attempt_is_a_retry(kept: Kept) -> None:
    fail(kept)
    kept.attempt_log.verified(GOOD, None, timeout=60.0)
    assert kept.attempt_log.attempts == 2
    assert [(one.number, one.what) for one in kept.attempt_log.ended("recovered").attempts] == [
        (1, "verify"),
        (2, "retry"),
    ]
    assert kept.told("what", "outcome", "number", "timeout") == [
        ("verify", "failed", 1, 30.0),
        ("verify", "recovered", 2, 60.0),
    ]


@pytest.mark.parametrize(
    ("action", "outcome", "notes"),
    [("fix", "decided", [Note("one more", "1.3")]), ("escalate", "escalated", [])],
)
def test_a_decision_is_noted_on_the_attempt_that_called_for_it(
    kept: Kept, action: Any, outcome: str, notes: list[Note]
) -> None:
    fail(kept)
    kept.attempt_log.decided(TASK, NO, Decision(action, "one more"))
    assert kept.attempt_log.notes == notes
    assert [one.decision for one in kept.attempt_log.ended("failed").attempts] == ["one more"]
    assert kept.told("what", "outcome", "decision", "kind", "duration")[1:] == [
        ("decide", outcome, f"{action}: one more", "test_failure", 0.0)
    ]


def test_the_report_names_the_files_fixes_changed(kept: Kept) -> None:
    fail(kept)
    carry_out(kept)
    fail(kept)
    assert "\nFiles modified: sum.py\n" in kept.attempt_log.ended("failed").report


def test_a_fix_that_ends_well_and_does_not_help_has_claimed_too_much(kept: Kept) -> None:
    fail(kept)
    kept.attempt_log.fix_planned(FIX, "1.3", "claude")
    carry_out(kept)
    assert not kept.attempt_log.claimed
    assert [fix.outcome for fix in kept.attempt_log.ended("failed").fixes] == ["completed"]
    fail(kept, tree="t2")
    attempt_log = kept.attempt_log
    assert (
        attempt_log.claimed,
        attempt_log.claimed_by,
        attempt_log.runs,
        attempt_log.approaches,
    ) == (
        True,
        "1.3.1",
        1,
        ["by hand"],
    )
    assert attempt_log.tried == [Tried(task_id="1.3.1", approach="by hand", result="assert 1 == 2")]
    result = attempt_log.ended("failed")
    assert [(fix.id, fix.for_id, fix.title, fix.executor, fix.outcome) for fix in result.fixes] == [
        ("1.3.1", "1.3", "Fix: no", "claude", "verification_mismatch")
    ]
    assert [(one.number, one.what, one.fix_id, one.executor) for one in result.attempts] == [
        (1, "verify", "", ""),
        (2, "fix", "1.3.1", "claude"),
        (2, "verify", "", ""),
    ]
    assert (result.attempts[1].started, result.attempts[1].duration, result.attempts[1].output) == (
        9.0,
        3.0,
        "said\nApproach: by hand",
    )
    told = kept.told(
        "what",
        "outcome",
        "fix_id",
        "executor",
        "approach",
        "session_id",
        "prediction",
        "duration",
        "kind",
    )
    assert told[1] == (
        "fix",
        "passed",
        "1.3.1",
        "claude",
        "by hand",
        "s1",
        0.7,
        3.0,
        "test_failure",
    )


def test_a_fix_nobody_carried_out_stays_open(kept: Kept) -> None:
    kept.attempt_log.fix_planned(FIX, "1.3", "claude")
    kept.attempt_log.fix_planned(FIX, "9.9", "another")
    (fix,) = kept.attempt_log.ended("failed").fixes
    assert (fix.for_id, fix.executor, fix.outcome) == ("1.3", "claude", "open")


def test_a_claim_holds_for_the_next_verification_only(kept: Kept) -> None:
    kept.attempt_log.fix_planned(FIX, "1.3", "claude")
    carry_out(kept, approach="")
    fail(kept)
    assert [one.approach for one in kept.attempt_log.tried] == ["approach not reported"]
    fail(kept)
    assert (
        kept.attempt_log.claimed,
        kept.attempt_log.claimed_by,
        len(kept.attempt_log.tried),
    ) == (
        False,
        "",
        1,
    )
    assert kept.attempt_log.approaches == []


def test_a_fix_whose_executor_fails_is_two_records_of_two_failures(kept: Kept) -> None:
    kept.attempt_log.fix_planned(FIX, "1.3", "somebody")
    carry_out(kept, failure=STUCK)
    assert kept.told("what", "outcome", "kind", "fix_id", "prediction") == [
        ("execute", "failed", "task_incomplete", "1.3.1", None),
        ("fix", "failed", "test_failure", "1.3.1", 0.7),
    ]
    result = kept.attempt_log.ended("failed")
    assert [(fix.outcome, fix.executor) for fix in result.fixes] == [("failed", "claude")]
    assert [(one.outcome, one.error, one.executor) for one in result.attempts] == [
        ("failed", "cannot", "claude")
    ]
    fail(kept)
    assert not kept.attempt_log.claimed


@pytest.mark.parametrize(
    ("failure", "kind", "outcome"), [(None, "", "passed"), (STUCK, "task_incomplete", "failed")]
)
def test_the_task_itself_carried_out_is_one_record_of_how_it_ended(
    kept: Kept, failure: Failure | None, kind: str, outcome: str
) -> None:
    run = ObservedRun(
        Outcome(completed=failure is None, failure=failure), GuardReport(), name="claude"
    )
    kept.attempt_log.carried_out(TASK, None, run)
    assert kept.told("what", "outcome", "kind", "fix_id", "prediction") == [
        ("execute", outcome, kind, "", None)
    ]
    assert kept.attempt_log.ended("failed").attempts[0].fix_id == ""


def test_a_repair_is_recorded_with_its_name(kept: Kept) -> None:
    fail(kept)
    kept.attempt_log.fix_planned(FIX, "1.3", "repair")
    made = RepairResult(True, "noted", (Change("run.sh", None, None),))
    kept.attempt_log.repaired(FIX, NO, REPAIR, made, prediction=0.5)

    assert kept.attempt_log.notes == [
        Note("repair chmod: noted", "1.3.1", is_detail=True),
        Note("undo: pytest --ralph-undo puts the files back", "1.3.1", is_detail=True),
    ]
    assert kept.attempt_log.repairs == ["chmod +x run.sh"]
    result = kept.attempt_log.ended("failed")
    attempt = result.attempts[1]
    assert (attempt.number, attempt.what, attempt.command) == (2, "repair", "chmod +x run.sh")
    assert (attempt.executor, attempt.outcome, attempt.fix_id) == (
        "repair:chmod",
        "passed",
        "1.3.1",
    )
    assert attempt.changed == ("run.sh",)
    assert [(fix.outcome, fix.executor) for fix in result.fixes] == [("completed", "repair:chmod")]
    assert kept.told("what", "outcome", "kind", "fix_id", "executor", "prediction")[1] == (
        "repair",
        "passed",
        NO.kind,
        "1.3.1",
        "repair:chmod",
        0.5,
    )


def test_a_repair_that_failed_is_no_fix(kept: Kept) -> None:
    fail(kept)
    kept.attempt_log.repaired(None, NO, REPAIR, RepairResult(False, "noted"), prediction=None)

    assert kept.attempt_log.notes == [Note("repair chmod: noted", "1.3", is_detail=True)]
    assert kept.attempt_log.repairs == ["chmod +x run.sh"]
    result = kept.attempt_log.ended("failed")
    assert (result.attempts[1].outcome, result.attempts[1].error) == ("failed", "noted")
    assert result.fixes == ()
    assert kept.told("what", "outcome", "fix_id")[1] == ("repair", "failed", "")


def test_what_goes_round_in_circles_is_of_that_type_from_then_on(kept: Kept) -> None:
    fail(kept)
    carry_out(kept)
    kept.attempt_log.found_circular()
    found = kept.attempt_log.last
    assert found is not None
    assert (found.type, found.retryable, found.error) == (CIRCULAR_FIX, False, NO.error)
    assert kept.attempt_log.last == found
    attempts = kept.attempt_log.ended("failed").attempts
    assert [(one.what, one.type, one.retryable) for one in attempts] == [
        ("verify", CIRCULAR_FIX, False),
        ("fix", "", True),
    ]


def test_a_task_whose_worker_died_has_failed_with_a_crash(kept: Kept) -> None:
    result = kept.attempt_log.crashed("gw3")
    error = "worker 'gw3' crashed while running it"
    assert (result.outcome, result.reason) == ("failed", error)
    assert [(one.number, one.kind, one.type, one.error) for one in result.attempts] == [
        (1, "crash", BROKEN_BUILD, error)
    ]
    assert result.report.startswith(f"Task failed: {error}\n")
    assert kept.attempt_log.last is not None
    assert (kept.attempt_log.last.task_id, kept.attempt_log.last.status) == ("1.3", "cut off")
    assert kept.told("what", "outcome", "kind", "error", "duration") == [
        ("verify", "failed", "crash", error, 0.0)
    ]


def test_a_run_that_was_cut_off_is_taken_up_after_the_last_fix_it_had_carried_out(
    kept: Kept,
) -> None:
    kept.attempt_log.resume(
        [
            Attempt(what="verify", outcome="failed", fingerprint="f1", tree="t1"),
            Attempt(what="repair", fix_id="1.3.1", approach="chmod +x run.sh"),
            Attempt(what="verify", outcome="failed", fingerprint="f2", tree="t2"),
            Attempt(what="verify", outcome="passed", fingerprint="f3", tree="t3"),
            Attempt(what="fix", fix_id="1.3.2", approach="by hand"),
            Attempt(what="fix", fix_id="1.3.2", approach=""),
            Attempt(what="verify", outcome="failed", fingerprint="f4", tree="t4"),
            Attempt(what="fix", fix_id="1.3.3", approach="not ended"),
        ],
        {"1.3.1", "1.3.2"},
    )
    attempt_log = kept.attempt_log
    assert (attempt_log.repairs, attempt_log.approaches) == (["chmod +x run.sh"], ["by hand"])
    assert (attempt_log.fingerprints, attempt_log.trees) == (("f1", "f2"), ("t1", "t2"))


def test_nothing_is_taken_up_where_no_fix_was_carried_out(kept: Kept) -> None:
    kept.attempt_log.resume(
        [
            Attempt(what="verify", outcome="failed", fingerprint="f1"),
            Attempt(what="fix", fix_id="1.3.1"),
        ],
        (),
    )
    assert kept.attempt_log.fingerprints == ()


def test_time_spent_waiting_is_no_time_of_the_task(kept: Kept) -> None:
    kept.attempt_log.waited = 100.0
    assert -101 < kept.attempt_log.ended("passed").duration < -50


def test_secrets_are_masked_in_the_story_the_lines_and_the_report() -> None:
    kept = Kept("hunter2")
    kept.attempt_log.note("it says hunter2")
    fail(kept, Failure(error="no hunter2", raw_output="hunter2\n"))
    result = kept.attempt_log.ended("failed", "because of hunter2")
    assert "hunter2" not in f"{result}"
    assert result.notes == (Note("it says ***"),)
    assert result.reason == "because of ***"
    assert "no ***" in result.report


@pytest.mark.parametrize("outcome", ["skipped", "manual", "blocked"])
def test_what_was_not_run_is_skipped(kept: Kept, outcome: str) -> None:
    result = kept.attempt_log.ended(outcome, "why")
    assert (result.skipped, result.passed) == (True, False)


def test_the_command_that_decided_is_told_with_its_log_and_what_was_expected_of_it(
    kept: Kept, tmp_path: Path
) -> None:
    checks = (
        Check("echo one"),
        Check("echo two; echo oops >&2; exit 3", (Expect("stdout", "==", 5),)),
    )
    with closing(Runner(root=tmp_path, environ=os.environ, logs=tmp_path / "logs")) as runner:
        verified = run_checks(Verify(checks), runner, RunContext(tmp_path, 30.0))
        kept.attempt_log.verified(verified, NO, timeout=30.0)
    (attempt,) = kept.attempt_log.ended("failed").attempts
    assert (attempt.command, attempt.exit_code, attempt.printed) == (
        checks[1].command,
        3,
        len("two\noops\n"),
    )
    assert (attempt.expected, attempt.got, attempt.beside) == (
        "stdout to be 5",
        "'two'",
        ("command 2 of 2",),
    )
    assert attempt.log


def test_a_log_that_could_not_be_kept_is_not_told_of(kept: Kept, tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file where a directory should be")
    with closing(Runner(root=tmp_path, environ=os.environ, logs=tmp_path / "logs")) as runner:
        verified = run_checks(Verify((Check("echo one"),)), runner, RunContext(tmp_path, 30.0))
        kept.attempt_log.verified(verified, None, timeout=30.0)
    (attempt,) = kept.attempt_log.ended("passed").attempts
    assert (attempt.log, attempt.printed) == ("", len("one\n"))


def test_attempts_of_earlier_runs_are_taken_over(kept: Kept) -> None:
    earlier = [
        Attempt(what="verify", outcome="failed", error="first"),
        Attempt(what="repair", outcome="failed", error="nothing to do", executor="repair:lint"),
        Attempt(what="execute", outcome="failed", error="overloaded", fix_id="1.3.2"),
        Attempt(what="fix", error="first", fix_id="1.3.2", executor="claude", approach="guess"),
        Attempt(what="verify", outcome="failed", error="second"),
        Attempt(what="execute", outcome="failed", error="cannot", fix_id="1.3.3"),
        Attempt(what="fix", outcome="failed", error="second", fix_id="1.3.3", executor="codex"),
        Attempt(what="verify", outcome="failed", error="third"),
    ]
    kept.attempt_log.add_earlier(earlier, ["1.3.1", "1.3.2"])

    lines = [(one.task_id, one.origin, one.approach, one.result) for one in kept.attempt_log.tried]
    assert lines == [
        ("1.3.1", "earlier", "approach not reported", "it did not help"),
        ("1.3.2", "earlier, by claude", "guess", "second"),
        ("1.3.3", "earlier, by codex", "approach not reported", "cannot"),
    ]
    # A new run may try again what did not help in another one.
    assert not kept.attempt_log.approaches
