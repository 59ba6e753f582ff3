"""The end of a run: summary, halted specs, HTML report, GitHub annotations, old logs.

In an xdist run all of this happens in the controller.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.files import LOGS_NAME, RALPH_DIRECTORY
from pytest_ralph.history.directory import prune_logs
from pytest_ralph.history.record import HistoryError
from pytest_ralph.report.lines import start_line
from pytest_ralph.results import task_result
from pytest_ralph.session.discovery import shown_path
from pytest_ralph.session.messages import is_terminal_reporter, terminal_reporter
from pytest_ralph.session.run_results import RunResults

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from pytest_ralph.results import TaskResult
    from pytest_ralph.session.run import Run

# In the logs of a run. The suffix is one that formatters and linters do not pick up.
FAILURES_NAME = "failures.log"
# pytest-github-actions-annotate-failures annotates failed items itself.
ANNOTATING_PLUGIN = "pytest_github_actions_annotate_failures"


class EndOfRun:
    """Gathers the reports of all tasks, and writes what a run writes at its end."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.results = RunResults(run)
        self._report = ""
        # The last report of each task, by node id.
        self._logged: dict[str, pytest.TestReport] = {}

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.run.session = session
        # The terminal shows the time since then, too.
        self.run.started = time.time()
        self.run.messages.screen.open()

    def pytest_keyboard_interrupt(self) -> None:
        self.run.stop()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the result of a task; of several runs of it, the last one."""
        if report.failed:
            self.results.failed_reports.add(report.nodeid)
        result = task_result(report)
        if result is None:
            return
        self.results.by_nodeid[report.nodeid] = result
        self._logged[report.nodeid] = report
        if not report.failed:
            # A rerun that passed replaces the report that failed.
            self.results.failed_reports.discard(report.nodeid)
        broken = [one for one in result.regressions if one.bad]
        if broken:
            self._count_failures(len(broken))

    def _count_failures(self, count: int) -> None:
        """Let pytest stop (-x, --maxfail) and fail as for tests that fail."""
        session = self.run.session
        assert session is not None
        session.testsfailed += count
        limit = self.run.config.getoption("maxfail")
        if limit and session.testsfailed >= limit:
            session.shouldfail = f"stopping after {session.testsfailed} failures"

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        """Check everything once more, let others write their reports, and write ours."""
        if self.run.worker or not (self.results.by_nodeid or self.run.interrupted):
            yield
            return
        blocked = any(task.outcome == "blocked" for task in self.results.tasks)
        if blocked and session.exitstatus == pytest.ExitCode.OK:
            # What blocks it may not count as a failure for pytest, such as a report that another
            # plugin changed.
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        self._correct_regressions()
        self._heal_rest(session)

        yield

        for halted in self.results.halted_specs:
            halted.notify_plugins()
        self._write_failure_log()
        if self.run.settings.report:
            self._write_html(self.run.config.invocation_params.dir / self.run.settings.report)
        if os.environ.get("GITHUB_ACTIONS"):
            self._write_github_annotations()

    def _correct_regressions(self) -> None:
        """Correct the reports of tasks that passed and were broken later in the run."""
        for task in self.results.tasks:
            for result in task.regressions:
                self._correct(result)

    def _correct(self, healed: TaskResult) -> None:
        """Have pytest report a task as it ended after it had passed and was broken."""
        # Imported here: few runs break what has passed.
        from pytest_ralph.session.final_check import correct_report

        nodeid = f"{healed.spec_path}::{healed.name}"
        if nodeid not in self._logged:
            # It passed in a [P] group, and the run was stopped before pytest got to it.
            return
        result = self.results.by_nodeid[nodeid].followed_by(healed)
        self.results.by_nodeid[nodeid] = result
        self._logged[nodeid] = correct_report(self.run, self._logged[nodeid], result)

    def _heal_rest(self, session: pytest.Session) -> None:
        """Recover tasks that passed, and that work on other tasks has broken since.

        After `-x` they fail.
        """
        if session.exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return
        if not self.run.settings.execute and not self.results.recovery:
            return
        # Imported here: most runs change no files.
        from pytest_ralph.session.final_check import FinalCheck

        is_stopped = bool(session.shouldstop or session.shouldfail)
        check = FinalCheck(self.run, self.results.tasks, recover=not is_stopped)
        try:
            for line, result in check.broken():
                self._correct(result)
                if result.outcome != "flaky":
                    is_more = result.reason != line
                    self.run.messages.note(f"{line}: {result.reason}" if is_more else line)
                if result.bad:
                    session.exitstatus = pytest.ExitCode.TESTS_FAILED
        except KeyboardInterrupt:
            # pytest expects none here: it would write no report.
            self.run.interrupted = [check.verifying]
            session.exitstatus = pytest.ExitCode.INTERRUPTED
            excinfo = pytest.ExceptionInfo.from_current()
            session.config.hook.pytest_keyboard_interrupt(excinfo=excinfo)

    def _write_failure_log(self) -> None:
        """Keep the failure reports and halt summaries, which the terminal shows only with `-vv`."""
        texts = [task.report for task in self.results.tasks if task.report]
        if not texts:
            return
        texts += self.results.halts()
        path = self.run.resources.runner(self.run.settings.shell).logs / FAILURES_NAME
        # A disk that cannot be written was reported with the first command.
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n\n".join(texts) + "\n", encoding="utf-8", errors="replace")

    def _write_html(self, path: Path) -> None:
        # Imported here for Jinja.
        from pytest_ralph.session.html_report import write_html_report

        try:
            write_html_report(path, self.run, self.results)
        except (OSError, ValueError) as error:
            self.run.messages.note(f"the report could not be written: {error}")
            return
        self._report = shown_path(path, self.run.config.invocation_params.dir)

    def _write_github_annotations(self) -> None:
        from pytest_ralph.report import github

        reporter = terminal_reporter(self.run.config)
        if reporter is not None:
            # GitHub reads an annotation only at the start of a line.
            start_line(reporter)
        write_line = reporter.write_line if reporter else print
        annotated = self.run.config.pluginmanager.hasplugin(ANNOTATING_PLUGIN)
        github.report(self.results.summary, os.environ, write_line, annotate_failures=not annotated)

    def pytest_terminal_summary(self, terminalreporter: object) -> None:
        """Write the `ralph` section."""
        if not is_terminal_reporter(terminalreporter):
            # A plugin replaced pytest's reporter, and decides what is shown.
            return
        if self._is_nothing_to_show():
            return
        # Imported here: a run in which everything passes shows nothing.
        from pytest_ralph.report.terminal import Summary

        summary = Summary(terminalreporter, self.run.config.option.verbose)
        summary.write(self.results.tasks, self.results.complete_specs())
        for halted in self.results.halted_specs:
            summary.start_section()
            halted.write(terminalreporter, is_one_of_several=len(self.results.halted_specs) > 1)
        next_lines = self._next_lines()
        summary.notes(self._notes(is_next_shown=bool(next_lines)))
        if next_lines:
            summary.next(next_lines)

    def _notes(self, *, is_next_shown: bool) -> list[str]:
        """Return the notes of the run without what the `Next` block says."""
        notes = list(self.run.messages.notes)
        if not is_next_shown:
            if self._report:
                notes.append(f"report: {self._report}")
        elif self._set_up in notes and not self.run.interrupted:
            notes.remove(self._set_up)
        return notes

    @property
    def _set_up(self) -> str:
        """The note on what the project needs before its commands can pass; empty if nothing."""
        from pytest_ralph.failure.missing_environment import SET_UP_FIRST

        for note in self.run.messages.notes:
            if note.startswith(SET_UP_FIRST):
                return note
        return ""

    def _is_nothing_to_show(self) -> bool:
        """Whether every task was only verified, and simply passed."""
        if self._report or self.run.messages.notes or self.run.interrupted:
            return False
        if self.run.config.option.verbose >= 2:
            return False
        for result in self.results.tasks:
            if result.recovery or result.outcome != "passed":
                return False
            if result.notes or len(result.attempts) > 1:
                return False
        return True

    def _next_lines(self) -> list[str]:
        """Return the `Next` block, if tasks failed or the run was interrupted."""
        from pytest_ralph.report.next_steps import interrupted_lines, next_lines

        failed = [task for task in self.results.tasks if task.bad]
        command = self.run.next_command
        where = f"Output of all commands: {RALPH_DIRECTORY}/{LOGS_NAME}/"
        if self._report:
            where = f"Report: {self._report}"
        if self.run.interrupted:
            mask = self.run.resources.mask
            headings = [mask(heading) for heading in self.run.interrupted]
            return interrupted_lines(headings, command, where)
        if not failed or self._is_next_left_out():
            return []
        recovery = self.results.recovery
        return next_lines(failed, command, where, recovery=recovery, set_up=self._set_up)

    def _is_next_left_out(self) -> bool:
        """Whether the run is quiet, or the halt summaries have already said how to continue."""
        halted = self.results.halted_specs
        verbosity = self.run.config.option.verbose
        if verbosity < 0:
            return not halted
        return verbosity >= 2 and bool(halted) and not self.run.settings.keep_going

    def pytest_unconfigure(self) -> None:
        """Remove the logs, backups and history of old runs."""
        if self.run.worker or not self.results.by_nodeid:
            return
        for directory in (self.run.directory / LOGS_NAME, self.run.backups.parent):
            prune_logs(directory, keep_runs=self.run.settings.keep_logs)
        # A history that cannot be written was reported when it was first used.
        with suppress(HistoryError):
            self.run.resources.history.prune()
