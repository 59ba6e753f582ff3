"""A worker's side of a run with pytest-xdist: what it is given at its start, and what it sends."""

from __future__ import annotations

import os
import signal
import sys
import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from pytest_ralph.session.items import task_items

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

    from pytest_ralph.results import TaskResult
    from pytest_ralph.session.run import Run
    from pytest_ralph.session.xdist.outbox import Outbox

# In what xdist sends to a worker at its start, and in what the worker sends at its end.
KEY = "ralph"
# Seconds between two looks whether the controller was interrupted or killed.
INTERVAL = 0.2


class Handover(NamedTuple):
    """What a worker knows of the run that it belongs to.

    specs: The text of each spec as it was at the start, by its path in the project. A worker that
        replaces a dead one must collect the same tasks in the same order, whatever tasks.md
        contains by then.
    every_spec: Whether each worker runs every spec (`--dist=each`). xdist does not tell workers.
    project: The name of the project's directory, which xdist gives to a copy of it, too.
    controller: The process id of the controller.
    """

    run_id: str
    worker_id: str
    specs: Mapping[str, str]
    every_spec: bool
    project: str
    controller: int

    @classmethod
    def received(cls, config: pytest.Config) -> Handover | None:
        """Return what this worker was given; None in a controller and without workers."""
        given: dict[str, Any] = getattr(config, "workerinput", {})
        if KEY not in given:
            return None
        data = given[KEY]
        return cls(
            run_id=data["run"],
            worker_id=given["workerid"],
            specs=data["specs"],
            every_spec=data["every_spec"],
            project=data["project"],
            controller=data["controller"],
        )

    def find_project(self, root: Path) -> Path:
        """Return the root of the project.

        pytest takes the directory around a copy without an ini file for the root.
        """
        for directory in (root, root / self.project):
            if any((directory / spec).exists() for spec in self.specs):
                return directory
        return root


def send_handover(node: Any, run: Run, *, every_spec: bool) -> None:
    """Add the data for a worker to what xdist sends it at its start."""
    node.workerinput[KEY] = {
        "run": run.id,
        "project": run.root.name,
        # A worker may run on another version of Python: see `plugin._fix_import_path`.
        "python": sys.implementation.cache_tag,
        "specs": dict(run.specs.snapshots),
        "every_spec": every_spec,
        "controller": os.getpid(),
    }


class Worker:
    """Sends notes, terminal lines and history records to the controller with each report."""

    def __init__(self, run: Run) -> None:
        self.run = run
        run.run_directory.register_worker()
        self._has_ended = threading.Event()
        threading.Thread(target=self._watch_controller, daemon=True).start()

    def _watch_controller(self) -> None:
        """End what runs once the controller has received Ctrl-C, which may not reach workers.

        A signal from the controller would be a second one after Ctrl-C in a terminal, and cut off
        the work that the first one began. If the controller was killed, end this process: without
        reports its work is lost, and pytest-xdist would let it go on for seconds.
        """
        assert self.run.worker is not None
        controller = self.run.worker.controller
        # Workers on other machines and those of a socket server have another parent.
        is_child = os.getppid() == controller
        while not self._has_ended.wait(INTERVAL):
            if is_child and os.getppid() != controller:
                os.kill(os.getpid(), signal.SIGKILL)
            if self.run.run_directory.is_interrupted:
                # Not `run.stop`: the main thread may still wait for what that would cancel.
                self.run.resources.stop()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> Generator[None, None, None]:
        """Append the groups of tasks to the node ids that pytest-xdist sends to the controller.

        pytest-xdist 3.8 appends them, too, but pytest 9.2 ignores how it does that.
        """
        grouped = []
        if session.config.option.loadgroup:
            grouped = task_items(session)
        for item in grouped:
            if "@" not in item.nodeid.partition("::")[2]:
                item.group_suffix = _group_suffix(item)
        yield
        for item in grouped:
            item.group_suffix = ""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        message = self._take_message()
        if self.run.run_directory.is_elsewhere and hasattr(report, "ralph"):
            message |= self._work(item, report.ralph)
            report.ralph = report.ralph._replace(elsewhere=True)  # type: ignore[attr-defined]
        if message:
            report.ralph_message = message  # type: ignore[attr-defined]
        return report

    def _work(self, item: Any, result: TaskResult) -> dict[str, Any]:
        """Return what was done about a task in a copy of the project."""
        spec_run = self.run.spec_run(item.parent.spec)
        work = self._outbox.collect(spec_run, result)
        return {"work": work, "root": str(self.run.root)} if work else {}

    @cached_property
    def _outbox(self) -> Outbox:
        # Imported here: most workers have no need to send files.
        from pytest_ralph.session.xdist.outbox import Outbox

        return Outbox(self.run)

    def _take_message(self) -> dict[str, Any]:
        """Return what the controller has not received yet; empty if there is nothing."""
        messages = self.run.messages
        resources = self.run.resources
        message = {
            "notes": messages.notes,
            "lines": messages.unwritten,
            "records": [record.row() for record in resources.records],
        }
        messages.notes = []
        messages.unwritten = []
        resources.records = []
        return message if any(message.values()) else {}

    def pytest_runtest_logfinish(self) -> None:
        if self.run.run_directory.is_called_off:
            self.run.halt("cancelled by the controller")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._has_ended.set()
        # The controller ends the process once it has the message, before `pytest_unconfigure`.
        self.run.close()
        message = self._take_message()
        if self.run.run_directory.is_elsewhere:
            message["root"] = str(self.run.root)
        session.config.workeroutput[KEY] = message  # type: ignore[attr-defined]


def _group_suffix(item: pytest.Item) -> str:
    """Return the names of the `xdist_group` marks of an item, as pytest-xdist appends them."""
    names = set()
    for mark in item.iter_markers("xdist_group"):
        name = mark.args[0] if mark.args else mark.kwargs.get("name", "default")
        names.add(str(name))
    return f"@{'_'.join(sorted(names))}" if names else ""
