"""Why an executor itself could not work, read from the end of its run."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from pytest_ralph.failure.agent_limits import meaning_of_error
from pytest_ralph.fixing.agents.base import Trouble
from pytest_ralph.fixing.agents.events import message_in_log
from pytest_ralph.fixing.agents.finished_run import last_lines
from pytest_ralph.fixing.agents.reset_time import reset_time
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from pytest_ralph.fixing.agents.finished_run import FinishedRun
    from pytest_ralph.fixing.agents.outcome import Reason

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
SYNTAX_ERROR = re.compile(r".*\b(?:syntax|indentation) ?error\b.*", re.IGNORECASE)
LONGEST_LOG_LINE = 300


def trouble_of(run: FinishedRun, reason: Reason) -> Trouble | None:
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
        return f"{run.exit_status}: {printed}"
    return f"{run.exit_status} and printed nothing"


def _trouble_of_command(run: FinishedRun, reason: Reason) -> Trouble | None:
    """Return the trouble of an agent that a shell command started."""
    if reason.kind == "command_not_found":
        return Trouble("not_installed", _first_line(run.log) or "command not found")
    if run.ran_out_of_time and not run.worked:
        return Trouble("hung", reason.error)
    if run.result.exit_code != 0:
        syntax_error = SYNTAX_ERROR.search(run.log)
        if syntax_error and run.blames_itself:
            return Trouble("refused", one_line(syntax_error[0]))
    if reason.kind == "service_unavailable":
        return _trouble_in_line(reason.error)
    return _trouble_in_answer(run)


def _trouble_in_answer(run: FinishedRun) -> Trouble | None:
    """Return the error of an agent that the last lines of a failed run report."""
    if run.result.exit_code == 0:
        return None
    for line in last_lines(f"{run.answer.strip()}\n{run.log.strip()}").splitlines():
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
    return one_line(next(iter(lines), ""))
