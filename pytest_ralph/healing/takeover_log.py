"""The TakeoverLog: what became of each task of a spec in this run, for a worker that takes the spec over in the middle."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_ralph.results import TaskResult

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Line(NamedTuple):
    """A task was begun by a worker, or has ended with this result."""

    worker: str
    task: str
    result: TaskResult | None


class TakeoverLog:
    """Lines are only ever added, each by one write: they are there when the worker is killed the moment after."""

    def __init__(self, path: Path, worker: str = "") -> None:
        self._path, self._worker = path, worker
        self.is_new = not path.exists()
        """Nobody had begun to work on the spec in this run."""
        lines = {line.task: line for line in self._read()}
        self.results = {
            name: line.result for name, line in lines.items() if line.result is not None
        }
        # A spec is with one worker at a time: whoever began these and did not end them is dead.
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
            # A new line at both ends: the line before may have been cut off.
            os.write(descriptor, f"\n{json.dumps(line)}\n".encode())
        finally:
            os.close(descriptor)

    def _read(self) -> Iterator[Line]:
        if self.is_new:
            return
        for text in self._path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                worker, task, *told = json.loads(text)
            except ValueError:
                # Empty, or cut off.
                continue
            yield Line(worker, task, TaskResult.from_json(told[0]) if told else None)
