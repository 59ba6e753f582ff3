"""The goose preset."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pytest_ralph.fixing.agents.agent import Agent
from pytest_ralph.fixing.agents.events import rows, table

if TYPE_CHECKING:
    from pytest_ralph.fixing.agents.events import Event, EventReader
    from pytest_ralph.fixing.agents.launch import Launch
    from pytest_ralph.fixing.agents.transcript import Transcript

# goose prints an error of its provider as one more message, and exits with 0.
ERROR_PREFIX = re.compile(r"Ran into this error(?: trying to compact)?: ")
OTHER_ERROR = re.compile(r"Network error: |The model returned an empty response")
PAYMENT_REQUIRED = 402


def _read_message(event: Event, transcript: Transcript) -> None:
    message = event["message"]
    for part in rows(message, "content"):
        kind = part.get("type")
        if kind == "text" and message.get("role") == "assistant":
            _read_text(part.get("text", ""), transcript)
        elif kind in PARTS:
            PARTS[kind](part, transcript)


def _read_text(text: str, transcript: Transcript) -> None:
    if ERROR_PREFIX.match(text) or OTHER_ERROR.match(text):
        _set_error(text, transcript)
    else:
        transcript.append_text(text)


def _read_notification(part: Event, transcript: Transcript) -> None:
    message = str(part.get("msg", ""))
    if part.get("notificationType") == "creditsExhausted":
        transcript.set_error(message, status=PAYMENT_REQUIRED)
    else:
        transcript.add_entry(message)


def _start_tool(part: Event, transcript: Transcript) -> None:
    call = table(table(part, "toolCall"), "value")
    # The text before a tool call is not the answer.
    transcript.text = ""
    transcript.start_tool(part.get("id"), call.get("name"), call.get("arguments"))


def _end_tool(part: Event, transcript: Transcript) -> None:
    status = table(part, "toolResult").get("status")
    transcript.end_tool(part.get("id"), succeeded=status == "success")


def _read_error(event: Event, transcript: Transcript) -> None:
    """Read an error, which is an event, or a part of a message."""
    _set_error(str(event.get("error") or event.get("message", "")), transcript)


def _set_error(text: str, transcript: Transcript) -> None:
    first_paragraph = text.partition("\n\n")[0]
    transcript.set_error(ERROR_PREFIX.sub("", first_paragraph))


def _complete(event: Event, transcript: Transcript) -> None:
    # Its input tokens include those of the cache.
    tokens = {name: event.get(name) for name in ("input_tokens", "output_tokens")}
    transcript.add_usage(tokens)


PARTS: dict[str, EventReader] = {
    "error": _read_error,
    "systemNotification": _read_notification,
    "toolRequest": _start_tool,
    "toolResponse": _end_tool,
}


class Goose(Agent):
    """goose does not print the id of its session, so we name the session.

    It runs unattended only in a mode that allows all tools.
    """

    name = "goose"
    install = "see https://block.github.io/goose/docs/getting-started/installation"
    names_session = True
    variables: ClassVar = {"GOOSE_MODE": "auto"}
    readers: ClassVar = {"message": _read_message, "error": _read_error, "complete": _complete}

    def arguments(self, launch: Launch) -> list[str]:
        words = ["run", "--instructions", "-", "--output-format", "stream-json"]
        if launch.job.session_id:
            words.append("--resume")
        words += ["--name", f"ralph-{Path(launch.session).name}"]
        return [*words, *self.project_arguments]

    def read_line(self, line: str, transcript: Transcript) -> None:
        """Ignore the line: goose prints a banner before its events."""
