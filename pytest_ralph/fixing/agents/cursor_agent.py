"""Fixing: Cursor's agent as an executor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.fixing.agents.agent import Agent
from pytest_ralph.fixing.agents.stream_json import hear_stream_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.fixing.agents.conversation import Conversation, Event
    from pytest_ralph.fixing.agents.launch import Start


class CursorAgent(Agent):
    """Without `--force` it only proposes its edits; without `--trust` it asks about the directory."""

    name = "cursor-agent"
    install = "see https://cursor.com/cli"

    def arguments(self, start: Start) -> Sequence[str]:
        force = self.options.unless("-f", "--yolo", default=("--force",))
        trust = self.options.unless(default=("--trust",))
        resume = ("--resume", start.resume) if start.resume else ()
        # Its prompt is an argument; the bound on prompts keeps it far below what one argument may hold.
        how = ("--print", "--output-format", "stream-json", *force, *trust)
        return [*how, *resume, *self.model, *self.options.args, start.job.prompt]

    def hear(self, event: Event, talk: Conversation) -> None:
        if event.get("type") != "tool_call":
            hear_stream_json(event, talk)
            return
        # {"tool_call": {"editToolCall": {"args": {…}, "result": {"success": {…}}}}}
        name, call = next(iter(event["tool_call"].items()))
        if event.get("subtype") == "started":
            talk.begin(event.get("call_id"), name.removesuffix("ToolCall"), call.get("args"))
        elif event.get("subtype") == "completed":
            talk.end(event.get("call_id"), well="success" in (call.get("result") or {}))
