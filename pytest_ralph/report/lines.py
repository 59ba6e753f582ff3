"""Lines of terminal output, for everything that writes to the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pytest
    from _pytest._io import TerminalWriter


def can_draw() -> bool:
    """Return whether standard output takes more than ASCII."""
    encoding = getattr(sys.stdout, "encoding", "") or ""
    return encoding.lower().replace("-", "").startswith("utf")


class Line(NamedTuple):
    """A line of plain text, and the markup that pytest's terminal writer gives it."""

    text: str = ""
    markup: tuple[str, ...] = ()

    def write(self, writer: TerminalWriter) -> None:
        writer.line(self.text, **dict.fromkeys(self.markup, True))


def start_line(reporter: pytest.TerminalReporter) -> None:
    """End the line that pytest is writing, also a line of progress letters with `-q`."""
    reporter.ensure_newline()
    writer = reporter.config.get_terminal_writer()
    if writer.width_of_current_line:
        writer.line()
