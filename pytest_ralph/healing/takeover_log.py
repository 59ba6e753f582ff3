"""TakeoverLog: the results of a spec in this run, for a worker that takes over from a dead one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.files import append_json, read_json_lines
from pytest_ralph.results import TaskResult, from_json, to_json

if TYPE_CHECKING:
    from pathlib import Path


class TakeoverLog:
    """An append-only file, one write per line, so that a killed worker loses no line."""

    def __init__(self, path: Path, worker: str = "") -> None:
        self._path = path
        self._worker = worker
        # Whether no worker has begun to work on the spec in this run.
        self.is_new = not path.exists()
        self.results: dict[str, TaskResult] = {}
        # One worker at a time has the spec, so a worker that began a task and did not end it is
        # dead.
        self.unfinished: dict[str, str] = {}
        for begun_by, name, *result in read_json_lines(path):
            if result:
                self.results[name] = from_json(TaskResult, result[0])
                self.unfinished.pop(name, None)
            else:
                self.results.pop(name, None)
                self.unfinished[name] = begun_by

    def begun(self, name: str) -> None:
        append_json(self._path, [self._worker, name])

    def ended(self, name: str, result: TaskResult) -> None:
        append_json(self._path, [self._worker, name, to_json(result)])
