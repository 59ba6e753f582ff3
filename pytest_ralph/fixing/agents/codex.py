"""The Codex preset."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, ClassVar

from pytest_ralph.fixing.agents.agent import Agent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.fixing.agents.events import Event
    from pytest_ralph.fixing.agents.launch import Launch
    from pytest_ralph.fixing.agents.transcript import Transcript

SANDBOX_OPTIONS = (
    "-s",
    "--dangerously-bypass-approvals-and-sandbox",
    "--approve-for-me",
    "--full-auto",
    "--yolo",
)


def _start_item(event: Event, transcript: Transcript) -> None:
    item = event["item"]
    if _kind(item) == "command_execution":
        transcript.start_tool(item.get("id"), "shell", {"command": _command(item)})


def _read_item(event: Event, transcript: Transcript) -> None:
    item = event["item"]
    kind = _kind(item)
    if kind in ("agent_message", "assistant_message"):
        transcript.set_text(item.get("text", ""))
    elif kind == "command_execution":
        if not transcript.is_running(item.get("id")):
            _start_item(event, transcript)
        if item.get("status") == "declined":
            transcript.deny_tool(item.get("id"))
        transcript.end_tool(item.get("id"), succeeded=item.get("exit_code") == 0)
    elif kind == "file_change":
        succeeded = item.get("status") != "failed"
        for change in item.get("changes") or ():
            transcript.add_tool("edit", change.get("path", ""), succeeded=succeeded)
    elif kind == "mcp_tool_call":
        tool = str(item.get("tool") or kind)
        transcript.add_tool(tool, succeeded=item.get("status") == "completed")


def _kind(item: Event) -> object:
    return item.get("type") or item.get("item_type")


def _command(item: Event) -> str:
    """Return `pytest -q` for `/bin/bash -lc 'pytest -q'`, the way Codex runs every command."""
    command = str(item.get("command", ""))
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    return words[2] if len(words) == 3 and words[1] == "-lc" else command


def _end_turn(event: Event, transcript: Transcript) -> None:
    # The error was a lost connection, and a later attempt to connect succeeded.
    transcript.clear_error()
    transcript.add_usage(event.get("usage"))


def _read_error(event: Event, transcript: Transcript) -> None:
    transcript.set_error(event.get("error") or event.get("message"))


class Codex(Agent):
    """Codex edits files and runs commands in its own sandbox, which is limited to the project."""

    name = "codex"
    install = "npm install -g @openai/codex"
    session_key = "thread_id"
    readers: ClassVar = {
        "item.started": _start_item,
        "item.completed": _read_item,
        "turn.completed": _end_turn,
        "turn.failed": _read_error,
        "error": _read_error,
    }

    def arguments(self, launch: Launch) -> Sequence[str]:
        words = ["exec", "--json", "--skip-git-repo-check"]
        words += self.options.default("--sandbox", "workspace-write", unless=SANDBOX_OPTIONS)
        words += self.project_arguments
        if launch.resume:
            words += ["resume", launch.resume]
        return [*words, "-"]
