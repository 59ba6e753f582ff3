"""The Codex preset."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, ClassVar

from pytest_ralph.fixing.agents.agent import Agent
from pytest_ralph.fixing.agents.events import read_error, rows

if TYPE_CHECKING:
    from pytest_ralph.fixing.agents.events import Event, EventReader
    from pytest_ralph.fixing.agents.launch import Launch
    from pytest_ralph.fixing.agents.transcript import Transcript

SANDBOX_OPTIONS = (
    "-s",
    "--dangerously-bypass-approvals-and-sandbox",
    "--approve-for-me",
    "--full-auto",
    "--yolo",
)


# Codex reports what its model says and does as items of different kinds. A command has an event
# when it starts and one when it ends, other items only when they end.


def _start_item(event: Event, transcript: Transcript) -> None:
    item = event["item"]
    if _kind(item) == "command_execution":
        transcript.clear_error()
        _start_command(item, transcript)


def _end_item(event: Event, transcript: Transcript) -> None:
    item = event["item"]
    read = ITEMS.get(_kind(item))
    if read is not None:
        # An error before was a lost connection, after which the model has answered again.
        transcript.clear_error()
        read(item, transcript)


def _kind(item: Event) -> str:
    # Older versions call the field `item_type`.
    return str(item.get("type") or item.get("item_type"))


def _read_message(item: Event, transcript: Transcript) -> None:
    transcript.set_text(item.get("text", ""))


def _start_command(item: Event, transcript: Transcript) -> None:
    transcript.start_tool(item.get("id"), "shell", {"command": _command(item)})


def _end_command(item: Event, transcript: Transcript) -> None:
    call_id = item.get("id")
    if not transcript.is_running(call_id):
        _start_command(item, transcript)
    if item.get("status") == "declined":
        transcript.deny_tool(call_id)
    transcript.end_tool(call_id, succeeded=item.get("exit_code") == 0)


def _read_edits(item: Event, transcript: Transcript) -> None:
    succeeded = item.get("status") != "failed"
    for change in rows(item, "changes"):
        transcript.add_tool("edit", str(change.get("path", "")), succeeded=succeeded)


def _read_mcp_call(item: Event, transcript: Transcript) -> None:
    tool = str(item.get("tool") or "mcp_tool_call")
    transcript.add_tool(tool, succeeded=item.get("status") == "completed")


ITEMS: dict[str, EventReader] = {
    "agent_message": _read_message,
    "assistant_message": _read_message,
    "command_execution": _end_command,
    "file_change": _read_edits,
    "mcp_tool_call": _read_mcp_call,
}


def _command(item: Event) -> str:
    """Return `pytest -q` for `/bin/bash -lc 'pytest -q'`, the way Codex runs every command."""
    command = str(item.get("command", ""))
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    is_wrapped = len(words) == 3 and words[1] == "-lc"
    return words[2] if is_wrapped else command


def _end_turn(event: Event, transcript: Transcript) -> None:
    transcript.clear_error()
    transcript.add_usage(event.get("usage"))


class Codex(Agent):
    """Codex edits files and runs commands in its own sandbox, which is limited to the project."""

    name = "codex"
    install = "npm install -g @openai/codex"
    session_key = "thread_id"
    readers: ClassVar = {
        "item.started": _start_item,
        "item.completed": _end_item,
        "turn.completed": _end_turn,
        "turn.failed": read_error,
        "error": read_error,
    }

    def arguments(self, launch: Launch) -> list[str]:
        words = ["exec", "--json", "--skip-git-repo-check"]
        words += self.options.default("--sandbox", "workspace-write", unless=SANDBOX_OPTIONS)
        return [*words, *self.project_arguments, *launch.resuming("resume"), "-"]
