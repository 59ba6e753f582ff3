"""The Gemini CLI preset."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar

from pytest_ralph.fixing.agents.agent import Agent
from pytest_ralph.fixing.agents.events import table
from pytest_ralph.fixing.agents.launch import allowed_commands

if TYPE_CHECKING:
    from pytest_ralph.fixing.agents.base import Job
    from pytest_ralph.fixing.agents.events import Event
    from pytest_ralph.fixing.agents.launch import Launch
    from pytest_ralph.fixing.agents.transcript import Transcript

PERMISSION_OPTIONS = ("-y", "--yolo", "--approval-mode", "--policy", "--allowed-tools")
# Gemini loads only files with the suffix .toml.
POLICY_SUFFIX = ".policy.toml"
RULE = """\
[[rule]]
toolName = "run_shell_command"
commandPrefix = {command}
decision = "allow"
priority = 500
"""


def _read_message(event: Event, transcript: Transcript) -> None:
    if event.get("role") != "assistant":
        return
    text = event.get("content", "")
    if event.get("delta"):
        transcript.append_text(text)
    else:
        transcript.set_text(text)


def _start_tool(event: Event, transcript: Transcript) -> None:
    # The text before a tool call is not the answer.
    transcript.text = ""
    transcript.start_tool(event.get("tool_id"), event.get("tool_name"), event.get("parameters"))


def _end_tool(event: Event, transcript: Transcript) -> None:
    call_id = event.get("tool_id")
    if table(event, "error").get("type") == "policy_violation":
        transcript.deny_tool(call_id)
    transcript.end_tool(call_id, succeeded=event.get("status") == "success")


def _read_error(event: Event, transcript: Transcript) -> None:
    if event.get("severity") != "warning":
        transcript.set_error(event.get("message"))


def _read_result(event: Event, transcript: Transcript) -> None:
    transcript.add_usage(event.get("stats"))
    if event.get("status") == "success":
        transcript.clear_error()
    elif event.get("error") or not transcript.error:
        # An error without words of its own was explained by the event before it.
        transcript.set_error(event.get("error") or event.get("status"))


class Gemini(Agent):
    """Gemini may edit files and run the commands of the Verify field.

    The argument `--yolo` lets it run all commands.
    """

    name = "gemini"
    install = "npm install -g @google/gemini-cli"
    # Without a terminal Gemini cannot ask whether to trust the directory. Whoever runs the
    # commands of a spec here trusts it.
    variables: ClassVar = {"GEMINI_CLI_TRUST_WORKSPACE": "true"}
    readers: ClassVar = {
        "message": _read_message,
        "tool_use": _start_tool,
        "tool_result": _end_tool,
        "error": _read_error,
        "result": _read_result,
    }

    def arguments(self, launch: Launch) -> list[str]:
        words = ["--output-format", "stream-json"]
        words += self.options.default("--approval-mode", "auto_edit", unless=["-y", "--yolo"])
        words += launch.resuming("--resume")
        if launch.job.verify and not self.options.sets(*PERMISSION_OPTIONS):
            policy = launch.write_file(POLICY_SUFFIX, _policy(launch.job))
            words += ["--policy", str(policy)]
        return [*words, *self.project_arguments]

    def read_line(self, line: str, transcript: Transcript) -> None:
        """Ignore the line: Gemini prints warnings between its events."""


def _policy(job: Job) -> str:
    """Return a policy file that allows the commands of the Verify field."""
    # A JSON string is a valid string in TOML.
    rules = [RULE.format(command=json.dumps(command)) for command in allowed_commands(job)]
    return "".join(rules)
