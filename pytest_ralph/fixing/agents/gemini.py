"""Fixing: Gemini CLI as an executor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.fixing.agents.agent import Agent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ralph.fixing.agents.conversation import Conversation, Event
    from pytest_ralph.fixing.agents.launch import Start


class Gemini(Agent):
    """May edit files; to let it run commands too, give it `--yolo` as an argument of its own."""

    name = "gemini"
    install = "npm install -g @google/gemini-cli"

    def arguments(self, start: Start) -> Sequence[str]:
        approval = self.options.unless("-y", "--yolo", default=("--approval-mode", "auto_edit"))
        resume = ("--resume", start.resume) if start.resume else ()
        return [
            "--output-format",
            "stream-json",
            *approval,
            *resume,
            *self.model,
            *self.options.args,
        ]

    def environment(self) -> Mapping[str, str]:
        # Whoever has a spec's commands run here trusts the directory; without a terminal it could not be asked.
        return {"GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def hear_line(self, line: str, talk: Conversation) -> None:
        """Only events count: warnings are printed among them."""

    def hear(self, event: Event, talk: Conversation) -> None:
        kind = event.get("type")
        talk.session_id = event.get("session_id") or talk.session_id
        if kind == "message" and event.get("role") == "assistant":
            talk.say(event.get("content", ""), more=bool(event.get("delta")))
        elif kind == "tool_use":
            # What was said before a tool is called is not the answer.
            talk.text = ""
            talk.begin(event.get("tool_id"), event.get("tool_name"), event.get("parameters"))
        elif kind == "tool_result":
            talk.end(event.get("tool_id"), well=event.get("status") == "success")
        elif kind == "error" and event.get("severity") != "warning":
            talk.fail(event.get("message"))
        elif kind == "result":
            _hear_result(event, talk)


def _hear_result(event: Event, talk: Conversation) -> None:
    if event.get("status") == "success":
        talk.recover()
    else:
        talk.fail(event.get("error") or event.get("status"))
