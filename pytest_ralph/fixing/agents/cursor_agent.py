"""The Cursor preset."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pytest_ralph.fixing.agents.agent import Agent
from pytest_ralph.fixing.agents.events import table
from pytest_ralph.fixing.agents.stream_json import STREAM_JSON

if TYPE_CHECKING:
    from pytest_ralph.fixing.agents.events import Event
    from pytest_ralph.fixing.agents.launch import Launch
    from pytest_ralph.fixing.agents.transcript import Transcript


def _read_tool_call(event: Event, transcript: Transcript) -> None:
    """Read `{"tool_call": {"editToolCall": {"args": {…}, "result": {"success": {…}}}}}`."""
    # Other fields may stand beside the call.
    calls = {key: call for key, call in event["tool_call"].items() if isinstance(call, dict)}
    name, call = next(iter(calls.items()), ("tool", {}))
    tool = name.removesuffix("ToolCall")
    call_id = event.get("call_id")
    subtype = event.get("subtype")
    if subtype == "started":
        transcript.start_tool(call_id, tool, call.get("args"))
    elif subtype == "completed":
        transcript.end_tool(call_id, succeeded="success" in table(call, "result"))


class CursorAgent(Agent):
    """Without `--force` Cursor only proposes edits; without `--trust` it asks for trust."""

    name = "cursor-agent"
    install = "see https://cursor.com/cli"
    readers: ClassVar = {**STREAM_JSON, "tool_call": _read_tool_call}

    def arguments(self, launch: Launch) -> list[str]:
        words = ["--print", "--output-format", "stream-json"]
        words += self.options.default("--force", unless=["-f", "--yolo"])
        words += self.options.default("--trust")
        words += launch.resuming("--resume")
        # Cursor takes its prompt as an argument. Prompts are bounded far below the length that an
        # argument may have.
        return [*words, *self.project_arguments, launch.job.prompt]
