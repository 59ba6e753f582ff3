"""Fixing: an Executor is handed a Job, one task to carry out, and gives back the Outcome."""

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
    """What is to be done. `session_id` names an earlier run of the same executor to continue."""

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
    """How it went, as far as the executor can know: whether the task is done is for its Verify to say.

    `failure` is there whenever `completed` is not. `output` is what was said, bounded; `note` one line for the log.
    """

    completed: bool
    failure: Failure | None = None
    session_id: str = ""
    ended: CommandResult | None = None
    note: str = ""
    output: str = ""

    @property
    def progress(self) -> bool:
        """Whether anything was done, so that more time may help."""
        worked = self.failure is not None and bool(
            self.failure.tool_usage or self.failure.files_modified
        )
        return self.completed or worked or (self.ended is not None and self.ended.progress)

    @property
    def interrupted(self) -> bool:
        return self.ended is not None and self.ended.interrupted


class Executor(Protocol):
    """Who carries out a task."""

    @property
    def name(self) -> str: ...

    def available(self) -> str | None:
        """Why it cannot be used here, in one line that says what to do about it; None if it can."""

    def run(
        self, job: Job, runner: Runner, on_output: Callable[[str], None] | None = None
    ) -> Outcome:
        """Carry out the job. `on_output` is told, now and then, the last thing the executor said."""
