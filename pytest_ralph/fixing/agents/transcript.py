"""Transcript: what an agent said and did during one run."""

from __future__ import annotations

import os
import re
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_ralph.failure.agent_limits import NOT_UNDERSTOOD, ErrorMeaning, meaning_of_error
from pytest_ralph.fixing.agents.base import NO_USAGE, Usage
from pytest_ralph.fixing.agents.events import plain_message
from pytest_ralph.fixing.agents.reset_time import reset_time
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from pathlib import Path

TEXT_LIMIT = 64 * 1024
MAX_ENTRIES = 5_000
LONGEST_DESCRIPTION = 200

# The arguments of a tool call that name the file it works on, or the command it runs.
PATH_ARGUMENTS = ("file_path", "filePath", "path", "notebook_path", "absolute_path", "target_file")
COMMAND_ARGUMENTS = ("command", "cmd")

# Tokens that the model reads. Claude counts those of its cache apart.
INPUT_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
UNEXPLAINED = "an error without a message"

# What a tool does, by its name. The first pattern that matches counts.
EDITING_TOOL = re.compile(r"edit|write|replace|patch|create_file|undo", re.IGNORECASE)
ACTIVITIES = (
    (EDITING_TOOL, "Editing"),
    (re.compile(r"bash|shell|exec|command", re.IGNORECASE), "Running"),
    (re.compile(r"read|view", re.IGNORECASE), "Reading"),
)


@dataclass(frozen=True)
class ToolCall:
    """A tool that the agent has called, the file it works on and a description for people."""

    tool: str
    path: str = ""
    description: str = ""


