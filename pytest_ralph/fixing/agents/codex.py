"""Fixing: Codex as an executor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.fixing.agents.agent import Agent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.fixing.agents.conversation import Conversation, Event
    from pytest_ralph.fixing.agents.launch import Start

SANDBOX_WORDS = (
    "-s",
    "--dangerously-bypass-approvals-and-sandbox",
    "--approve-for-me",
    "--full-auto",
    "--yolo",
)


class Codex(Agent):
    """Edits and commands within the project, in its own sandbox."""

    name = "codex"
    install = "npm install -g @openai/codex"

    def arguments(self, start: Start) -> Sequence[str]:
        sandbox = self.options.unless(*SANDBOX_WORDS, default=("--sandbox", "workspace-write"))
        resume = ("resume", start.resume) if start.resume else ()
        return [
            "exec",
            "--json",
            "--skip-git-repo-check",
            *sandbox,
            *self.model,
            *self.options.args,
            *resume,
            "-",
        ]

    def hear(self, event: Event, talk: Conversation) -> None:
        kind = event.get("type")
        if kind == "thread.started":
            talk.session_id = event["thread_id"]
        elif kind == "item.completed":
            _hear_item(event["item"], talk)
        elif kind in ("error", "turn.failed"):
            # An `error` may be a connection that is tried again: a turn that completes takes it back.
            talk.fail(event.get("error") or event.get("message"))
        elif kind == "turn.completed":
            talk.recover()


def _hear_item(item: Event, talk: Conversation) -> None:
    kind = item.get("type") or item.get("item_type")
    if kind in ("agent_message", "assistant_message"):
        talk.say(item.get("text", ""))
    elif kind == "command_execution":
        talk.used("shell", well=item.get("exit_code") == 0)
    elif kind == "file_change":
        for change in item.get("changes") or ():
            talk.used("edit", change.get("path", ""), well=item.get("status") != "failed")
    elif kind == "mcp_tool_call":
        talk.used(str(item.get("tool") or kind), well=item.get("status") == "completed")
