"""Messages of a run to the user, at once or at its end."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from pytest_ralph.session.screen import Screen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import pytest


class Messages:
    """Where a run writes its messages, without secrets.

    A worker of pytest-xdist has no terminal. What would be written there is kept in `unwritten`
    until the worker sends it to the controller.
    """

    def __init__(self, config: pytest.Config, root: Path, mask: Callable[[str], str]) -> None:
        self._config = config
        self._root = root
        self._mask = mask
        self.screen = Screen(config)
        self.notes: list[str] = []
        self.unwritten: list[str] = []

    def note(self, line: str) -> None:
        """Show a line at the end of the run, once however often it is noted."""
        line = self._mask(line.replace(f"{self._root}/", ""))
        if line not in self.notes:
            self.notes.append(line)

    def announce(self, line: str) -> None:
        """Write a line at once, for what a user must know even if the run is killed."""
        if not self.screen.write([f"ralph: {self._mask(line)}"]):
            self.note(line)

    def announce_verbose(self, line: str) -> None:
        """Write a line at once, with `-v`.

        Only the main thread can write between pytest's own lines. The tasks that other threads
        run have live rows.
        """
        if self._config.option.verbose <= 0:
            return
        if threading.current_thread() is not threading.main_thread():
            return
        line = self._mask(line)
        if not self.screen.write([line]):
            self.unwritten.append(line)

    def show(self, lines: Sequence[str]) -> None:
        """Write a paragraph at once, with `-vv`."""
        if self._config.option.verbose < 2:
            return
        if not self.screen.write(["", *lines, ""]):
            self.unwritten.extend(lines)
