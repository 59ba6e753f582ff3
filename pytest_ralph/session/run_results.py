"""The results of the tasks of a run, and what they add up to."""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_ralph import __version__
from pytest_ralph.report.run_summary import RunSummary
from pytest_ralph.spec.completion import is_complete
from pytest_ralph.spec.document import Spec, SpecError

if TYPE_CHECKING:
    from pytest_ralph.results import TaskResult
    from pytest_ralph.session.halted_spec import HaltedSpec
    from pytest_ralph.session.run import Run


class RunResults:
    """The results of all tasks of a run; complete once all reports are in.

    This is no plugin: pytest may read every attribute of a plugin before the first test, and the
    cached properties would be computed too early.

    by_nodeid: The result of each task.
    failed_reports: The node ids that pytest counts as failed, whoever made them fail.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.by_nodeid: dict[str, TaskResult] = {}
        self.failed_reports: set[str] = set()

    @property
    def tasks(self) -> list[TaskResult]:
        return list(self.by_nodeid.values())

    @property
    def recovery(self) -> bool:
        """Whether any spec was run in recovery mode."""
        return any(result.recovery for result in self.tasks)

    def _specs(self, *, executed: bool = False) -> dict[str, list[TaskResult]]:
        """Return the results of the specs run in recovery mode, by the path of the spec.

        executed: Whether to include the specs of which an executor carries out the tasks.
        """
        found = defaultdict(list)
        for result in self.tasks:
            if result.recovery or executed:
                found[result.spec_path].append(result)
        return dict(sorted(found.items()))

    def complete_specs(self) -> list[str]:
        """Return the names of the specs in which every task is checked off and none failed.

        After an interrupt there are none: what later work may have broken was not verified again.
        """
        if self.run.interrupted:
            return []
        names = []
        for path, results in self._specs(executed=self.run.settings.execute).items():
            if any(result.bad for result in results):
                continue
            if any(nodeid.startswith(f"{path}::") for nodeid in self.failed_reports):
                # Another plugin made the report of a task fail.
                continue
            with suppress(SpecError):
                if is_complete(Spec.load(self.run.root / path)):
                    names.append(results[0].spec)
        return names

    @cached_property
    def halted_specs(self) -> list[HaltedSpec]:
        """The specs run in recovery mode in which tasks failed for good."""
        halted = []
        for path, results in self._specs().items():
            if any(result.bad for result in results):
                # Imported here: most runs end well.
                from pytest_ralph.session.halted_spec import HaltedSpec

                halted.append(HaltedSpec(self.run, path, results))
        return halted

    @cached_property
    def summary(self) -> RunSummary:
        """The whole run as plain data, for the reports."""
        from pytest_ralph.report.next_steps import command_line

        return RunSummary(
            tasks=tuple(self.tasks),
            started=self.run.started,
            duration=time.time() - self.run.started,
            command_line=command_line(self.run.config, self.run.resources.mask),
            root=str(self.run.root),
            version=__version__,
            notes=tuple(self.run.messages.notes),
        )

    def halts(self) -> tuple[str, ...]:
        """The halt summary of each spec that was halted; with --ralph-keep-going none is."""
        if self.run.settings.keep_going:
            return ()
        return tuple("\n".join(halted.lines()) for halted in self.halted_specs)