@dataclass
class Transcript:
    """Filled event by event while the output of an agent is read.

    `text` is the last message, `error` the agent's own words for why it stopped, and `meaning` what
    they mean. `tools` counts the calls per tool. `entries` are all messages and tool calls in their
    order. `has_events` tells whether the program keeps to its event format: then errors of its
    service are events, and its messages need not be searched for them.
    """

    text: str = ""
    session_id: str = ""
    error: str = ""
    meaning: ErrorMeaning = NOT_UNDERSTOOD
    resets_at: float | None = None
    usage: Usage = NO_USAGE
    tools: dict[str, int] = field(default_factory=dict)
    last_tool: str | None = None
    edited_paths: dict[str, None] = field(default_factory=dict)
    denied: list[str] = field(default_factory=list)
    entries: list[str] = field(default_factory=list)
    has_events: bool = False

    # Grows with every tool call and message, but not with errors and retries.
    steps: int = 0
    # The beginning of a line that the program has wrapped at the width of a terminal.
    wrapped_line: str = ""
    _running: dict[str, ToolCall] = field(default_factory=dict)
    _continues: bool = False

    def set_text(self, text: object) -> None:
        """Start a new message, unless `text` is empty or no text at all."""
        if not isinstance(text, str) or not text:
            return
        self.text = text[-TEXT_LIMIT:]
        self.add_entry(text)
        self.steps += 1

    def append_text(self, text: str) -> None:
        """Continue the current message."""
        self.text = _joined(self.text, text)
        if self._continues:
            self.entries[-1] = _joined(self.entries[-1], text)
        elif text.strip() and len(self.entries) < MAX_ENTRIES:
            # What follows goes on behind the blanks at its end.
            self.entries.append(text.lstrip())
            self._continues = True
        if text.strip():
            self.steps += 1

    def start_tool(self, call_id: object, tool: object, arguments: object = None) -> None:
        """Record that the agent has called a tool."""
        name = str(tool or "tool")
        path = _argument(arguments, PATH_ARGUMENTS)
        command = _argument(arguments, COMMAND_ARGUMENTS)
        description = describe_tool(name, path, command)
        if command == "view":
            # goose's text editor both shows and changes files; its argument `command` tells which.
            path = ""
        self._running[str(call_id)] = ToolCall(name, path, description)
        self.add_entry(f"→ {description}")
        self.steps += 1

    def end_tool(self, call_id: object, *, succeeded: bool) -> None:
        """Record that a tool has answered."""
        call = self._running.pop(str(call_id), None)
        if call is not None:
            self._count_tool(call, succeeded)

    def deny_tool(self, call_id: object) -> None:
        """Record that a tool call was not permitted."""
        call = self._running.get(str(call_id))
        if call is not None:
            self.denied.append(call.description)

    def is_running(self, call_id: object) -> bool:
        """Return whether a tool call has started and not ended."""
        return str(call_id) in self._running

    def add_tool(self, tool: str, path: str = "", *, succeeded: bool) -> None:
        """Record a tool call that has ended, for agents that report each call only once."""
        call = ToolCall(tool, path, describe_tool(tool, path, ""))
        self.add_entry(f"→ {call.description}")
        self._count_tool(call, succeeded)

    def _count_tool(self, call: ToolCall, succeeded: bool) -> None:
        self.steps += 1
        self.tools[call.tool] = self.tools.get(call.tool, 0) + 1
        if not succeeded:
            self.add_entry(f"  failed: {call.description}")
            return
        self.last_tool = call.tool
        if call.path and EDITING_TOOL.search(call.tool):
            self.edited_paths[call.path] = None

    def set_error(self, error: object, *, status: object = None, kind: str = "") -> None:
        """Record an error that the agent reports; `status` is the HTTP status, if it names one."""
        self.error = plain_message(error or UNEXPLAINED) or str(error)
        if kind:
            self.meaning = ErrorMeaning(kind)
        else:
            self.meaning = meaning_of_error(self.error, status)
        if self.resets_at is None:
            self.resets_at = reset_time(self.error, time.time())
        entry = f"error: {self.error}"
        if self.entries[-1:] != [entry]:
            self.add_entry(entry)

    def clear_error(self) -> None:
        """Forget the error: the agent went on after it."""
        self.error = ""
        self.meaning = NOT_UNDERSTOOD
        self.resets_at = None

    def add_usage(self, usage: object, cost: object = None) -> None:
        """Add the tokens and the cost of one step of the run.

        `usage` may name `output_tokens` and INPUT_TOKENS. Values that are no amounts count 0.
        """
        input_tokens, output_tokens, total = self.usage
        if isinstance(usage, dict):
            input_tokens += sum(_count(usage.get(name)) for name in INPUT_TOKENS)
            output_tokens += _count(usage.get("output_tokens"))
        amount = _amount(cost)
        if amount is not None:
            total = amount + (total or 0.0)
        self.usage = Usage(input_tokens, output_tokens, total)

    def set_total_cost(self, cost: object) -> None:
        """Record what the whole run has cost so far; what is no amount changes nothing."""
        amount = _amount(cost)
        if amount is not None:
            self.usage = self.usage._replace(cost=max(amount, self.usage.cost or 0.0))

    @property
    def running_tool(self) -> str:
        """A description of the tool that was called last and has not answered yet."""
        for call in reversed(self._running.values()):
            return call.description
        return ""

    @property
    def last_activity(self) -> str:
        """What the agent does at the moment or said last, in one line."""
        if self.running_tool:
            return self.running_tool
        if self.error:
            return one_line(self.error, LONGEST_DESCRIPTION)
        if not self.entries:
            return ""
        last_line = self.entries[-1].rstrip().splitlines()[-1]
        return one_line(last_line.removeprefix("→ "), LONGEST_DESCRIPTION)

    @property
    def worked(self) -> bool:
        """Whether the agent has said or done anything."""
        return self.steps > 0

    def edited_files(self, root: Path) -> tuple[str, ...]:
        """Return the files that the agent's tools changed, relative to `root` if inside it."""
        return tuple(_relative_to(root, path) for path in self.edited_paths)

    def add_entry(self, entry: str) -> None:
        """Record what is neither an answer nor progress, such as what a program says at first."""
        self._continues = False
        if len(self.entries) < MAX_ENTRIES and entry.strip():
            self.entries.append(entry.strip())


def describe_tool(tool: str, path: str, command: str) -> str:
    """Return `Editing src/parser.py`, `Running pytest -q`, or the name of the tool."""
    activity = _activity(tool)
    target = command if activity == "Running" else path
    if not activity or not target:
        return tool
    return one_line(f"{activity} {target}", LONGEST_DESCRIPTION)


def _activity(tool: str) -> str:
    for pattern, activity in ACTIVITIES:
        if pattern.search(tool):
            return activity
    return ""


def _joined(text: str, addition: str) -> str:
    """Return the end of a text that goes on with `addition`."""
    return (text + addition)[-TEXT_LIMIT:]


def _argument(arguments: object, names: tuple[str, ...]) -> str:
    """Return the first of the named arguments that is a text."""
    if not isinstance(arguments, dict):
        return ""
    for name in names:
        argument = arguments.get(name)
        if isinstance(argument, str):
            return argument
    return ""


def _count(tokens: object) -> int:
    if isinstance(tokens, bool) or not isinstance(tokens, int):
        return 0
    return max(tokens, 0)


def _amount(cost: object) -> float | None:
    """Return a cost as a number. JSON also has `true`, NaN, and integers without a limit."""
    if isinstance(cost, bool) or not isinstance(cost, int | float):
        return None
    return float(cost) if 0 <= cost <= sys.float_info.max else None


def _relative_to(root: Path, path: str) -> str:
    relative = os.path.relpath(root / path, root)
    return path if relative.startswith("..") else relative
