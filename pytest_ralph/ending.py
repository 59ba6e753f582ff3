"""The end of a run: summary, halt, HTML report, GitHub, logs. On the controller where there are workers."""

from __future__ import annotations

import os
import shlex
import sys
import time
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph import __version__
from pytest_ralph.report.halt import halt_lines, halt_of
from pytest_ralph.report.live import live_of
from pytest_ralph.report.story import HistoryStory, PastKind, PastRun, RunStory, TaskStory
from pytest_ralph.report.terminal import Summary
from pytest_ralph.spec.document import Spec, SpecError
from pytest_ralph.spec.state import STATE_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_ralph.session import Run


class Ending:
    """Listens to every report of ours and tells the whole at the end."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.told: dict[str, dict[str, Any]] = {}

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.run.session = session
        self.run.live = live_of(self.run.config)

    def pytest_keyboard_interrupt(self) -> None:
        self.run.stop()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if told := getattr(report, "ralph", None):
            self.told[report.nodeid] = told

    @cached_property
    def stories(self) -> dict[str, TaskStory]:
        """Node id → story, once all reports are in."""
        return {name: TaskStory.from_json(told["story"]) for name, told in self.told.items()}

    @property
    def recovered_specs(self) -> Iterator[tuple[str, list[TaskStory]]]:
        """The specs worked on in recovery mode, by path, with what became of their tasks."""
        mine = [story for name, story in self.stories.items() if self.told[name]["recovery"]]
        for path, stories in groupby(
            sorted(mine, key=lambda story: story.spec_path), key=lambda story: story.spec_path
        ):
            yield path, list(stories)

    # The terminal

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for note in self.run.notes:
            terminalreporter.write_line(f"ralph: {note}")
        complete = [stories[0].spec for path, stories in self.recovered_specs if self._is_complete(path)]
        lines = {name: told["lines"] for name, told in self.told.items()}
        Summary(terminalreporter, self.run.config.option.verbose).write([*self.stories.values()], lines, complete)
        for path, stories in self.recovered_specs:
            if any(story.bad for story in stories):
                self._halted(terminalreporter, path, stories)

    def _is_complete(self, path: str) -> bool:
        try:
            tasks = Spec.load(self.run.root / path).tasks
        except SpecError:
            return False
        return bool(tasks) and all(task.checked for task in tasks)

    def _halted(self, reporter: pytest.TerminalReporter, path: str, stories: Sequence[TaskStory]) -> None:
        directory = path.rpartition("/")[0] or "."
        kept = [("State", f"{directory}/{STATE_NAME}"), ("Logs", ".ralph/logs/"), ("History", ".ralph/history.db")]
        most = next(told["max_attempts"] for told in self.told.values() if told["recovery"])
        halt = halt_of(stories, max_attempts=most, preserved=kept, command=command_line(self.run.config))
        width = self.run.config.get_terminal_writer().fullwidth
        reporter.write_line("")
        for line in halt_lines(halt, width, unicode=_can_draw(), box=bool(reporter.isatty)):
            reporter.write_line(line)

    # Everything else

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workerinput") or not self.told:
            return
        self._tell_halted()
        story = self.story()
        if self.run.settings.report:
            self._write_html(self.run.config.invocation_params.dir / self.run.settings.report, story)
        if os.environ.get("GITHUB_ACTIONS"):
            self._tell_github(story)

    def _tell_halted(self) -> None:
        for path, stories in self.recovered_specs:
            failed = tuple(story.id for story in stories if story.bad)
            blocked = tuple(story.id for story in stories if story.outcome == "blocked")
            if failed:
                spec = Spec.load(self.run.root / path)
                self.run.config.hook.pytest_ralph_halted(spec=spec, failed=failed, blocked=blocked)

    def story(self) -> RunStory:
        return RunStory(
            tasks=tuple(self.stories.values()),
            started=self.run.started,
            duration=time.time() - self.run.started,
            command_line=command_line(self.run.config),
            root=str(self.run.root),
            version=__version__,
            history=self._history(),
            notes=tuple(self.run.notes),
        )

    def _history(self) -> HistoryStory:
        from pytest_ralph.history.record import HistoryError
        from pytest_ralph.history.statistics import measure

        try:
            found = measure(self.run.history)
        except HistoryError as error:
            self.run.note(str(error))
            return HistoryStory()
        runs = (PastRun(one.started, one.duration, one.passed, one.recovered, one.failed) for one in found.runs)
        kinds = (PastKind(one.kind, one.failures, one.recovered) for one in found.kinds)
        return HistoryStory(tuple(runs), tuple(kinds))

    def _write_html(self, path: Path, story: RunStory) -> None:
        from pytest_ralph.report.html import write_report

        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_report(path, story)
        except OSError as error:
            self.run.note(f"the report could not be written: {error}")
        else:
            self.run.note(f"report: {self.run.relative(path)}")

    def _tell_github(self, story: RunStory) -> None:
        from pytest_ralph.report import github

        reporter = self.run.config.pluginmanager.getplugin("terminalreporter")
        github.tell(story, os.environ, reporter.write_line if reporter else print)

    def pytest_unconfigure(self) -> None:
        if not self.told:
            return
        from pytest_ralph.history.directory import prune_logs

        prune_logs(self.run.directory / "logs", keep_runs=int(self.run.ini("ralph_keep_logs") or 20))


def command_line(config: pytest.Config) -> str:
    """The command that was given, to be given again."""
    return shlex.join(["pytest", *(str(argument) for argument in config.invocation_params.args)])


def _can_draw() -> bool:
    return (getattr(sys.stdout, "encoding", "") or "").lower().replace("-", "").startswith("utf")
