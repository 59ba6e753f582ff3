"""Budget: the executor runs left in one pytest run, for all specs and workers together."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class Budget:
    """Counts in memory, or in a `file` (one byte per run) that several processes share.

    A spec may have a smaller budget of its own `within` that of the run.
    """

    def __init__(
        self, total: int, file: Path | None = None, *, within: Budget | None = None
    ) -> None:
        self.total = total
        self._file = file
        self._within = within
        self._used = 0
        self._lock = threading.Lock()

    @property
    def left(self) -> int:
        own = max(0, self.total - self._count())
        return own if self._within is None else min(own, self._within.left)

    def take(self) -> bool:
        """Use up one run; False if none is left."""
        with self._lock, self._alone():
            if self._count() >= self.total or (
                self._within is not None and not self._within.take()
            ):
                return False
            self._add()
            return True

    def _alone(self) -> contextlib.AbstractContextManager[object]:
        if self._file is None:
            return contextlib.nullcontext()
        from filelock import FileLock

        self._file.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(f"{self._file}.lock")

    def _count(self) -> int:
        if self._file is None:
            return self._used
        return self._file.stat().st_size if self._file.exists() else 0

    def _add(self) -> None:
        if self._file is None:
            self._used += 1
        else:
            with self._file.open("ab") as file:
                file.write(b".")
