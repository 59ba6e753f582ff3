"""TakeoverLog: the results of a spec in this run, for a worker that takes over from a dead one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.files import append_json, read_json_lines
from pytest_ralph.results import TaskResult

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class TakeoverEntry(NamedTuple):
    """A task that a worker began, or that ended with this result."""

    worker: str
    task: str
    result: TaskResult | None


class TakeoverLog:
    """An append-only file, one write per line, so that a killed worker loses no line."""

    def __init__(self, path: Path, worker: str = "") -> None:
        self._path = path
        self._worker = worker
        # Whether no worker has begun to work on the spec in this run.
        self.is_new = not path.exists()
        lines = {line.task: line for line in self._read()}
        self.results = {
            name: line.result for name, line in lines.items() if line.result is not None
        }
        # One worker at a time has the spec, so a worker that began a task and did not end it is
        # dead.
        self.unfinished = {name: line.worker for name, line in lines.items() if line.result is None}

    def begun(self, name: str) -> None:
        append_json(self._path, [self._worker, name])

    def ended(self, name: str, result: TaskResult) -> None:
        append_json(self._path, [self._worker, name, result.to_json()])

    def _read(self) -> Iterator[TakeoverEntry]:
        for worker, task, *ended in read_json_lines(self._path):
            yield TakeoverEntry(worker, task, TaskResult.from_json(ended[0]) if ended else None)
