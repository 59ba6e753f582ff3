"""What became of each task of a spec in this run, for a worker that takes it over in the middle."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class Ledger:
    """One line is one write in append mode: it is there when the worker is killed the moment after."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def is_new(self) -> bool:
        """Nobody has worked on the spec in this run yet."""
        return not self._path.exists()

    def failed(self) -> list[str]:
        """Tasks that failed, or that were begun by a worker that never came to their end."""
        told: dict[str, str] = {}
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                name, outcome = json.loads(line)
                told[name] = outcome
        return [name for name, outcome in told.items() if outcome in ("begun", "failed", "regression")]

    def begun(self, name: str) -> None:
        self._append(name, "begun")

    def ended(self, name: str, outcome: str) -> None:
        self._append(name, outcome)

    def _append(self, name: str, outcome: str) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, (json.dumps([name, outcome]) + "\n").encode())
        finally:
            os.close(descriptor)
