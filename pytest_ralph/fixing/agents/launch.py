"""Fixing: Start an executor by the protocol: project root, prompt on stdin and in a file, task in the environment."""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_ralph.fixing.agents.base import Job
    from pytest_ralph.running.runner import CommandResult, Runner

SHOWN_WORD = 80


@dataclass(frozen=True)
class Start:
    """A job with its prompt on disk."""

    job: Job
    prompt_file: Path

    @classmethod
    def of(cls, job: Job, directory: Path) -> Start:
        directory.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^\w.-]+", "-", job.task_id, flags=re.ASCII)[:60]
        descriptor, path = tempfile.mkstemp(
            prefix=f"{name}.{job.attempt}.", suffix=".prompt.md", dir=directory
        )
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(job.prompt)
        return cls(job, Path(path))

    @property
    def resume(self) -> str:
        """The session to continue, or nothing."""
        return self.job.session_id

    @property
    def session(self) -> str:
        """The session to continue, else a name for a new one, where it is for us to choose."""
        return self.job.session_id or str(self.prompt_file).removesuffix(".prompt.md")

    def run(
        self,
        runner: Runner,
        *,
        command: str = "",
        argv: Sequence[str] | None = None,
        env: Mapping[str, str] | None = None,
        label: str,
        on_output: Callable[[str], None] | None,
    ) -> CommandResult:
        """Run a shell `command`, or `argv` as it is."""
        return runner.run(
            shown(argv) if argv else command,
            argv=argv,
            timeout=self.job.timeout,
            env={**(env or {}), **self.job.environment(self.prompt_file)},
            # Apart: what the executor answers must not be mixed with what it logs, its prompt among it.
            split=True,
            stdin=self.prompt_file,
            label=f"{self.job.task_id}-{label}",
            on_output=on_output,
        )


def shown(words: Sequence[str]) -> str:
    """A command line for people: one that carries the whole prompt as a word is cut there."""
    return shlex.join(
        word if len(word) <= SHOWN_WORD else f"{word[:SHOWN_WORD]}…" for word in words
    )
