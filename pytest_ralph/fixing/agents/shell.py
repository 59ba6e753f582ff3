"""ShellExecutor: any shell command line as an executor."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

from pytest_ralph.fixing.agents.launch import Launch
from pytest_ralph.fixing.agents.live import IdleWatch
from pytest_ralph.fixing.agents.outcome import (
    FinishedRun,
    not_started,
    read_outcome,
    without_prompt,
)
from pytest_ralph.fixing.agents.transcript import Transcript
from pytest_ralph.running.runner import RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_ralph.failure.kinds import Kinds
    from pytest_ralph.fixing.agents.base import Job, Outcome
    from pytest_ralph.running.runner import Runner
    from pytest_ralph.running.spool import Spool

NAME_LENGTH = 60
BARE_WORD = re.compile(r"[A-Za-z][\w.-]*")
BUILTINS = frozenset({"exit", "eval", "exec", "source", "true", "false", "test", "return"})


class ShellExecutor:
    """Runs a command line with the shell that also runs Verify commands.

    The task counts as carried out if the command exits with 0 and its output does not say
    otherwise.
    """

    def __init__(self, command: str, kinds: Kinds | None = None) -> None:
        self.command = command
        self._kinds = kinds

    @property
    def name(self) -> str:
        """The command line, cut to a length that fits into messages."""
        if len(self.command) <= NAME_LENGTH:
            return self.command
        return f"{self.command[: NAME_LENGTH - 1]}…"

    def available(self) -> str | None:
        """Return a message if the command is one unknown word, probably a misspelt preset."""
        word = self.command.strip()
        if not BARE_WORD.fullmatch(word):
            return None
        if word in BUILTINS or shutil.which(word):
            return None

        from pytest_ralph.fixing.agents import PRESETS

        return f"executor {word!r} is neither a preset ({', '.join(PRESETS)}) nor a command on PATH"

    def run(
        self, job: Job, runner: Runner, on_output: Callable[[str], None] | None = None
    ) -> Outcome:
        """Carry out `job` by running the command line."""
        idle = IdleWatch(runner.root, job.idle_limit)

        def watch(output: Sequence[Spool]) -> bool:
            return idle.goes_on(sum(spool.size for spool in output))

        try:
            launch = Launch.prepare(job, runner.logs)
            result = launch.run(
                runner, command=self.command, label="executor", on_output=on_output, watch=watch
            )
        except (RunError, OSError) as error:
            return not_started(job, error, kinds=self._kinds)

        transcript = Transcript(text=without_prompt(result.stdout.text(), job.prompt))
        run = FinishedRun(job, result, transcript, runner.root, is_agent=False)
        return read_outcome(run, self._kinds)
