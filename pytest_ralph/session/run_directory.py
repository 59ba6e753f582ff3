"""Shared: a directory in which the processes of one run, its workers and their controller, tell each other things.

A worker on another machine finds no such directory and makes one of its own: it shares with the workers beside it.
"""

from __future__ import annotations

import contextlib
import shutil
from typing import TYPE_CHECKING

from pytest_ralph.session.locks import TurnLock, spec_key

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.healing.takeover_log import TakeoverLog


class Shared:
    """Seen from one process: `worker` is its id, empty for the controller."""

    def __init__(self, directory: Path, worker: str = "", *, alone: bool = False) -> None:
        """`alone`: every worker runs every spec (`--dist=each`), so none takes over from another."""
        self.directory, self.worker = directory, worker
        self.alone = alone
        self._turn = TurnLock(directory, "turn")
        self._has_turn = False
        # Whether the controller's files are ours too.
        self.with_controller = directory.is_dir()

    def open(self) -> None:
        """The controller, before it starts a worker."""
        self.directory.mkdir(parents=True, exist_ok=True)

    def remove(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def budget(self) -> Path:
        return self.directory / "budget"

    def takeover_log(self, spec: Path) -> TakeoverLog:
        from pytest_ralph.healing.takeover_log import TakeoverLog

        return TakeoverLog(
            self.directory / (spec_key(spec) + (f"-{self.worker}" if self.alone else "")),
            self.worker,
        )

    def take_turn(self) -> None:
        """Until its end this worker writes the specs; who else has them to write waits."""
        if not self._has_turn:
            self._turn.__enter__()
            self._has_turn = True

    def end_turn(self) -> None:
        if self._has_turn:
            self._turn.__exit__()
            self._has_turn = False

    # Which processes a worker started, for the controller to end when the worker could not

    def arrive(self) -> None:
        if self.with_controller:
            self._marks(self.worker).touch()

    def started(self, run: int) -> None:
        """This worker is about to start processes that carry marks of `run`."""
        self.open()
        with self._marks(self.worker).open("a", encoding="utf-8") as file:
            file.write(f"{run}\n")

    def marks(self, worker: str) -> list[int]:
        with contextlib.suppress(OSError):
            return [int(word) for word in self._marks(worker).read_text(encoding="utf-8").split()]
        return []

    def is_with(self, worker: str) -> bool:
        """Whether that worker writes its files where this process reads them."""
        return self._marks(worker).exists()

    def _marks(self, worker: str) -> Path:
        return self.directory / f"{worker}.marks"

    # The end of the run, called off by -x or --maxfail

    def call_off(self) -> None:
        if self.directory.is_dir():
            (self.directory / "off").touch()

    @property
    def called_off(self) -> bool:
        return (self.directory / "off").exists()
