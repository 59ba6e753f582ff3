"""Read from the end of an executor run and its transcript how the run went.

The exit status alone is not enough: several agents exit with 0 after an error of their service, and
a message that claims success may say in passing that part of the work is left to a person.
"""

from __future__ import annotations

import re
import signal
import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.failure.advice import guidance, suggested_actions
from pytest_ralph.failure.agent_limits import meaning_of_error
from pytest_ralph.failure.classify import classify_evidence
from pytest_ralph.failure.evidence import Evidence
from pytest_ralph.failure.executor_words import Claims, read_claims
from pytest_ralph.failure.failure import NOT_COMPLETE, Failure
from pytest_ralph.failure.fingerprint import fingerprint
from pytest_ralph.fixing.agents.base import Job, Outcome, Trouble
from pytest_ralph.fixing.agents.events import is_banner, message_in_log
from pytest_ralph.fixing.agents.reset_time import reset_time
from pytest_ralph.shell.statuses import NOT_FOUND
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.failure.kinds import Kinds
    from pytest_ralph.fixing.agents.transcript import Transcript
    from pytest_ralph.running.runner import CommandResult

OUTPUT_LIMIT = 16 * 1024
LOG_LIMIT = 8 * 1024
LAST_LINES = 8
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
# Errors of agents that a shell command may have started. Narrower than the patterns for an agent's
# own events, because the output of a script may be about the project as well.
AGENT_ERROR = re.compile(
    r"invalid api key|please run /login|not logged in|credit balance is too low|usage limit reached"
    r"|(?:authentication|overloaded|rate_limit|billing)_error|insufficient_quota"
    r"|api error\W+(?:[45]\d\d\b|connection error|request timed out)|unable to connect to api\b"
    r"|\b529\b|rate limit (?:exceeded|reached)|quota exceeded|hit your (?:\w+ )?limit\b"
    r"|exceeded retry limit|stream disconnected|cannot be used with root\b"
    r"|stdin is not a terminal|requires an interactive terminal|please set an auth method"
    r"|litellm\.\w*(?:RateLimit|Authentication|ServiceUnavailable|APIConnection)\w*Error",
    re.IGNORECASE,
)
# A line of a log that reports an error: stack traces and warnings name connections as well.
ERROR_IN_LOG = re.compile(r"error|failed|cannot|unable|not logged in|invalid|denied", re.IGNORECASE)
# A line that names a wrong argument or setting; it stands above the usage, or below.
USAGE_ERROR = re.compile(r"error|unknown|unexpected|unrecognized|invalid|cannot", re.IGNORECASE)
# A place in a script that its shell or Python names in an error: `agent.sh: line 2: …`.
PLACE_IN_SCRIPT = re.compile(
    r"^(?:\S+: (?=-c: )|\S*/)?(?P<shell>[^/\s:]+): (?:line )?\d+: "
    r'|^ *File "(?:[^"]*/)?(?P<python>[^"/]+)", line \d+',
    re.MULTILINE,
)
SYNTAX_ERROR = re.compile(r".*\b(?:syntax|indentation) ?error\b.*", re.IGNORECASE)
LONGEST_LOG_LINE = 300
INTERRUPTED = "interrupted before it finished"
TIME_LIMIT_BLOCKER = "Time limit insufficient"


class Reason(NamedTuple):
    """Why a run does not count as completed. An empty field is left to the evidence to decide."""

    kind: str = ""
    error: str = ""


@dataclass(frozen=True)
class FinishedRun:
    """An executor run that has ended: its job, its process and what it said and did.

    `is_agent` is true for presets: a preset that prints no answer has not completed its task,
    whatever its exit status.
    """

    job: Job
    result: CommandResult
    transcript: Transcript
    root: Path
    is_agent: bool

    @cached_property
    def answer(self) -> str:
        """The last message, without the prompt that some programs print back."""
        return without_prompt(self.transcript.text, self.job.prompt)

    @cached_property
    def claims(self) -> Claims:
        """What the answer says about the work."""
        return read_claims(self.answer)

    @cached_property
    def log(self) -> str:
        """The end of what was printed on stderr."""
        stderr = self.result.stderr
        if stderr is None:
            return ""
        return without_prompt(stderr.text(0, LOG_LIMIT), self.job.prompt)

    @property
    def worked(self) -> bool:
        """Whether the executor said or did anything; a banner does not count."""
        if self.is_agent:
            return self.transcript.worked
        lines = f"{self.answer}\n{self.log}".splitlines()
        return not all(is_banner(line) for line in lines)

    @property
    def ran_out_of_time(self) -> bool:
        """Whether the run was ended because of its time limit, or because it was idle."""
        return self.result.timed_out or self.result.idle


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
    trouble = _trouble(run, reason)
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


