"""How each stage of a pipeline ended, which the exit status of a command line does not tell.

`crash | wc -l` prints 0 and ends with 0. Bash knows how `crash` ended: it reads `stages.bash`
before the command and leaves a record in a file. Other shells leave none.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.shell.statuses import NOT_EXECUTABLE
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from pytest_ralph.running.runner import Runner

RECORDER = Path(__file__).with_name("stages.bash")
# A pipe, a negation or a substitution: the exit status is not that of every program.
HIDES_STATUS = regex(r"(?<!\|)\|(?!\|)|(?:^|\s)!\s|[$<]\(|`")


class StageResults(NamedTuple):
    """The exit statuses of the last pipeline, and the names of all programs that were not found."""

    statuses: tuple[int, ...] = ()
    missing: frozenset[str] = frozenset()

    @property
    def has_defect(self) -> bool:
        """Whether a program was not found or did not end by itself."""
        return bool(self.missing) or any(status >= NOT_EXECUTABLE for status in self.statuses)


class StageRecorder:
    """A file to which bash writes how the stages of one command line ended."""

    def __init__(self, command: str, runner: Runner) -> None:
        self.env: dict[str, str] = {}
        self._file: str | None = None
        if not HIDES_STATUS.search(command):
            return
        # Another shell would pass BASH_ENV on to the scripts that it runs.
        if not runner.uses_bash or "BASH_ENV" in runner.environ:
            return

        # Without a place for the record the command runs all the same.
        with contextlib.suppress(OSError):
            # Beside the logs, where what a killed run leaves behind is removed with them.
            runner.logs.mkdir(parents=True, exist_ok=True)
            handle, self._file = tempfile.mkstemp(suffix=".stages", dir=runner.logs)
            os.close(handle)
            self.env = {"BASH_ENV": str(RECORDER), "RALPH_STAGES": self._file}

    def take(self) -> StageResults:
        """Return what was recorded, and delete the file."""
        if self._file is None:
            return StageResults()
        file = Path(self._file)
        try:
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
            file.unlink()
        except OSError:
            return StageResults()
        return _read(lines)


def _read(lines: list[str]) -> StageResults:
    statuses: tuple[int, ...] = ()
    missing = set()
    for line in lines:
        kind, _, value = line.partition(" ")
        if kind == "missing":
            missing.add(value)
        elif kind == "ended":
            statuses = tuple(int(status) for status in value.split())
    return StageResults(statuses, frozenset(missing))
