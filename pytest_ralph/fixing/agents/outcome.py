"""Read from the end of an executor run and its transcript how the run went.

The exit status alone is not enough: several agents exit with 0 after an error of their service, and
a message that claims success may say in passing that part of the work is left to a person.
"""

from __future__ import annotations

import re
import signal
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.failure.advice import guidance, suggested_actions
from pytest_ralph.failure.classify import classify_evidence
from pytest_ralph.failure.evidence import Evidence
from pytest_ralph.failure.executor_words import read_claims
from pytest_ralph.failure.failure import NOT_COMPLETE, Failure
from pytest_ralph.failure.fingerprint import fingerprint
from pytest_ralph.fixing.agents.base import Job, Outcome, Trouble
from pytest_ralph.fixing.agents.finished_run import last_lines
from pytest_ralph.fixing.agents.trouble import trouble_of
from pytest_ralph.shell.statuses import NOT_FOUND
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from pytest_ralph.failure.executor_words import Claims
    from pytest_ralph.failure.kinds import Kinds
    from pytest_ralph.fixing.agents.finished_run import FinishedRun
    from pytest_ralph.running.runner import CommandResult

OUTPUT_LIMIT = 16 * 1024
# By name: Windows, where prompts can be explained, does not have all of them.
FATAL_SIGNALS = frozenset(
    getattr(signal, name, -1)
    for name in ("SIGILL", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGSEGV")
)
ERROR_WORDS = re.compile(
    r"error|exception|exceed|reached|exhausted|overloaded|too (?:long|many|large|low)|unavailable"
    r"|try again|ran out|hit (?:your|the|a)|\b429\b|\b5\d\d\b|used up|insufficient",
    re.IGNORECASE,
)
INTERRUPTED = "interrupted before it finished"
TIME_LIMIT_BLOCKER = "Time limit insufficient"


class Reason(NamedTuple):
    """Why a run does not count as completed. An empty field is left to the evidence to decide."""

    kind: str = ""
    error: str = ""


def read_outcome(run: FinishedRun, kinds: Kinds) -> Outcome:
    """Return the outcome of a run that has ended."""
    transcript = run.transcript
    reason = _why_incomplete(run)
    outcome = Outcome(
        completed=reason is None,
        session_id=transcript.session_id,
        ended=run.result,
        output=run.answer[-OUTPUT_LIMIT:],
        usage=transcript.usage,
        tools=dict(transcript.tools),
        denied=tuple(transcript.denied),
        worked=run.worked,
    )
    if reason is None:
        if run.is_agent and not run.claims.complete:
            outcome = replace(outcome, note="ended without TASK_COMPLETE")
        return outcome

    failure = _failure(run, reason, kinds)
    if failure.kind == "context_exhausted":
        # A session whose context is full cannot be continued.
        outcome = replace(outcome, session_id="")
    trouble = trouble_of(run, reason)
    if trouble is not None:
        return replace(outcome, failure=failure, trouble=trouble, note=str(trouble))
    return replace(
        outcome,
        failure=failure,
        note=f"{failure.kind}: {failure.error}",
        uninformative=_is_uninformative(run, reason),
    )


def not_started(
    job: Job, error: Exception, kinds: Kinds, program: str = "", why: str | None = None
) -> Outcome:
    """Return the outcome for an executor that could not be started.

    `why` is the message to show if its `program` is not installed.
    """
    if why:
        reason = Reason("command_not_found", why)
        trouble = Trouble("not_installed", why)
        evidence = Evidence(output=str(error), exit_code=NOT_FOUND, source="executor")
        missing = program
    else:
        reason = Reason(error=f"executor could not be started: {one_line(str(error))}")
        trouble = Trouble("refused", reason.error)
        evidence = Evidence(output=str(error), exit_code=None, source="executor")
        missing = None

    failure = _with_reason(classify_evidence(evidence, kinds), reason, evidence, kinds)
    # A fix of the fix cannot help: the same executor would have to make it.
    failure = replace(failure, task_id=job.task_id, retryable=False, missing=missing)
    return Outcome(completed=False, failure=failure, trouble=trouble, note=reason.error)


def _why_incomplete(run: FinishedRun) -> Reason | None:
    """Return the first reason that applies: how it ended, what it reported, what it said last."""
    stopped = _why_stopped(run)
    if stopped is not None:
        return stopped
    if run.result.exit_code != 0:
        return _why_nonzero(run)
    if run.claims.failed_block or run.claims.report:
        return Reason()
    if run.answer.strip():
        return _why_doubtful(run)
    if run.is_agent:
        return Reason("task_incomplete", NOT_COMPLETE)
    return None


def _why_stopped(run: FinishedRun) -> Reason | None:
    """Return what kept a run from its end: a person, a time limit, an error or a signal."""
    result = run.result
    transcript = run.transcript
    if result.interrupted:
        return Reason(error=INTERRUPTED)
    if result.idle:
        return Reason("timeout", f"executor made no progress for {run.job.idle_limit:.0f} s")
    if result.timed_out:
        return Reason("timeout", f"executor timed out after {run.job.timeout:g} s")
    if transcript.error:
        return Reason(transcript.meaning.kind, one_line(transcript.error))

    number = _fatal_signal(result)
    if number:
        name = signal.strsignal(number)
        return Reason("crash", f"executor was killed by signal {number} ({name})")
    return None


def _why_nonzero(run: FinishedRun) -> Reason:
    """Return what an exit status other than 0 says; the output may say more."""
    if run.result.exit_code == NOT_FOUND and not run.is_agent:
        return Reason("command_not_found")
    printed = f"{run.answer}{run.log}".strip()
    if not printed:
        return Reason(error=f"{run.exit_status} and printed nothing")
    return Reason()


def _why_doubtful(run: FinishedRun) -> Reason | None:
    """Return the reason if the answer of a run that exited with 0 says that it failed."""
    claims = run.claims
    has_events = run.transcript.has_events
    if claims.contradiction:
        if claims.complete or claims.manual:
            return Reason("verification_mismatch", claims.contradiction)
        if has_events:
            return Reason("task_incomplete", claims.contradiction)
    if claims.complete or has_events:
        return None

    # A program without events prints an error of its service as its last words.
    limit = _limit(read_claims(last_lines(run.answer)))
    if limit is not None and ERROR_WORDS.search(limit.error):
        return limit
    return None


def _limit(claims: Claims) -> Reason | None:
    if claims.context_limit:
        return Reason("context_exhausted", claims.context_limit)
    if claims.rate_limit:
        return Reason("service_unavailable", claims.rate_limit)
    return None


def _is_uninformative(run: FinishedRun, reason: Reason) -> bool:
    """Return whether an agent's model gave no answer, or an error that means nothing to us.

    A script that crashed by itself says nothing about the project either.
    """
    if run.is_agent:
        is_unknown_error = bool(run.transcript.error) and not reason.kind
        return is_unknown_error or reason.error == NOT_COMPLETE
    if run.claims.failed_block:
        return False
    return "Traceback (most" in run.log and run.blames_itself


def _fatal_signal(result: CommandResult) -> int:
    """Return the signal that ended the executor or a command of its script, or 0."""
    if result.signal:
        return result.signal
    # A shell reports that signal n ended its command as status 128 + n.
    number = (result.exit_code or 0) - 128
    return number if number in FATAL_SIGNALS else 0


def _failure(run: FinishedRun, reason: Reason, kinds: Kinds) -> Failure:
    result = run.result
    transcript = run.transcript
    texts = (run.answer, transcript.error, run.log)
    evidence = Evidence(
        output="\n".join(text for text in texts if text.strip()),
        exit_code=result.exit_code,
        command=result.command,
        root=run.root,
        timed_out=run.ran_out_of_time,
        signal=result.signal,
        timeout=run.job.timeout,
        duration=result.duration,
        source="executor",
    )
    failure = _with_reason(classify_evidence(evidence, kinds), reason, evidence, kinds)

    edited = transcript.edited_files(run.root)
    return replace(
        failure,
        task_id=run.job.task_id,
        files_modified=failure.files_modified or edited,
        completed_steps=failure.completed_steps or tuple(f"Changed {path}" for path in edited),
        tool_usage=dict(transcript.tools),
        last_successful_tool=transcript.last_tool,
        session_id=transcript.session_id,
    )


def _with_reason(failure: Failure, reason: Reason, evidence: Evidence, kinds: Kinds) -> Failure:
    """Return `failure`, which was read from the output, with what `reason` knows better."""
    if reason == Reason():
        return failure

    if reason.kind and reason.kind != failure.kind:
        row = kinds[reason.kind]
        failure = replace(
            failure, kind=row.name, type=row.type, category=row.category, retryable=row.retryable
        )
    if reason.error:
        blocker = TIME_LIMIT_BLOCKER if failure.kind == "timeout" else reason.error
        failure = replace(failure, error=reason.error, blocked_on=blocker)
    return replace(
        failure,
        guidance=guidance(failure, kinds),
        suggested_actions=suggested_actions(failure, evidence, kinds),
        fingerprint=fingerprint(failure),
    )
