"""The Cursor preset."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pytest_ralph.fixing.agents.agent import Agent
from pytest_ralph.fixing.agents.events import table
from pytest_ralph.fixing.agents.stream_json import STREAM_JSON
from pytest_ralph.running.runner import LONGEST_ARGUMENT

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
        # Cursor takes its prompt as an argument.
        return [*words, *self.project_arguments, _prompt_argument(launch)]


def _prompt_argument(launch: Launch) -> str:
    """Return the prompt, or one that names its file if it cannot be an argument.

    Our own prompts can be, but those of plugins may be of any length.
    """
    prompt = launch.job.prompt.encode("utf-8", "replace")
    if b"\0" in prompt or len(prompt) >= LONGEST_ARGUMENT:
        return f"Follow the instructions in the file {launch.prompt_file}"
    if prompt.startswith(b"-"):
        # It would be read as an option.
        prompt = b"\n" + prompt
    return prompt.decode()
