"""Outages: the executors that are not used for the rest of a run, for all specs and workers."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class Outages:
    """Maps the names of executors in trouble to the reason.

    It is kept in memory, or in a `file` with one line per executor that several processes share.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._reasons: dict[str, str] = {}

    def add(self, executor: str, reason: str) -> None:
        """Stop using an executor."""
        self._reasons[executor] = reason
        if self._file is None:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(self._file, flags, 0o644)
        try:
            os.write(descriptor, f"{json.dumps([executor, reason])}\n".encode())
        finally:
            os.close(descriptor)

    def reason(self, executor: str) -> str | None:
        """Return why an executor is not used, or None if it can be."""
        if executor not in self._reasons:
            self._read()
        return self._reasons.get(executor)

    def _read(self) -> None:
        if self._file is None or not self._file.exists():
            return
        for line in self._file.read_text(encoding="utf-8").splitlines():
            executor, reason = json.loads(line)
            self._reasons[executor] = reason
