"""Fixing: judge how an executor's run went: an Outcome, from how it CommandResult and the Conversation that was had.

An executor is never believed on its exit status alone: several agents end with 0 after an error of their
service, and a cheerful last message may say in passing that the work is left to somebody else.
"""

from __future__ import annotations

import re
import signal
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.failure.advice import guidance, suggested_actions
from pytest_ralph.failure.claims import Claims, read_claims
from pytest_ralph.failure.classify import classify_evidence
from pytest_ralph.failure.evidence import Evidence
from pytest_ralph.failure.failure import NOT_COMPLETE, Failure
from pytest_ralph.failure.fingerprint import fingerprint
from pytest_ralph.failure.kinds import Kinds
from pytest_ralph.fixing.agents.base import Job, Outcome
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.fixing.agents.conversation import Conversation
    from pytest_ralph.running.runner import CommandResult

# What a shell says of a command line that names no program.
NOT_FOUND = 127
SAID = 16 * 1024
LOGGED = 8 * 1024
LAST_LINES = 8
FATAL = (
    signal.SIGILL,
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGKILL,
    signal.SIGSEGV,
)
SOUNDS_LIKE_AN_ERROR = re.compile(
    r"error|exception|exceed|reached|exhausted|overloaded|too (?:long|many|large|low)|unavailable|try again|ran out"
    r"|hit (?:your|the|a)|\b429\b|\b5\d\d\b|used up|insufficient",
    re.IGNORECASE,
)
INTERRUPTED = "interrupted before it ended"
BLOCKERS = {"timeout": "Time limit insufficient"}


class Trouble(NamedTuple):
    """Why a run does not count as carried out. What is left empty is for the evidence to say."""

    kind: str = ""
    error: str = ""


def judge(
    job: Job,
    ended: CommandResult,
    talk: Conversation,
    *,
    root: Path,
    kinds: Kinds | None,
    must_speak: bool,
) -> Outcome:
    """`must_speak`: an agent that says nothing at all has not finished, whatever its exit status."""
    said = without_echo(talk.text, job.prompt)
    claims = read_claims(said)
    trouble = _trouble(job, ended, talk, said, claims, must_speak)
    output = said[-SAID:]
    if trouble is None:
        note = "" if claims.complete or not must_speak else "ended without TASK_COMPLETE"
        return Outcome(
            completed=True, session_id=talk.session_id, ended=ended, note=note, output=output
        )
    failure = _failure(job, ended, talk, said, trouble, root, kinds or Kinds.load())
    return Outcome(
        completed=False,
        failure=failure,
        # A session whose context is full cannot be continued: the next one starts with an empty one.
        session_id="" if failure.kind == "context_exhausted" else talk.session_id,
        ended=ended,
        note=f"{failure.kind}: {failure.error}",
        output=output,
    )


def could_not_run(
    job: Job, error: Exception, *, kinds: Kinds | None, missing: str | None = None
) -> Outcome:
    """The executor could not even be started; `missing` says so when its program is not there."""
    kinds = kinds or Kinds.load()
    why = missing or f"executor could not be started: {one_line(str(error))}"
    evidence = Evidence(output=str(error), exit_code=127 if missing else None, source="executor")
    trouble = Trouble("command_not_found" if missing else "", why)
    failure = _settled(classify_evidence(evidence, kinds), trouble, evidence, kinds)
    # No fix of a fix can help: whoever would make it cannot be started either.
    return Outcome(
        completed=False, failure=replace(failure, task_id=job.task_id, retryable=False), note=why
    )


def without_echo(text: str, prompt: str) -> str:
    """What was said without our own words in it: some programs print the prompt they were given."""
    prompt = prompt.strip()
    return text.replace(prompt, "") if prompt else text


def _trouble(
    job: Job, ended: CommandResult, talk: Conversation, said: str, claims: Claims, agent: bool
) -> Trouble | None:
    """The first that applies: how it ended, what the program reported, what its last words amount to."""
    if ended.interrupted:
        return Trouble(error=INTERRUPTED)
    if ended.timed_out:
        return Trouble("timeout", f"executor timed out after {job.timeout:g} s")
    if talk.error:
        return Trouble(talk.error_kind, one_line(talk.error))
    if number := _killed_by(ended):
        return Trouble(
            "crash", f"executor was killed by signal {number} ({signal.strsignal(number)})"
        )
    if ended.exit_code == NOT_FOUND and not agent:
        return Trouble("command_not_found")
    if ended.exit_code != 0 or claims.failed_block or claims.report:
        return Trouble()
    if said.strip():
        return _doubtful_words(talk, said, claims)
    return Trouble("task_incomplete", NOT_COMPLETE) if agent else None


def _doubtful_words(talk: Conversation, said: str, claims: Claims) -> Trouble | None:
    """It ended well, and yet its words may say otherwise."""
    if claims.contradiction and (claims.complete or claims.manual):
        return Trouble("verification_mismatch", claims.contradiction)
    if claims.contradiction and talk.heard:
        return Trouble("task_incomplete", claims.contradiction)
    if claims.complete or talk.heard:
        return None
    # A program without events of its own: an error of its service is the last thing it prints.
    limit = _limit(read_claims("\n".join(said.split("\n")[-LAST_LINES:])))
    return limit if limit and SOUNDS_LIKE_AN_ERROR.search(limit.error) else None


def _limit(claims: Claims) -> Trouble | None:
    if claims.context_limit:
        return Trouble("context_exhausted", claims.context_limit)
    return Trouble("service_unavailable", claims.rate_limit) if claims.rate_limit else None


def _killed_by(ended: CommandResult) -> int:
    """The signal that ended it, or one of its commands, by the status a shell then gives; 0 for none."""
    status = (ended.exit_code or 0) - 128
    return ended.signal or (status if status in FATAL else 0)


def _failure(
    job: Job,
    ended: CommandResult,
    talk: Conversation,
    said: str,
    trouble: Trouble,
    root: Path,
    kinds: Kinds,
) -> Failure:
    logged = ended.stderr.text(0, LOGGED) if ended.stderr else ""
    evidence = Evidence(
        output="\n".join(
            part for part in (said, talk.error, without_echo(logged, job.prompt)) if part.strip()
        ),
        exit_code=ended.exit_code,
        command=ended.command,
        root=root,
        timed_out=ended.timed_out,
        signal=ended.signal,
        timeout=job.timeout,
        duration=ended.duration,
        source="executor",
    )
    failure = _settled(classify_evidence(evidence, kinds), trouble, evidence, kinds)
    changed = talk.files(root)
    return replace(
        failure,
        task_id=job.task_id,
        files_modified=failure.files_modified or changed,
        completed_steps=failure.completed_steps or tuple(f"Changed {path}" for path in changed),
        tool_usage=dict(talk.tools),
        last_successful_tool=talk.last_tool,
        session_id=talk.session_id,
    )


def _settled(failure: Failure, trouble: Trouble, evidence: Evidence, kinds: Kinds) -> Failure:
    """The failure as its text tells it, except where we know better."""
    if trouble == Trouble():
        return failure
    if trouble.kind and trouble.kind != failure.kind:
        row = kinds[trouble.kind]
        failure = replace(
            failure, kind=row.name, type=row.type, category=row.category, retryable=row.retryable
        )
    if trouble.error:
        failure = replace(
            failure, error=trouble.error, blocked_on=BLOCKERS.get(failure.kind, trouble.error)
        )
    return replace(
        failure,
        guidance=guidance(failure, kinds),
        suggested_actions=suggested_actions(failure, evidence, kinds),
        fingerprint=fingerprint(failure),
    )
