"""The controller's side of a run with pytest-xdist.

The controller finds the specs and gives every worker a copy of each (`Handover`). Before the first
task runs it locks and checks the specs that the workers collected. Notes, lines for the terminal
and history records come back with the workers' reports.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.history.record import Record
from pytest_ralph.report import junit
from pytest_ralph.running.strays import Mark, kill_marked
from pytest_ralph.session.collect import lines_about_specs
from pytest_ralph.session.discovery import split_nodeid
from pytest_ralph.session.messages import terminal_reporter
from pytest_ralph.session.xdist.scheduling import SpecScheduling
from pytest_ralph.session.xdist.worker import KEY, send_handover

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pytest_ralph.session.collect import SelectedTasks
    from pytest_ralph.session.run import Run
    from pytest_ralph.session.xdist.inbox import Inbox
    from pytest_ralph.session.xdist.scheduling import Progress


class Controller:
    """Registered in the process that starts the workers."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._is_checked = False
        self._failures = 0
        # Node ids whose teardown was reported, and reports of calls whose teardown was not.
        self._finished: set[str] = set()
        self._called: dict[str, pytest.TestReport] = {}
        self._places = Places(run.id)

    # Before the first task

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> SpecScheduling | None:
        if config.getvalue("dist") in ("no", "each"):
            return None
        return SpecScheduling(config, log, self._progress)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_newgateway(self, gateway: Any) -> None:
        if gateway.spec.popen and not gateway.spec.chdir:
            return
        session = self.run.config.pluginmanager.getplugin("dsession")
        self._places.add(gateway, session.nodemanager.roots)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        self.run.run_directory.create()
        every_spec = self.run.config.getvalue("dist") == "each"
        send_handover(node, self.run, every_spec=every_spec)

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

    # Reports

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
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
        for note in message.get("notes", ()):
            self.run.messages.note(note)
        lines = message.get("lines")
        if lines:
            self.run.messages.show(lines)
        for record in message.get("records", ()):
            self.run.resources.history.record(Record.from_row(record))

    # The end of a worker

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """End what the workers run. A signal to this process alone does not reach them."""
        if excinfo.type is not KeyboardInterrupt:
            # After -x, pytest-xdist has ended the workers.
            return
        self.run.run_directory.interrupt()
        for path in self.run.specs.snapshots:
            log = self.run.run_directory.takeover_log(self.run.root / path)
            unfinished = log.unfinished
            if unfinished:
                spec = self.run.specs.collected(path)
                tasks = [task for task in spec.tasks if task.name in unfinished]
                self.run.interrupted += [f"{spec.name} {task.heading}" for task in tasks]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        message = getattr(node, "workeroutput", {}).get(KEY, {})
        self._receive(message)
        if "root" in message:
            self._places.add_root(node, message["root"])
        if error:
            # The worker could not end its processes, and its tasks go to another worker.
            for mark in self.run.run_directory.marks_of(node.gateway.id):
                kill_marked(Mark(mark, 0), whole_run=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Clean up on other machines while their gateways are open."""
        for line in self._places.clean_up():
            self.run.messages.note(line)

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
        report.user_properties = junit.properties(result)
        junit.write_properties(self.run.config, report)


# Seconds that another machine has to clean up.
TIME_LIMIT = 60

# Programs that run over there, in the directory of the worker.
LOOK = """
import os, platform
missing = [name for name in channel.receive() if not os.path.lexists(name)]
channel.send((platform.node(), os.getcwd(), missing))
"""
CLEAN_UP = """
from pytest_ralph.session.xdist.outbox import clean_up
clean_up(*channel.receive())
"""


@dataclass
class Place:
    """A directory on another machine in which workers were started.

    new: The copies of the project that this run made in it.
    roots: Where workers that have run their last task found the project.
    channels: Each is closed when its worker has ended.
    """

    new: list[str]
    gateways: list[Any] = field(default_factory=list)
    roots: set[str] = field(default_factory=set)
    channels: list[Any] = field(default_factory=list)


class Places:
    """Knows which copies of the project the run itself has made, and removes those at the end.

    A copy that was there before stays, and is put back as it was.
    """

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._places: dict[str, Place] = {}

    def add(self, gateway: Any, sources: Iterable[Path]) -> None:
        """Look, before xdist copies `sources`, which of them are not there yet."""
        names = [source.name for source in sources]
        channel = gateway.remote_exec(LOOK)
        channel.send(names)
        host, directory, missing = channel.receive(TIME_LIMIT)
        channel.waitclose(TIME_LIMIT)
        # A second worker in the same place finds what was copied for the first one.
        place = self._places.setdefault(f"{host}:{directory}", Place(missing))
        place.gateways.append(gateway)
        gateway.ralph_place = place

    def add_root(self, node: Any, root: str) -> None:
        """Record where a worker, which has run its last task, found the project."""
        place: Place = node.gateway.ralph_place
        place.roots.add(root)
        place.channels.append(node.channel)

    def clean_up(self) -> list[str]:
        """Put back and remove what the run left; return a line about each place that failed."""
        lines = []
        for name, place in self._places.items():
            for channel in place.channels:
                # Until then the worker may write files. Its errors are reported by xdist.
                with contextlib.suppress(Exception):
                    channel.waitclose(TIME_LIMIT)
            if not any(self._clean_up_through(gateway, place) for gateway in place.gateways):
                lines.append(f"{name} could not be cleaned up")
        return lines

    def _clean_up_through(self, gateway: Any, place: Place) -> bool:
        # A worker that died took its gateway with it.
        with contextlib.suppress(Exception):
            channel = gateway.remote_exec(CLEAN_UP)
            channel.send((sorted(place.roots), place.new, self._run_id))
            channel.waitclose(TIME_LIMIT)
            return True
        return False
