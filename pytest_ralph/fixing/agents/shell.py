"""Fixing: any shell command line as an executor. Exit status 0 and no word to the contrary: carried out."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

from pytest_ralph.fixing.agents.conversation import Conversation
from pytest_ralph.fixing.agents.judge import could_not_run, judge, without_echo
from pytest_ralph.fixing.agents.launch import Start
from pytest_ralph.running.runner import RunError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_ralph.failure.kinds import Kinds
    from pytest_ralph.fixing.agents.base import Job, Outcome
    from pytest_ralph.running.runner import Runner

NAME_LENGTH = 60
BARE_WORD = re.compile(r"[A-Za-z][\w.-]*")
BUILTINS = frozenset({"exit", "eval", "exec", "source", "true", "false", "test", "return"})


class Shell:
    """Runs its command line with the shell that runs Verify commands."""

    def __init__(self, command: str, kinds: Kinds | None = None) -> None:
        self.command = command
        self._kinds = kinds

    @property
    def name(self) -> str:
        return (
            self.command
            if len(self.command) <= NAME_LENGTH
            else f"{self.command[: NAME_LENGTH - 1]}…"
        )

    def available(self) -> str | None:
        """Only a single word can be told from here to be wrong: most likely the misspelt name of a preset."""
        word = self.command.strip()
        if not BARE_WORD.fullmatch(word) or word in BUILTINS or shutil.which(word):
            return None
        from pytest_ralph.fixing.agents import PRESETS

        return f"executor {word!r} is neither a preset ({', '.join(PRESETS)}) nor a command on PATH"

    def run(
        self, job: Job, runner: Runner, on_output: Callable[[str], None] | None = None
    ) -> Outcome:
        try:
            start = Start.of(job, runner.logs)
            ended = start.run(runner, command=self.command, label="executor", on_output=on_output)
        except (RunError, OSError) as error:
            return could_not_run(job, error, kinds=self._kinds)
        talk = Conversation(text=without_echo(ended.stdout.text(), job.prompt))
        return judge(job, ended, talk, root=runner.root, kinds=self._kinds, must_speak=False)
