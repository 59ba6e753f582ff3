"""Halting: tasks failed for good. Plugins are told, and a person is shown what is done, what is not, how to go on."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.files import HISTORY_NAME, LOGS_NAME, RALPH_DIRECTORY, STATE_NAME
from pytest_ralph.fixing.git.messages import commit_message
from pytest_ralph.healing.errors import HookError
from pytest_ralph.healing.hooks import Hooks
from pytest_ralph.report.halt import TITLE, Halt, halt_lines, missing_lines
from pytest_ralph.report.terminal import can_draw
from pytest_ralph.spec.document import Spec, SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pytest

    from pytest_ralph.results import TaskResult
    from pytest_ralph.session.run import Run

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class HaltTeller:
    """Tells that work on a spec ended with tasks that failed."""

    def __init__(
        self, run: Run, path: str, stories: Sequence[TaskResult], max_attempts: int
    ) -> None:
        self.run, self.path, self.stories = run, path, stories
        self.max_attempts = max_attempts

    def tell_plugins(self) -> None:
        failed = tuple(story.id for story in self.stories if story.bad)
        blocked = tuple(story.id for story in self.stories if story.outcome == "blocked")
        if spec := self._spec():
            try:
                Hooks(self.run.config.hook).halted(spec, failed, blocked)
            except HookError as error:
                self.run.note(str(error))

    def write(self, reporter: pytest.TerminalReporter) -> None:
        halt = self._halt()
        reporter.write_line("")
        if self.run.config.option.verbose < 0:
            lines = [f"{TITLE}: {halt.reason}"]
            if halt.blocked:
                lines.append(f"Blocked: {', '.join(task.id for task in halt.blocked[:5])}")
            lines.append(f"Run: {halt.command}")
        else:
            width = self.run.config.get_terminal_writer().fullwidth
            box = halt_lines(halt, width, unicode=can_draw(), box=bool(reporter.isatty))
            lines = [*self._missing(halt.command), *box]
        for line in lines:
            reporter.write_line(line)

    def _halt(self) -> Halt:
        directory = self.path.rpartition("/")[0] or "."
        kept = (
            ("State", f"{directory}/{STATE_NAME}"),
            ("Logs", f"{RALPH_DIRECTORY}/{LOGS_NAME}/"),
            ("History", f"{RALPH_DIRECTORY}/{HISTORY_NAME}"),
        )
        command = command_line(self.run.config, leave_out=("--ralph-fresh",))
        tasks = self.stories
        spec = self._spec()
        if spec is not None:
            tasks = [_with_commit_message(task, spec) for task in tasks]
        return Halt(
            tasks=tuple(tasks), max_attempts=self.max_attempts, preserved=kept, command=command
        )

    def _missing(self, command: str) -> Iterator[str]:
        """What only a person may install is said in a text of its own."""
        for story in self.stories:
            failure = story.last_failure
            if story.bad and failure and failure.kind == "dependency_missing" and failure.missing:
                needed_by = f"Task {story.heading}"
                yield from missing_lines(
                    failure.missing, required_by=needed_by, install=failure.missing, command=command
                )
                yield ""

    def _spec(self) -> Spec | None:
        try:
            return Spec.load(self.run.root / self.path)
        except SpecError:
            return None


def _with_commit_message(result: TaskResult, spec: Spec) -> TaskResult:
    task = spec.get(result.id)
    if not result.commit or task is None:
        return result
    return result._replace(commit=f"{commit_message(task, spec.name)} ({result.commit})")


def command_line(config: pytest.Config, leave_out: Sequence[str] = ()) -> str:
    """The command that was given, to be given again."""
    started_as = sys.argv[0] if sys.argv else ""
    as_module = Path(started_as).name == "__main__.py"
    program = [Path(sys.executable).name, "-m", "pytest"] if as_module else ["pytest"]
    given = [str(argument) for argument in config.invocation_params.args]
    return " ".join(_quoted(word) for word in (*program, *given) if word not in leave_out)


def _quoted(word: str) -> str:
    """As a shell reads it, and always on one line."""
    if not _CONTROL.search(word):
        return shlex.quote(word)
    escaped = word.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", escaped) + "'"
