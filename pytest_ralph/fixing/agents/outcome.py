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
from pytest_ralph.failure.executor_words import Claims, read_claims
from pytest_ralph.failure.failure import NOT_COMPLETE, Failure
from pytest_ralph.failure.fingerprint import fingerprint
from pytest_ralph.failure.kinds import Kinds
from pytest_ralph.fixing.agents.base import Job, Outcome
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.fixing.agents.transcript import Transcript
    from pytest_ralph.running.runner import CommandResult

# The exit status of a shell that does not find the program.
NOT_FOUND = 127
OUTPUT_LIMIT = 16 * 1024
LOG_LIMIT = 8 * 1024
LAST_LINES = 8
FATAL_SIGNALS = (
    signal.SIGILL,
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGKILL,
    signal.SIGSEGV,
)
ERROR_WORDS = re.compile(
    r"error|exception|exceed|reached|exhausted|overloaded|too (?:long|many|large|low)|unavailable"
    r"|try again|ran out|hit (?:your|the|a)|\b429\b|\b5\d\d\b|used up|insufficient",
    re.IGNORECASE,
)
INTERRUPTED = "interrupted before it ended"
TIME_LIMIT_BLOCKER = "Time limit insufficient"


class Reason(NamedTuple):
    """Why a run does not count as completed. An empty field is left to the evidence to decide."""

    kind: str = ""
    error: str = ""


def read_outcome(
    job: Job,
    result: CommandResult,
    transcript: Transcript,
    *,
    root: Path,
    kinds: Kinds | None,
    must_answer: bool,
) -> Outcome:
    """Return the outcome of a run that has ended.

    `must_answer` is true for agents: one that prints no answer has not completed its task, whatever
    its exit status.
    """
    answer = without_prompt(transcript.text, job.prompt)
    claims = read_claims(answer)
    reason = _why_incomplete(job, result, transcript, answer, claims, must_answer)
    output = answer[-OUTPUT_LIMIT:]

    if reason is None:
        unmarked = must_answer and not claims.complete
        return Outcome(
            completed=True,
            session_id=transcript.session_id,
            ended=result,
            note="ended without TASK_COMPLETE" if unmarked else "",
            output=output,
        )

    failure = _failure(job, result, transcript, answer, reason, root, kinds or Kinds.load())
    # A session whose context is full cannot be continued.
    resumable = failure.kind != "context_exhausted"
    return Outcome(
        completed=False,
        failure=failure,
        session_id=transcript.session_id if resumable else "",
        ended=result,
        note=f"{failure.kind}: {failure.error}",
        output=output,
    )


def not_started(
    job: Job, error: Exception, *, kinds: Kinds | None, missing: str | None = None
) -> Outcome:
    """Return the outcome for an executor that could not be started.

    `missing` is the message to show if its program is not installed.
    """
    kinds = kinds or Kinds.load()
    if missing:
        reason = Reason("command_not_found", missing)
        evidence = Evidence(output=str(error), exit_code=NOT_FOUND, source="executor")
    else:
        reason = Reason(error=f"executor could not be started: {one_line(str(error))}")
        evidence = Evidence(output=str(error), exit_code=None, source="executor")

    failure = _with_reason(classify_evidence(evidence, kinds), reason, evidence, kinds)
    # A fix of the fix cannot help: the same executor would have to make it.
    failure = replace(failure, task_id=job.task_id, retryable=False)
    return Outcome(completed=False, failure=failure, note=reason.error)


def without_prompt(text: str, prompt: str) -> str:
    """Return `text` without the prompt, which some programs print back."""
    prompt = prompt.strip()
    return text.replace(prompt, "") if prompt else text


def _why_incomplete(
    job: Job,
    result: CommandResult,
    transcript: Transcript,
    answer: str,
    claims: Claims,
    must_answer: bool,
) -> Reason | None:
    """Return the first reason that applies: how it ended, what it reported, what it said last."""
    if result.interrupted:
        return Reason(error=INTERRUPTED)
    if result.timed_out:
        return Reason("timeout", f"executor timed out after {job.timeout:g} s")
    if transcript.error:
        return Reason(transcript.error_kind, one_line(transcript.error))

    number = _fatal_signal(result)
    if number:
        name = signal.strsignal(number)
        return Reason("crash", f"executor was killed by signal {number} ({name})")

    if result.exit_code == NOT_FOUND and not must_answer:
        return Reason("command_not_found")
    if result.exit_code != 0 or claims.failed_block or claims.report:
        return Reason()
    if answer.strip():
        return _why_doubtful(transcript, answer, claims)
    return Reason("task_incomplete", NOT_COMPLETE) if must_answer else None


def _why_doubtful(transcript: Transcript, answer: str, claims: Claims) -> Reason | None:
    """Return the reason if the answer of a run that exited with 0 says that it failed."""
    if claims.contradiction and (claims.complete or claims.manual):
        return Reason("verification_mismatch", claims.contradiction)
    if claims.contradiction and transcript.has_events:
        return Reason("task_incomplete", claims.contradiction)
    if claims.complete or transcript.has_events:
        return None

    # A program without events prints an error of its service as its last words.
    last_lines = "\n".join(answer.split("\n")[-LAST_LINES:])
    limit = _limit(read_claims(last_lines))
    if limit is not None and ERROR_WORDS.search(limit.error):
        return limit
    return None


def _limit(claims: Claims) -> Reason | None:
    if claims.context_limit:
        return Reason("context_exhausted", claims.context_limit)
    if claims.rate_limit:
        return Reason("service_unavailable", claims.rate_limit)
    return None


def _fatal_signal(result: CommandResult) -> int:
    """Return the signal that ended the executor or a command of its script, or 0."""
    if result.signal:
        return result.signal
    # A shell reports that signal n ended its command as status 128 + n.
    number = (result.exit_code or 0) - 128
    return number if number in FATAL_SIGNALS else 0


def _failure(
    job: Job,
    result: CommandResult,
    transcript: Transcript,
    answer: str,
    reason: Reason,
    root: Path,
    kinds: Kinds,
) -> Failure:
    log = result.stderr.text(0, LOG_LIMIT) if result.stderr else ""
    texts = (answer, transcript.error, without_prompt(log, job.prompt))
    evidence = Evidence(
        output="\n".join(text for text in texts if text.strip()),
        exit_code=result.exit_code,
        command=result.command,
        root=root,
        timed_out=result.timed_out,
        signal=result.signal,
        timeout=job.timeout,
        duration=result.duration,
        source="executor",
    )
    failure = _with_reason(classify_evidence(evidence, kinds), reason, evidence, kinds)

    edited = transcript.edited_files(root)
    return replace(
        failure,
        task_id=job.task_id,
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
