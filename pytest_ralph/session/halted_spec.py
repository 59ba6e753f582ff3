"""A spec that a run in recovery mode left with failed tasks."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from pytest_ralph.files import HISTORY_NAME, LOGS_NAME, RALPH_DIRECTORY, STATE_NAME
from pytest_ralph.fixing.git.messages import commit_message
from pytest_ralph.healing.errors import HookError
from pytest_ralph.healing.hooks import Hooks
from pytest_ralph.report.halt import TITLE, Halt, halt_lines
from pytest_ralph.report.lines import can_draw, start_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

    from pytest_ralph.results import TaskResult
    from pytest_ralph.session.run import Run
    from pytest_ralph.spec.document import Spec


class HaltedSpec:
    """Notifies plugins that a spec is halted, and shows a person what is done and how to go on."""

    def __init__(self, run: Run, path: str, results: Sequence[TaskResult]) -> None:
        self.run = run
        self.path = path
        self.results = results

    @cached_property
    def _spec(self) -> Spec | None:
        """The spec as it is at the end of the run; None if it cannot be read any more."""
        return self.run.specs.reread(self.path)

    def notify_plugins(self) -> None:
        """Call the hook `pytest_ralph_halted`."""
        spec = self._spec
        if spec is None:
            return
        failed = tuple(result.id for result in self.results if result.bad)
        blocked = tuple(result.id for result in self.results if result.outcome == "blocked")
        hooks = Hooks(self.run.hooks_for(spec.path))
        try:
            hooks.call("halted", spec=spec, failed=failed, blocked=blocked)
        except HookError as error:
            self.run.messages.note(str(error))

    def write(self, reporter: pytest.TerminalReporter, *, is_one_of_several: bool = False) -> None:
        """Write one line to the terminal, or with `-vv` the whole halt summary."""
        if self.run.settings.keep_going:
            # The failure stopped nothing.
            return
        halt = self._halt()
        start_line(reporter)
        if self.run.config.option.verbose < 2:
            where = f" ({self.path})" if is_one_of_several else ""
            reporter.write_line(f"{TITLE}: {halt.reason}{where}")
            return
        width = self.run.config.get_terminal_writer().fullwidth
        for line in halt_lines(halt, width, box=can_draw()):
            reporter.write_line(line)

    def lines(self) -> list[str]:
        """Return the halt summary, for the HTML report and the logs."""
        return halt_lines(self._halt())

    def _halt(self) -> Halt:
        directory = self.path.rpartition("/")[0] or "."
        preserved = (
            ("State", f"{directory}/{STATE_NAME}"),
            ("Logs", f"{RALPH_DIRECTORY}/{LOGS_NAME}/"),
            ("History", f"{RALPH_DIRECTORY}/{HISTORY_NAME}"),
        )
        return Halt(
            tasks=tuple(self._with_commit_message(result) for result in self.results),
            preserved=preserved,
            command=self.run.next_command,
        )

    def _with_commit_message(self, result: TaskResult) -> TaskResult:
        if self._spec is None or not result.commit:
            return result
        task = self._spec.get(result.name or result.id)
        if task is None:
            return result
        message = commit_message(task, self._spec.name)
        return result._replace(commit=f"{message} ({result.commit})")
