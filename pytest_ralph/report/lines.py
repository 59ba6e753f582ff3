"""A line of terminal output with its markup, shared by everything that writes to the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from _pytest._io import TerminalWriter


class Line(NamedTuple):
    """A line of plain text, and the markup that pytest's terminal writer gives it."""

    text: str = ""
    markup: tuple[str, ...] = ()

    def write(self, writer: TerminalWriter) -> None:
        writer.line(self.text, **dict.fromkeys(self.markup, True))
