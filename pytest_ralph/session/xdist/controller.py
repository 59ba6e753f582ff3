"""Many workers: the controller's side of a run with pytest-xdist.

The controller finds the specs and hands every worker a copy of each as it was at the start: a worker that replaces a
dead one must collect the same tasks in the same order, whatever tasks.md says by then. Before anything runs it holds
the specs that were collected. What workers have to say comes back on their reports.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.healing.attempt_log import AttemptLog
from pytest_ralph.history.record import Record
from pytest_ralph.report import junit
from pytest_ralph.results import TaskReport
from pytest_ralph.running.strays import Mark, kill_marked
from pytest_ralph.session.xdist.scheduling import SpecScheduling
from pytest_ralph.session.xdist.worker import PARCEL
from pytest_ralph.spec.document import Spec, SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pytest_ralph.session.run import Run
    from pytest_ralph.session.xdist.scheduling import Fate
    from pytest_ralph.spec.task import Task


class Controller:
    """Registered where workers are used, and not in them."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._told: set[str] = set()
        self._called: dict[str, pytest.TestReport] = {}
        self._failures = 0
        self._held = False

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> SpecScheduling | None:
        return (
            None
            if config.getvalue("dist") in ("no", "each")
            else SpecScheduling(config, log, self._fate)
        )

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        if self.run.settings.interactive:
            raise pytest.UsageError(
                "--ralph-interactive needs the terminal, which workers do not have: leave out -n"
            )
        self.run.shared.open()
        node.workerinput["ralph"] = {
            "run": self.run.id,
            "python": sys.implementation.cache_tag,
            "specs": self.run.snapshots,
            # A worker is not told the mode by xdist.
            "alone": self.run.config.getvalue("dist") == "each",
        }

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Before the first test is given out."""
        if not self._held:
            self._held = True
            self.run.holding.hold(self._specs(ids))

    def _specs(self, ids: Iterable[str]) -> list[Spec]:
        paths = dict.fromkeys(nodeid.partition("::")[0] for nodeid in ids)
        return [self.run.load(self.run.root / path) for path in paths if path in self.run.snapshots]

    # What comes back

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and hasattr(report, "ralph"):
            self._called[report.nodeid] = report
        elif report.when == "teardown":
            self._called.pop(report.nodeid, None)
            self._told.add(report.nodeid)
        self._unpack(getattr(report, "ralph_parcel", {}))
        self._failures += report.failed
        if 0 < (self.run.config.getoption("maxfail") or 0) <= self._failures:
            self.run.shared.call_off()

    def _unpack(self, parcel: dict[str, list[Any]]) -> None:
        for note in parcel.get("notes", ()):
            self.run.note(note)
        if shown := parcel.get("shown"):
            self.run.show(shown)
        for record in parcel.get("records", ()):
            self.run.history.record(Record.from_json(record))

    # A worker goes, or dies

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        self._unpack(getattr(node, "workeroutput", {}).get(PARCEL, {}))
        if error:
            # It could not end what it had started, and its tasks are about to be given to another.
            for run in self.run.shared.marks(node.gateway.id):
                kill_marked(Mark(run, 0), whole_run=True)

    def _fate(self, node: Any, nodeid: str) -> Fate:
        if called := self._called.pop(nodeid, None):
            # Killed before its teardown, for which pytest's writer of JUnit files waits.
            junit.write_properties(self.run.config, called)
            return "told"
        if nodeid in self._told:
            return "told"
        path, _, name = nodeid.partition("::")
        if path not in self.run.snapshots or not self.run.shared.is_with(node.gateway.id):
            return "running"
        if name in self.run.shared.takeover_log(self.run.root / path).unfinished:
            return "running"
        junit.forget(self.run.config, nodeid, node)
        return "waiting"

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: Any) -> None:
        """xdist tells that a test crashed with its worker; for a task, with its story, like any other that failed."""
        path, _, name = crashitem.partition("::")
        if path not in self.run.snapshots:
            return
        spec = self.run.load(self.run.root / path)
        task = next(task for task in spec.tasks if task.name == name)
        attempt_log, worker = self._journal(spec, path, task), report.node.gateway.id
        fixes = _fixes_that_helped(spec.path, self.run.snapshots[path], name)
        if fixes is None:
            result = attempt_log.crashed(worker)
        else:
            result, report.outcome, report.longrepr = (
                attempt_log.crashed_after_pass(worker, fixes),
                "passed",
                None,
            )
        report.when, report.location = "call", (path, task.line - 1, task.heading)
        recovery, most = self.run.holding.is_written(spec), self.run.settings_of(spec).max_fixes + 1
        report.ralph = TaskReport(result, recovery, most)
        report.user_properties = junit.properties(result)
        junit.write_properties(self.run.config, report)

    def _journal(self, spec: Spec, path: str, task: Task) -> AttemptLog:
        return AttemptLog(
            task, spec=spec.name, spec_path=path, run=self.run.id, record=self.run.history.record
        )


def _fixes_that_helped(path: Path, snapshot: str, name: str) -> list[str] | None:
    """Of a task checked off since: it had passed when its worker died, and only the word of it was lost. Else None."""
    try:
        before, now = Spec.parse(snapshot, path), Spec.load(path)
    except SpecError:
        return None
    was, task = before.get(name), now.get(name)
    if was is None or task is None or was.checked or not task.checked:
        return None
    return [fix.id for fix in now.tasks if fix.fix_for == task.id and fix.name not in before]
