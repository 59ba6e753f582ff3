"""The Script in a fenced block: what of it a shell can run, if anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.commands import Likeness, likeness
from pytest_ralph.verify.vocabulary import any_of

if TYPE_CHECKING:
    from pytest_ralph.verify.pieces import Script

_SHELLS = frozenset(
    ("sh", "bash", "shell", "zsh", "ksh", "dash", "console", "terminal", "shellsession", "cmd")
)
_PROMPT = regex(r"^\s*(?:[\w.@~:/-]*)?[$❯➜]\s+")
_PRINTED = any_of("printed", "", r"\W*$")


def runnable(script: Script, said: str) -> str:
    """The commands of a fenced block, or an empty string: comments only, output, or another language.

    `said` is the prose just before the block.
    """
    lines = [
        line
        for line in script.text.split("\n")
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not lines or (script.language and script.language.replace("-", "") not in _SHELLS):
        return ""
    if any(_PROMPT.match(line) for line in lines):
        return _typed(script.text)
    if not script.language and (_PRINTED.search(said) or likeness(lines[0]) < Likeness.MAYBE):
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
