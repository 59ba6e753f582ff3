"""Events: the machine-readable output of an agent, one JSON object per line."""

from __future__ import annotations

import json
import re
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pytest_ralph.fixing.agents.transcript import Transcript

    # Adds one event to the transcript.
    EventReader = Callable[["Event", Transcript], None]

Event = dict[str, Any]

# One event may hold a whole file or the output of a command. A longer line is left out.
LONGEST_EVENT = 4 * 1024 * 1024

# Where services and agents put the text of an error, most specific first.
MESSAGE_KEYS = ("message", "error", "data", "detail", "name", "type")
# The value of a field in a line of a log: `error="Rate limit reached"`.
LOGGED_ERROR = re.compile(r'error="([^"]+)"')

# What programs print when they start: decoration, a name with a version, settings.
BANNER = re.compile(
    r"""[\W\d_]*
    | (?=.*\b v?\d+\.\d+) (?:\S+\s+){0,7} \S+
    | (?:model|provider|version|session(?:\ id)?|cwd|work(?:ing\ )?dir(?:ectory)?|logging\ to)
      \b\s*[:=].*
    | (?:starting|loading|connecting|initiali[sz]ing|welcome)\b.*
    """,
    re.IGNORECASE | re.VERBOSE,
)


def read_events(output: Path) -> Iterator[Event | str]:
    """Yield the lines of a file: as an event if it is a JSON object, otherwise as text."""
    try:
        with output.open("rb") as file:
            while line := file.readline(LONGEST_EVENT):
                if len(line) == LONGEST_EVENT and not line.endswith(b"\n"):
                    _skip_line(file)
                else:
                    yield parse_line(line.decode("utf-8", "replace").rstrip("\r\n"))
    except OSError:
        return


def _skip_line(file: IO[bytes]) -> None:
    """Read to the end of the line that `file` is in."""
    while part := file.readline(LONGEST_EVENT):
        if part.endswith(b"\n"):
            break


def parse_line(line: str) -> Event | str:
    """Return the JSON object that `line` holds, or `line` itself if it holds none."""
    if not line.lstrip().startswith("{"):
        return line
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return line
    return event if isinstance(event, dict) else line


def table(event: Event, key: str) -> Event:
    """Return the table in a field of an event, an empty one if there is none."""
    return event.get(key) or {}


def rows(event: Event, key: str) -> list[Any]:
    """Return the list in a field of an event, an empty one if there is none."""
    return event.get(key) or []


def read_error(event: Event, transcript: Transcript) -> None:
    """Read an event that is an error."""
    transcript.set_error(event.get("error") or event.get("message"))


def is_banner(line: str) -> bool:
    """Return whether a program says in this line only what it is."""
    return BANNER.fullmatch(line.strip()) is not None


def plain_message(error: object, depth: int = 4) -> str:
    """Return the sentence inside an error, which services and agents wrap in layers of JSON."""
    text = str(error).strip()
    if depth == 0:
        return text
    if isinstance(error, dict):
        for key in MESSAGE_KEYS:
            if error.get(key):
                return plain_message(error[key], depth - 1)
        return ""

    start = text.find('{"')
    if start < 0:
        return text
    wrapped = parse_line(text[start : text.rfind("}") + 1])
    if isinstance(wrapped, str):
        return text
    return plain_message(wrapped, depth - 1) or text


def message_in_log(line: str) -> str:
    """Return the message of a line of a log, without its time and other fields if it has some."""
    error = LOGGED_ERROR.search(line)
    return error[1] if error else line.strip()
