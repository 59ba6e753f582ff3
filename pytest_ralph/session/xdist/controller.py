"""The controller's side of a run with pytest-xdist.

The controller finds the specs and gives every worker a copy of each (`WorkerInput`). Before the
first task runs it locks and checks the specs that the workers collected. Notes, lines for the
terminal and history records come back with the workers' reports.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.history.record import Record
from pytest_ralph.report import junit
from pytest_ralph.running.strays import end_run
from pytest_ralph.session.discovery import split_nodeid
from pytest_ralph.session.header import lines_about_specs
from pytest_ralph.session.messages import terminal_reporter
from pytest_ralph.session.xdist.copies import RemoteDirectories
from pytest_ralph.session.xdist.scheduling import SpecScheduling
from pytest_ralph.session.xdist.worker_input import KEY, WorkerInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.session.header import SelectedTasks
    from pytest_ralph.session.run import Run
    from pytest_ralph.session.xdist.inbox import Inbox
    from pytest_ralph.session.xdist.scheduling import Progress


class Controller:
    """Hands the specs to the workers, and takes in what they report.

    Registered in the process that starts the workers. The hooks are in the order of a run: workers
    are started, they have collected, they report, they end or die.

    _is_checked: Whether the specs have been locked and checked.
    _called: The reports of tasks whose teardown has not been reported, by node id.
    _finished: The node ids of tasks and tests whose teardown has been reported.
    _failures: How many tasks and tests have failed.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self._is_checked = False
        self._called: dict[str, pytest.TestReport] = {}
        self._finished: set[str] = set()
        self._failures = 0
        self._remote_directories = RemoteDirectories(run.id)

    # Workers are started

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> SpecScheduling | None:
        if config.getvalue("dist") in ("no", "each"):
            return None
        return SpecScheduling(config, log, self._progress)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_newgateway(self, gateway: Any) -> None:
        """Prepare to clean up after workers that get a copy of the project."""
        if gateway.spec.popen and not gateway.spec.chdir:
            return
        session = self.run.config.pluginmanager.getplugin("dsession")
        self._remote_directories.add(gateway, session.nodemanager.roots)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        try:
            self.run.run_directory.create()
        except OSError as error:
            path = self.run.specs.relative(self.run.run_directory.path)
            raise pytest.UsageError(
                f"workers share files in {path}, which cannot be written "
                f"({error.strerror or error}): leave out -n"
            ) from None
        node.workerinput[KEY] = WorkerInput.of_run(node, self.run)._asdict()

    # They have collected

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Check what the first worker has collected: the controller collects nothing itself."""
        if self._is_checked:
            return
        self._is_checked = True
        selected = self._selected(ids)
        self.run.preflight.check(spec for spec, _ in selected)
        reporter = terminal_reporter(self.run.config)
        if reporter is not None:
            for line in lines_about_specs(self.run, selected):
                reporter.ensure_newline()
                reporter.write_line(line)

    def _selected(self, ids: Sequence[str]) -> list[SelectedTasks]:
        """Return the specs to which node ids belong, each with its tasks among them."""
        names: dict[str, set[str]] = {}
        for nodeid in ids:
            path, name = split_nodeid(nodeid)
            names.setdefault(path, set()).add(name)
        selected = []
        for path, of_spec in names.items():
            if path in self.run.specs.snapshots:
                spec = self.run.specs.collected(path)
                tasks = [task for task in spec.tasks if task.name in of_spec]
                selected.append((spec, tasks))
        return selected

    # They report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in what a worker sent along with a report, and stop all after `--maxfail`."""
        if report.when == "call" and hasattr(report, "ralph"):
            self._called[report.nodeid] = report
        elif report.when == "teardown":
            self._called.pop(report.nodeid, None)
            self._finished.add(report.nodeid)
        message = vars(report).pop("ralph_message", {})
        self._receive(message)
        if "work" in message:
            self._inbox.receive(report, message["work"], message["root"])
        self._failures += report.failed
        limit = self.run.config.getoption("maxfail")
        if limit and self._failures >= limit:
            self.run.run_directory.call_off()

    @cached_property
    def _inbox(self) -> Inbox:
        # Imported here: most workers share the files of the project.
        from pytest_ralph.session.xdist.inbox import Inbox

        return Inbox(self.run)

    def _receive(self, message: dict[str, Any]) -> None:
        """Take over what a worker would have written on a terminal and into the history."""
        for note in message.get("notes", ()):
            self.run.messages.note(note)
        lines = message.get("lines")
        if lines:
            self.run.messages.show(lines)
        for record in message.get("records", ()):
            self.run.resources.history.record(Record.from_row(record))

    # They are interrupted, they end or die

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """End what the workers run. A signal to this process alone does not reach them."""
        if excinfo.type is not KeyboardInterrupt:
            # After -x, pytest-xdist has ended the workers.
            return
        self.run.run_directory.interrupt()
        for path in self.run.specs.snapshots:
            log = self.run.run_directory.takeover_log(self.run.root / path)
            if not log.unfinished:
                continue
            spec = self.run.specs.collected(path)
            for task in spec.tasks:
                if task.name in log.unfinished:
                    self.run.interrupted.append(f"{spec.name} {task.heading}")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take in what a worker sent at its end, or end what a dead one left running."""
        message = getattr(node, "workeroutput", {}).get(KEY, {})
        self._receive(message)
        if "root" in message:
            self._remote_directories.add_root(node, message["root"])
        if error:
            # The worker could not end its processes, and its tasks go to another worker.
            for mark in self.run.run_directory.marks_of(node.gateway.id):
                end_run(mark)

    def _progress(self, node: Any, nodeid: str) -> Progress:
        """Return how far a dead worker had come with an item."""
        called = self._called.pop(nodeid, None)
        if called is not None:
            # pytest writes the JUnit properties at the teardown, which will not come.
            junit.write_properties(self.run.config, called)
            return "reported"
        if nodeid in self._finished:
            return "reported"
        path, name = split_nodeid(nodeid)
        if path not in self.run.specs.snapshots:
            return "running"
        run_directory = self.run.run_directory
        if not run_directory.is_shared_with(node.gateway.id):
            return "running"
        if name in run_directory.takeover_log(self.run.root / path).unfinished:
            return "running"
        junit.forget(self.run.config, nodeid, node)
        return "waiting"

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: Any) -> None:
        """Give a task that crashed with its worker a result, like any other task."""
        path, name = split_nodeid(crashitem)
        if path not in self.run.specs.snapshots:
            return
        spec = self.run.specs.collected(path)
        task = spec[name]
        result = self.run.spec_run(spec).crashed(task, report.node.gateway.id)
        if result.passed:
            report.outcome = "passed"
            report.longrepr = None
        report.when = "call"
        report.location = (path, task.line - 1, result.heading)
        report.ralph = result
        junit.set_properties(report, result)
        junit.write_properties(self.run.config, report)

    # The end of the run

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Clean up on other machines while their gateways are open."""
        for line in self._remote_directories.clean_up():
            self.run.messages.note(line)
