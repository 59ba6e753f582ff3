"""Transcript: what an agent said and did during one run, read from its output."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_ralph.failure.agent_limits import kind_of_agent_error
from pytest_ralph.fixing.agents.events import plain_message

if TYPE_CHECKING:
    from pathlib import Path

TEXT_LIMIT = 64 * 1024

# The arguments of a tool call that name the file it works on.
PATH_ARGUMENTS = ("file_path", "filePath", "path", "notebook_path", "absolute_path", "target_file")

# Names of tools that change files.
EDITING_TOOL = re.compile(r"edit|write|replace|patch|create_file|undo", re.IGNORECASE)


@dataclass(frozen=True)
class ToolCall:
    """A tool that the agent has called, and the file it works on, if any."""

    tool: str
    path: str = ""


@dataclass
class Transcript:
    """Filled event by event while the output of an agent is read.

    `text` is the last message, `error` the agent's own words for why it stopped and `error_kind`
    the kind of failure they mean. `tools` counts the calls per tool. `has_events` tells whether the
    program keeps to its event format: then errors of its service are events, and its messages need
    not be searched for them.
    """

    text: str = ""
    session_id: str = ""
    error: str = ""
    error_kind: str = ""
    tools: dict[str, int] = field(default_factory=dict)
    last_tool: str | None = None
    edited_paths: dict[str, None] = field(default_factory=dict)
    has_events: bool = False
    _running: dict[str, ToolCall] = field(default_factory=dict)

    def set_text(self, text: str) -> None:
        """Start a new message, unless `text` is empty."""
        if text:
            self.text = text[-TEXT_LIMIT:]

    def append_text(self, text: str) -> None:
        """Continue the current message."""
        self.text = (self.text + text)[-TEXT_LIMIT:]

    def start_tool(self, call_id: object, tool: object, arguments: object = None) -> None:
        """Record that the agent has called a tool."""
        self._running[str(call_id)] = ToolCall(str(tool or "tool"), _path_argument(arguments))

    def end_tool(self, call_id: object, *, succeeded: bool) -> None:
        """Record that a tool has answered."""
        call = self._running.pop(str(call_id), None)
        if call is not None:
            self.add_tool(call.tool, call.path, succeeded=succeeded)

    def add_tool(self, tool: str, path: str = "", *, succeeded: bool) -> None:
        """Record a tool call that has ended, for agents that report each call only once."""
        self.tools[tool] = self.tools.get(tool, 0) + 1
        if not succeeded:
            return
        self.last_tool = tool
        if path and EDITING_TOOL.search(tool):
            self.edited_paths[path] = None

    def set_error(self, error: object, *, status: object = None, kind: str = "") -> None:
        """Record an error that the agent reports; `status` is the HTTP status, if it names one."""
        self.error = plain_message(error)
        self.error_kind = kind or kind_of_agent_error(self.error, status)

    def clear_error(self) -> None:
        """Forget the error: the agent went on after it."""
        self.error = ""
        self.error_kind = ""

    @property
    def running_tool(self) -> str:
        """The tool that was called last and has not answered yet."""
        if not self._running:
            return ""
        last_call = list(self._running)[-1]
        return self._running[last_call].tool

    def edited_files(self, root: Path) -> tuple[str, ...]:
        """Return the files that the agent's tools changed, relative to `root` if inside it."""
        return tuple(_relative_to(root, path) for path in self.edited_paths)


def _path_argument(arguments: object) -> str:
    if not isinstance(arguments, dict):
        return ""
    # goose's text editor both shows and changes files; its argument `command` tells which.
    if arguments.get("command") == "view":
        return ""
    for key in PATH_ARGUMENTS:
        if isinstance(arguments.get(key), str):
            return str(arguments[key])
    return ""


def _relative_to(root: Path, path: str) -> str:
    relative = os.path.relpath(os.path.normpath(root / path), root)
    return path if relative.startswith("..") else relative