def without_prompt(text: str, prompt: str) -> str:
    """Return `text` without the prompt, which some programs print back."""
    prompt = prompt.strip()
    if not prompt:
        return text
    return text.replace(prompt, "")


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
        return Reason(error=f"{_exit_status(run)} and printed nothing")
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
    limit = _limit(read_claims(_last_lines(run.answer)))
    if limit is not None and ERROR_WORDS.search(limit.error):
        return limit
    return None


def _limit(claims: Claims) -> Reason | None:
    if claims.context_limit:
        return Reason("context_exhausted", claims.context_limit)
    if claims.rate_limit:
        return Reason("service_unavailable", claims.rate_limit)
    return None


def _last_lines(text: str) -> str:
    return "\n".join(text.rstrip().split("\n")[-LAST_LINES:])


def _is_uninformative(run: FinishedRun, reason: Reason) -> bool:
    """Return whether an agent's model gave no answer, or an error that means nothing to us.

    A script that crashed by itself says nothing about the project either.
    """
    if run.is_agent:
        is_unknown_error = bool(run.transcript.error) and not reason.kind
        return is_unknown_error or reason.error == NOT_COMPLETE
    if run.claims.failed_block:
        return False
    return "Traceback (most" in run.log and _blames_itself(run)


def _trouble(run: FinishedRun, reason: Reason) -> Trouble | None:
    """Return why the executor itself could not work, or None if it could."""
    if run.result.interrupted or reason.kind == "context_exhausted":
        return None
    transcript = run.transcript
    if transcript.meaning.reason:
        return Trouble(transcript.meaning.reason, one_line(transcript.error), transcript.resets_at)
    if run.is_agent:
        return _trouble_of_agent(run, reason)
    return _trouble_of_command(run, reason)


def _trouble_of_agent(run: FinishedRun, reason: Reason) -> Trouble | None:
    """Return the trouble of an agent whose events do not tell what it is."""
    has_answered = run.worked and not run.result.idle
    if run.transcript.error or has_answered:
        if run.transcript.has_events:
            return None
        return _trouble_in_answer(run)

    # The log may say why nothing happens, for example that the program retries for ever.
    trouble = _trouble_in_log(run.log)
    if trouble is not None or run.worked:
        return trouble
    if run.ran_out_of_time:
        return Trouble("hung", reason.error)
    if run.result.exit_code != 0:
        return Trouble("refused", _why_refused(run))
    return None


def _why_refused(run: FinishedRun) -> str:
    """Return what an agent printed that ended before it said or did anything."""
    for line in run.log.splitlines():
        if USAGE_ERROR.search(line):
            return one_line(line)
    printed = _first_line(run.log)
    if printed:
        return f"{_exit_status(run)}: {printed}"
    return f"{_exit_status(run)} and printed nothing"


def _exit_status(run: FinishedRun) -> str:
    return f"exited with {run.result.exit_code}"


def _trouble_of_command(run: FinishedRun, reason: Reason) -> Trouble | None:
    """Return the trouble of an agent that a shell command started."""
    if reason.kind == "command_not_found":
        return Trouble("not_installed", _first_line(run.log) or "command not found")
    if run.ran_out_of_time and not run.worked:
        return Trouble("hung", reason.error)
    if run.result.exit_code != 0:
        syntax_error = SYNTAX_ERROR.search(run.log)
        if syntax_error and _blames_itself(run):
            return Trouble("refused", one_line(syntax_error[0]))
    if reason.kind == "service_unavailable":
        return _trouble_in_line(reason.error)
    return _trouble_in_answer(run)


def _blames_itself(run: FinishedRun) -> bool:
    """Return whether an error names the executor's own command line or a script in it."""
    own_names = {"-c"}
    for word in run.result.command.split():
        own_names.add(word.rpartition("/")[2])
    for place in PLACE_IN_SCRIPT.finditer(run.log):
        if own_names.intersection(place.groups()):
            return True
    return False


def _trouble_in_answer(run: FinishedRun) -> Trouble | None:
    """Return the error of an agent that the last lines of a failed run report."""
    if run.result.exit_code == 0:
        return None
    for line in _last_lines(f"{run.answer.strip()}\n{run.log.strip()}").splitlines():
        if AGENT_ERROR.search(line):
            return _trouble_in_line(line)
    return None


def _trouble_in_line(line: str) -> Trouble:
    """Return the trouble that one line of an agent's output is about."""
    reason = meaning_of_error(line).reason or "service"
    return Trouble(reason, one_line(line), reset_time(line, time.time()))


def _trouble_in_log(log: str) -> Trouble | None:
    for line in reversed(log.splitlines()):
        meaning = meaning_of_error(line)
        if meaning.reason and ERROR_IN_LOG.search(line):
            return Trouble(meaning.reason, one_line(message_in_log(line), LONGEST_LOG_LINE))
    return None


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return one_line(lines[0]) if lines else ""


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
