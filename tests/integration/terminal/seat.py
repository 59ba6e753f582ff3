"""A seat at a terminal: a run in a real pseudo-terminal, and what a person would see of it."""

from __future__ import annotations

import os
import re
import sys
from types import MappingProxyType
from typing import TYPE_CHECKING

import pexpect

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PATIENCE = 30
SEQUENCE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b([78D])|(\r|\n)|([^\x1b\r\n])")


class Picture:
    """A screen of `columns`, endless downwards: takes what a program writes, returns its lines."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._rows: list[str] = [""]
        self._row = self._column = 0
        self._saved = (0, 0)
        self.unknown: set[str] = set()

    def feed(self, text: str) -> None:
        for match in SEQUENCE.finditer(text):
            argument, command, single, motion, character = match.groups()
            if character:
                self._put(character)
            elif motion or single:
                self._move(motion or single)
            else:
                self._control(command, int(argument or 0) if argument.isdigit() else 0)

    @property
    def lines(self) -> list[str]:
        return "\n".join(row.rstrip() for row in self._rows).rstrip("\n").split("\n")

    def _put(self, character: str) -> None:
        if self._column == self._columns:
            self._to(self._row + 1, 0)
        row = self._rows[self._row].ljust(self._column)
        self._rows[self._row] = row[: self._column] + character + row[self._column + 1 :]
        self._column += 1

    def _move(self, what: str) -> None:
        if what == "\r":
            self._column = 0
        elif what in ("\n", "D"):
            self._to(self._row + 1, self._column)
        elif what == "7":
            self._saved = self._row, self._column
        else:
            self._to(*self._saved)

    def _control(self, command: str, number: int) -> None:
        if command == "A":
            self._to(self._row - (number or 1), self._column)
        elif command in "KJ":
            self._rows[self._row] = self._rows[self._row][: self._column]
            if command == "J":
                del self._rows[self._row + 1 :]
        elif command != "m":
            self.unknown.add(command)

    def _to(self, row: int, column: int) -> None:
        self._rows += [""] * (row + 1 - len(self._rows))
        self._row, self._column = row, column


class Seat:
    """Runs pytest in `directory`.

    What happens is seen through `expect`, and afterwards in `text` and `picture`.
    """

    def __init__(
        self,
        directory: Path,
        *args: str,
        columns: int = 80,
        environ: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.columns = columns
        base = {
            key: value
            for key, value in os.environ.items()
            if key not in ("COLUMNS", "NO_COLOR", "PY_COLORS", "CI")
        }
        quick = {
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTEST_PLUGINS": "pytest_ralph.plugin",
            "TERM": "xterm",
        }
        self._child = pexpect.spawn(
            sys.executable,
            ["-m", "pytest", "-p", "no:cacheprovider", *args],
            cwd=str(directory),
            dimensions=(24, columns),
            env={**base, **quick, **environ},
            encoding="utf-8",
            timeout=PATIENCE,
        )
        self._log: list[str] = []
        self._child.logfile_read = self

    # What pexpect wants of a log

    def write(self, text: str) -> None:
        self._log.append(text)

    def flush(self) -> None: ...

    # What a person does

    def expect(self, *texts: str) -> None:
        """Wait until each has been seen, in this order."""
        for text in texts:
            self._child.expect_exact(text)

    def answer(self, line: str) -> None:
        self._child.sendline(line)

    def press(self, control: str) -> None:
        self._child.sendcontrol(control)

    def status(self) -> int:
        """Wait for the end."""
        self._child.expect(pexpect.EOF)
        self._child.close()
        assert self._child.exitstatus is not None, (
            f"ended by signal {self._child.signalstatus}:\n{self.text}"
        )
        return int(self._child.exitstatus)

    @property
    def text(self) -> str:
        return "".join(self._log)

    @property
    def lines(self) -> list[str]:
        """What is on the screen."""
        picture = Picture(self.columns)
        picture.feed(self.text)
        assert not picture.unknown
        return picture.lines
