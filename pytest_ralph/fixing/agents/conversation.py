"""Fixing: a Conversation, what an agent said and did in one run, read from its machine-readable output."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_ralph.fixing.agents.trouble import kind_of_trouble

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Event = dict[str, Any]

# One event may carry a whole file or the output of a command; what is longer than this is no event we read.
LONGEST_EVENT = 4 * 1024 * 1024
REMEMBERED = 64 * 1024
PATH_KEYS = ("file_path", "filePath", "path", "notebook_path", "absolute_path", "target_file")
CHANGES_FILES = re.compile(r"edit|write|replace|patch|create_file|undo", re.IGNORECASE)


@dataclass
class Conversation:
    """Filled event by event. `text` is the last thing said, `error` the tool's own words for why it stopped."""

    text: str = ""
    session_id: str = ""
    error: str = ""
    error_kind: str = ""
    tools: dict[str, int] = field(default_factory=dict)
    last_tool: str | None = None
    changed: dict[str, None] = field(default_factory=dict)
    # Whether the program keeps to its format: then errors of its service are events, and words are only words.
    heard: bool = False
    _open: dict[str, tuple[str, str]] = field(default_factory=dict)

    def say(self, text: str, *, more: bool = False) -> None:
        """A new message, or with `more` another piece of the current one."""
        if text:
            self.text = ((self.text if more else "") + text)[-REMEMBERED:]

    def begin(self, call: object, tool: object, arguments: object = None) -> None:
        self._open[str(call)] = (str(tool or "tool"), _path_in(arguments))

    def end(self, call: object, *, well: bool) -> None:
        tool, path = self._open.pop(str(call), ("", ""))
        if tool:
            self.used(tool, path, well=well)

    def used(self, tool: str, path: str = "", *, well: bool) -> None:
        self.tools[tool] = self.tools.get(tool, 0) + 1
        if well:
            self.last_tool = tool
            if path and CHANGES_FILES.search(tool):
                self.changed[path] = None

    def fail(self, message: object, *, status: object = None, kind: str = "") -> None:
        self.error = plain_message(message)
        self.error_kind = kind or kind_of_trouble(self.error, status)

    def recover(self) -> None:
        """It went on after an error, so that was none."""
        self.error = self.error_kind = ""

    @property
    def busy_with(self) -> str:
        """The tool that was called last and has not answered yet."""
        return next(reversed(self._open.values()), ("", ""))[0]

    def files(self, root: Path) -> tuple[str, ...]:
        """Files it says it changed, as the project would write them."""
        return tuple(_inside(path, root) for path in self.changed)


def events(output: Path) -> Iterator[Event | str]:
    """One a line: a JSON object where the line is one, else the line itself."""
    try:
        with output.open("rb") as file:
            while piece := file.readline(LONGEST_EVENT):
                yield read_event(piece.decode("utf-8", "replace").rstrip("\r\n"))
    except OSError:
        return


def read_event(line: str) -> Event | str:
    if line.lstrip().startswith("{"):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            return line
        if isinstance(event, dict):
            return event
    return line


def plain_message(message: object, depth: int = 4) -> str:
    """The sentence inside an error that is wrapped in JSON, as services and tools like to do."""
    if isinstance(message, dict) and depth:
        inner = next(
            (
                message[key]
                for key in ("message", "error", "data", "detail", "name", "type")
                if message.get(key)
            ),
            "",
        )
        return plain_message(inner, depth - 1)
    text = str(message).strip()
    start = text.find('{"')
    if depth and start >= 0:
        wrapped = read_event(text[start : text.rfind("}") + 1])
        if isinstance(wrapped, dict) and (inner := plain_message(wrapped, depth - 1)):
            return inner
    return text


def _path_in(arguments: object) -> str:
    # One tool may both show and change files, and then says which in a `command`.
    if not isinstance(arguments, dict) or arguments.get("command") == "view":
        return ""
    return next(
        (str(arguments[key]) for key in PATH_KEYS if isinstance(arguments.get(key), str)), ""
    )


def _inside(path: str, root: Path) -> str:
    full = os.path.normpath(root / path)
    relative = os.path.relpath(full, root)
    return path if relative.startswith("..") else relative
