"""The end of a run: summary, halt, HTML report, GitHub, logs. On the controller where there are workers."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

import pytest

from pytest_ralph import __version__
from pytest_ralph.files import LOGS_NAME
from pytest_ralph.history.directory import prune_logs
from pytest_ralph.report.terminal import Summary
from pytest_ralph.results import (
    PastKind,
    PastRun,
    RunHistory,
    RunSummary,
    TaskReport,
    TaskResult,
    task_report,
)
from pytest_ralph.spec.completion import is_complete
from pytest_ralph.spec.document import Spec, SpecError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_ralph.session.halting import HaltTeller
    from pytest_ralph.session.run import Run


class Ending:
    """Listens to every report of ours and tells the whole at the end."""

    def __init__(self, run: Run) -> None:
        self.run = run
        # pytest may look at every attribute of a plugin before the first test: what is worked out lives elsewhere.
        self.whole = Whole(run)

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.run.session = session
        self.run.screen.open()

    def pytest_keyboard_interrupt(self) -> None:
        self.run.stop()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if told := task_report(report):
            self.whole.told[report.nodeid] = told

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workerinput") or not self.whole.told:
            return
        for halt in self.whole.halts():
            halt.tell_plugins()
        if self.run.settings.report:
            self._write_html(self.run.config.invocation_params.dir / self.run.settings.report)
        if os.environ.get("GITHUB_ACTIONS"):
            self._tell_github()

    def _write_html(self, path: Path) -> None:
        from pytest_ralph.report.html import write_report

        try:
            write_report(path, self.whole.story)
        except (OSError, ValueError) as error:
            self.run.note(f"the report could not be written: {error}")
        else:
            here = self.run.config.invocation_params.dir
            self.run.note(
                f"report: {path.relative_to(here) if path.is_relative_to(here) else path}"
            )

    def _tell_github(self) -> None:
        from pytest_ralph.report import github

        reporter = self.run.config.pluginmanager.getplugin("terminalreporter")
        github.report(self.whole.story, os.environ, reporter.write_line if reporter else print)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        summary = Summary(terminalreporter, self.run.config.option.verbose)
        lines = {name: told.result.notes for name, told in self.whole.told.items()}
        summary.write(self.whole.stories, lines, list(self.whole.complete()))
        for halt in self.whole.halts():
            halt.write(terminalreporter)
        summary.notes(self.run.notes)

    def pytest_unconfigure(self) -> None:
        if self.whole.told:
            prune_logs(self.run.directory / LOGS_NAME, keep_runs=self.run.settings.keep_logs)


class Whole:
    """What was told of every task. To be asked once all reports are in."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.told: dict[str, TaskReport] = {}

    @property
    def stories(self) -> list[TaskResult]:
        return [told.result for told in self.told.values()]

    def _recovered_specs(self) -> Iterator[tuple[str, list[TaskResult]]]:
        """The specs worked on in recovery mode, by path, with what became of their tasks."""
        mine = [told.result for told in self.told.values() if told.recovery]
        for path, stories in groupby(
            sorted(mine, key=lambda story: story.spec_path), key=lambda story: story.spec_path
        ):
            yield path, list(stories)

    def complete(self) -> Iterator[str]:
        """The names of the specs of which every box is ticked, and none of them wrongly."""
        for path, stories in self._recovered_specs():
            with suppress(SpecError):
                if not any(story.bad for story in stories) and is_complete(
                    Spec.load(self.run.root / path)
                ):
                    yield stories[0].spec

    def halts(self) -> Iterator[HaltTeller]:
        """One for each spec whose work ended with tasks that failed."""
        for path, stories in self._recovered_specs():
            if any(story.bad for story in stories):
                from pytest_ralph.session.halting import HaltTeller

                most = max(
                    told.max_attempts
                    for told in self.told.values()
                    if told.result.spec_path == path
                )
                yield HaltTeller(self.run, path, stories, most)

    @cached_property
    def story(self) -> RunSummary:
        from pytest_ralph.session.halting import command_line

        return RunSummary(
            tasks=tuple(self.stories),
            started=self.run.started,
            duration=time.time() - self.run.started,
            command_line=command_line(self.run.config),
            root=str(self.run.root),
            version=__version__,
            history=self._history(),
            notes=tuple(self.run.notes),
        )

    def _history(self) -> RunHistory:
        found = self.run.advisor.statistics()
        if found is None:
            return RunHistory()
        runs = (
            PastRun(one.started, one.duration, one.passed, one.recovered, one.failed)
            for one in found.runs
        )
        kinds = (PastKind(one.kind, one.failures, one.recovered) for one in found.kinds)
        return RunHistory(tuple(runs), tuple(kinds))
