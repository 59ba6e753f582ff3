"""TakeoverLog: the results of a spec in this run, for a worker that takes over from a dead one."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

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
        self._append([self._worker, name])

    def ended(self, name: str, result: TaskResult) -> None:
        self._append([self._worker, name, result.to_json()])

    def _append(self, line: list[Any]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(
            self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644
        )
        try:
            # A newline at both ends: the line before may be incomplete.
            os.write(descriptor, f"\n{json.dumps(line)}\n".encode())
        finally:
            os.close(descriptor)

    def _read(self) -> Iterator[TakeoverEntry]:
        if self.is_new:
            return
        for text in self._path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                worker, task, *told = json.loads(text)
            except ValueError:
                # Empty or incomplete.
                continue
            yield TakeoverEntry(worker, task, TaskResult.from_json(told[0]) if told else None)
