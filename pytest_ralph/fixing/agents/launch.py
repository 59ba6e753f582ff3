"""Launch: start an executor by the protocol.

The executor runs in the project root. Its prompt is on stdin and in `$RALPH_PROMPT_FILE`, and
environment variables name the task. It may run exactly the commands of the Verify field.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.files import make_log_directory, open_log
from pytest_ralph.running.environment import with_own_programs
from pytest_ralph.running.runner import RunError
from pytest_ralph.shell.lexer import simple_commands

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_ralph.fixing.agents.base import Job
    from pytest_ralph.running.runner import CommandResult, Runner
    from pytest_ralph.running.spool import Spool

# No suffix that formatters and linters of the project pick up.
PROMPT_SUFFIX = ".prompt"
TRANSCRIPT_SUFFIX = ".transcript.log"
SHOWN_WORD = 80


def is_installed(program: str) -> bool:
    """Return whether an executor can start a program, which it looks up as commands do."""
    path = with_own_programs(os.environ.get("PATH") or os.defpath)
    return shutil.which(program, path=path) is not None


@dataclass(frozen=True)
class Launch:
    """A job with its prompt in a file, ready to be run in the directory `root`."""

    job: Job
    prompt_file: Path
    root: Path = Path()

    @classmethod
    def prepare(cls, job: Job, runner: Runner) -> Launch:
        """Write the prompt of `job` to a new file beside the logs of `runner`."""
        directory = runner.logs
        make_log_directory(directory)
        name = re.sub(r"[^\w.-]+", "-", job.task_id, flags=re.ASCII)[:60]
        descriptor, path = tempfile.mkstemp(
            prefix=f"{name}.{job.attempt}.", suffix=PROMPT_SUFFIX, dir=directory
        )
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(job.prompt)
        return cls(job, Path(path), runner.root)

    @property
    def session(self) -> str:
        """The session to continue, or a name for a new one if the name is ours to choose."""
        return self.job.session_id or self._file_stem

    def resuming(self, *words: str) -> tuple[str, ...]:
        """Return `words` with the session to continue; nothing if a new one is to be started."""
        if not self.job.session_id:
            return ()
        return (*words, self.job.session_id)

    @property
    def _file_stem(self) -> str:
        return str(self.prompt_file).removesuffix(PROMPT_SUFFIX)

    def write_file(self, suffix: str, text: str) -> Path:
        """Write a file for this run beside its prompt."""
        file = Path(self._file_stem + suffix)
        # On a full disk a raw file would write a part, and not raise an exception.
        with io.BufferedWriter(open_log(file)) as opened:
            opened.write(text.encode("utf-8", "replace"))
        return file

    def write_transcript(self, entries: Sequence[str]) -> Path | None:
        """Write what an agent said and did as readable text beside its prompt."""
        if not entries:
            return None
        try:
            text = "\n\n".join(entry.rstrip() for entry in entries)
            return self.write_file(TRANSCRIPT_SUFFIX, f"{text}\n")
        except OSError:
            # The raw log still has everything.
            return None

    def run(
        self,
        runner: Runner,
        *,
        command: str = "",
        argv: Sequence[str] | None = None,
        env: Mapping[str, str] | None = None,
        label: str,
        on_output: Callable[[str], None] | None = None,
        watch: Callable[[Sequence[Spool]], bool] | None = None,
    ) -> CommandResult:
        """Run `command` with the shell, or `argv` without one."""

        def start() -> CommandResult:
            return runner.run(
                display_command(argv) if argv else command,
                argv=argv,
                timeout=self.job.timeout,
                env={**(env or {}), **self.job.environment(self.prompt_file)},
                # Keep the executor's answer apart from its log, which may repeat the prompt.
                split=True,
                stdin=self.prompt_file,
                keep=bool(self.job.kept_as),
                label=self.job.kept_as or f"{self.job.task_id}-{label}",
                on_output=on_output,
                watch=watch,
            )

        try:
            return start()
        except RunError:
            if self.prompt_file.exists():
                raise
            # An executor that works at the same time has removed `.ralph`.
            self.write_file(PROMPT_SUFFIX, self.job.prompt)
            return start()


def display_command(words: Sequence[str]) -> str:
    """Return a command line for people. Long words, such as a whole prompt, are cut."""
    shown = []
    for word in words:
        fits = len(word) <= SHOWN_WORD
        shown.append(word if fits else f"{word[:SHOWN_WORD]}…")
    return shlex.join(shown)


def allowed_commands(job: Job) -> tuple[str, ...]:
    """Return the commands of the Verify field, and the commands that these are made of.

    Agents check every part of a command line like `cd web && npm test` on its own.
    """
    commands: dict[str, None] = {}
    for command in job.verify:
        commands[command] = None
        for part in simple_commands(command):
            if not part.nested:
                commands[part.source] = None
    return tuple(commands)
