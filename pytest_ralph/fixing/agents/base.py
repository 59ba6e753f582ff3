"""Executor: takes a Job, which is one task to carry out, and returns its Outcome.

A `Trouble` is why an executor itself cannot work, which is no failure of the project.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.running.runner import CommandResult, Runner

# Reason → how it is shown.
REASONS = {
    "rate_limit": "rate limit",
    "quota": "quota used up",
    "overload": "service overloaded",
    "service": "service error",
    "network": "network error",
    "login": "not logged in",
    "billing": "billing problem",
    "refused": "refused to start",
    "not_installed": "not installed",
    "hung": "no progress",
}
# Reasons that pass by themselves, so that waiting can help.
PASSING = frozenset({"rate_limit", "quota", "overload", "service", "network"})


@dataclass(frozen=True)
class Trouble:
    """`reason` is a key of REASONS, `message` one line in the executor's own words.

    `resets_at` is when a limit ends, in seconds since the epoch, if the executor says so.
    """

    reason: str
    message: str
    resets_at: float | None = None

    @property
    def can_pass(self) -> bool:
        """Whether the executor may work again after a while."""
        return self.reason in PASSING

    def __str__(self) -> str:
        return f"{REASONS[self.reason]}: {self.message}"


# An agent needs some seconds to start, and its model some more for a first answer.
SHORTEST_IDLE_LIMIT = 10.0


@dataclass(frozen=True, kw_only=True)
class Job:
    """One task for an executor.

    `session_id` names an earlier run of that executor to continue. `verify` are the commands that
    the executor may run and `files` the files to start from. What the executor leaves running is
    ended with it, or lives on under the name `kept_as` until the runner releases that.
    """

    task_id: str
    prompt: str
    timeout: float | None = None
    fix_for: str = ""
    spec_path: Path | str = ""
    kind: str = ""
    attempt: int = 1
    session_id: str = ""
    files: tuple[str, ...] = ()
    verify: tuple[str, ...] = ()
    kept_as: str = ""

    @property
    def idle_limit(self) -> float | None:
        """Seconds without a tool call, a word or a changed file after which the run is ended."""
        if self.timeout is None:
            return None
        return max(self.timeout / 3, SHORTEST_IDLE_LIMIT)

    def environment(self, prompt_file: Path) -> dict[str, str]:
        """Return the variables of the executor protocol."""
        return {
            "RALPH_PROMPT_FILE": str(prompt_file),
            "RALPH_TASK_ID": self.task_id,
            "RALPH_FIX_FOR": self.fix_for,
            "RALPH_SPEC_PATH": str(self.spec_path),
            "RALPH_KIND": self.kind,
            "RALPH_ATTEMPT": str(self.attempt),
        }


class Usage(NamedTuple):
    """What a run used, as far as the executor reports it. `cost` is in US dollars."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None


NO_USAGE = Usage()


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How an executor run went, as far as the executor can know: only Verify decides.

    A run is completed, or has failed with a `failure`. If `trouble` is set as well, the executor
    itself could not work (rate limit, login, network ...), which says nothing about the project.

    `output` is the executor's last message, cut to a bounded length, `note` is one line for the
    log, `denied` are the actions that the executor was not permitted, and `transcript` is a file
    with everything it said and did. `uninformative` means that the failure is not about the
    project: the model gave no answer or refused.
    """

    completed: bool
    failure: Failure | None = None
    trouble: Trouble | None = None
    session_id: str = ""
    ended: CommandResult | None = None
    note: str = ""
    output: str = ""
    usage: Usage = NO_USAGE
    tools: Mapping[str, int] = field(default_factory=dict)
    denied: tuple[str, ...] = ()
    transcript: Path | None = None
    worked: bool = False
    uninformative: bool = False

    @property
    def progress(self) -> bool:
        """Whether the executor did anything, so that more time may help.

        Tool calls and words count, a banner or a message about a retry does not.
        """
        if self.completed or self.worked:
            return True
        failure = self.failure
        return failure is not None and bool(failure.tool_usage or failure.files_modified)

    @property
    def interrupted(self) -> bool:
        """Whether the run was stopped from outside, with Ctrl-C for example."""
        return self.ended is not None and self.ended.interrupted


class Executor(Protocol):
    """A program that can carry out tasks."""

    @property
    def name(self) -> str: ...

    @property
    def command(self) -> str:
        """What was configured: two executors of the same name may have different arguments."""

    def available(self) -> str | None:
        """Return in one line why it cannot be used here and what to do, or None if it can."""

    def run(
        self, job: Job, runner: Runner, on_output: Callable[[str], None] | None = None
    ) -> Outcome:
        """Carry out the job. `on_output` gets the latest line of output twice a second."""
