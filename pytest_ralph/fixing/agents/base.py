"""Executor: takes a Job, which is one task to carry out, and returns its Outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.running.runner import CommandResult, Runner


@dataclass(frozen=True, kw_only=True)
class Job:
    """One task for an executor. `session_id` names an earlier run of that executor to continue."""

    task_id: str
    prompt: str
    timeout: float | None = None
    fix_for: str = ""
    spec_path: Path | str = ""
    kind: str = ""
    attempt: int = 1
    session_id: str = ""
    files: tuple[str, ...] = ()

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


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How an executor run went, as far as the executor can know: only Verify decides.

    `failure` is set whenever `completed` is false. `output` is the executor's last message, cut
    to a bounded length, and `note` is one line for the log.
    """

    completed: bool
    failure: Failure | None = None
    session_id: str = ""
    ended: CommandResult | None = None
    note: str = ""
    output: str = ""

    @property
    def progress(self) -> bool:
        """Whether the executor did anything, so that more time may help."""
        if self.completed:
            return True
        failure = self.failure
        if failure is not None and (failure.tool_usage or failure.files_modified):
            return True
        return self.ended is not None and self.ended.progress

    @property
    def interrupted(self) -> bool:
        """Whether the run was stopped from outside, with Ctrl-C for example."""
        return self.ended is not None and self.ended.interrupted


class Executor(Protocol):
    """A program that can carry out tasks."""

    @property
    def name(self) -> str: ...

    def available(self) -> str | None:
        """Return in one line why it cannot be used here and what to do, or None if it can."""

    def run(
        self, job: Job, runner: Runner, on_output: Callable[[str], None] | None = None
    ) -> Outcome:
        """Carry out the job. `on_output` gets the latest line of output twice a second."""
