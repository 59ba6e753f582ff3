"""spec room: the Script in a fenced block: what of it a shell can run, if anything."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.spec.commandline import Likeness, likeness

if TYPE_CHECKING:
    from pytest_ralph.spec.pieces import Script

_SHELLS = frozenset(
    (
        "sh",
        "bash",
        "shell",
        "zsh",
        "ksh",
        "dash",
        "console",
        "terminal",
        "shell-session",
        "shellsession",
        "sh-session",
        "cmd",
    )
)
_PROMPT = re.compile(r"^\s*(?:[\w.@~:/-]*)?[$❯➜]\s+")
_SHOWN = re.compile(
    r"(?:output|outputs|expect(?:ed)?(?: output| result)?|result|prints?|shows?|looks? like|returns?|response|displays?|example)\W*$",
    re.IGNORECASE,
)


def runnable(script: Script, said: str) -> str:
    """The commands of a fenced block, or an empty string: comments only, output, or another language.

    `said` is the prose just before the block.
    """
    lines = [line for line in script.text.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    if not lines or (script.language and script.language not in _SHELLS):
        return ""
    if any(_PROMPT.match(line) for line in lines):
        return _typed(script.text)
    if not script.language and (_SHOWN.search(said) or likeness(lines[0]) < Likeness.MAYBE):
        return ""
    return script.text


def _typed(text: str) -> str:
    """What was typed behind the prompts of a session, without what was printed."""
    typed: list[str] = []
    goes_on = False
    for line in text.split("\n"):
        if _PROMPT.match(line):
            typed.append(_PROMPT.sub("", line))
        elif goes_on:
            typed.append(line)
        else:
            continue
        goes_on = typed[-1].rstrip().endswith("\\")
    return "\n".join(typed)
