"""Commands in a Verify field that is written without any backticks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.text.markdown import dedent
from pytest_ralph.text.regex import regex
from pytest_ralph.verify.commands import Likeness, is_only_words, likeness, without_prompt
from pytest_ralph.verify.expect import read_expectations
from pytest_ralph.verify.model import Check
from pytest_ralph.verify.placeholders import has_placeholder
from pytest_ralph.verify.vocabulary import words

if TYPE_CHECKING:
    from collections.abc import Sequence

# A backslash continues a line.
_LINE_END = regex(r"(?<!\\)\n")
_BULLET = regex(r"^\s*(?:[-*+]|\d+[.)])\s+")
_LABEL = regex(
    r"^(?:run|command|cmd|execute|ejecutar|exécuter|lancer|ausführen|运行|执行|実行)\s*[:：]\s*"
    r"|^run\s+(?=\S)",
    re.IGNORECASE,
)
# Where the command ends and words about it begin.
_VERDICT = regex(
    r"\s(?:\(|[→—–-]\s"
    r"|--(?=\s(?:all|no|should|must|passe?s?|succeeds?|exits?|0|green|clean|works)\b)\s"
    r"|->|=>|>=\s|(?:should|must|will)\s"
    r"|(?:pass|passes|succeeds?|exits?|returns?|outputs?|prints?|shows?|is|are|fails?|completes?"
    r"|works|and (?:verify|check|confirm|ensure))\b)",
    re.IGNORECASE,
)
# The end of a clause, or the start of a comment; the dots of `./...` belong to the command.
_LAST_MARK = regex(r"(?<![./])[.,;]+$|\s+#$")
# `make ios if a simulator is available`
_CONDITION = regex(
    r"\s(?:if|unless|provided|assuming|as long as|so long as|given that)\s", re.IGNORECASE
)
# `lint && test pass`: what is to be done, without the commands that do it.
_JOINT = regex(r"\s*(?:&&|\|\||;)\s*")
_PROSE = words("prose", "prose line")


def read_bare_lines(text: str) -> Sequence[tuple[Check | None, Sequence[str]]]:
    """Return the commands of a field without backticks, each with the words that were not read.

    None stands for a command that a person has to complete, or to run under a condition. The field
    is prose, and has none, unless every line of it is a command.
    """
    found: list[tuple[Check | None, Sequence[str]]] = []
    for line in _LINE_END.split(dedent(text)):
        if not line.strip():
            continue
        read = _read_line(line)
        if read is None:
            return []
        found.append(read)
    return found


def _read_line(line: str) -> tuple[Check | None, Sequence[str]] | None:
    bare = _BULLET.sub("", line).strip().strip("*_")
    bare = without_prompt(_LABEL.sub("", bare).strip())
    command, said = _split(bare)
    if is_only_words(command) or _names_steps(command):
        return None
    if not _PROSE.isdisjoint(_without_quoted(command).lower().split()):
        return None
    like = likeness(command)
    if like is not Likeness.NONE and has_placeholder(command):
        return None, [bare]
    if like is Likeness.SURE and _CONDITION.search(_without_quoted(bare)):
        return None, [bare]
    if like is Likeness.SURE:
        demands = read_expectations(command, said)
        check = Check(command, tuple(demands.expect), files=tuple(demands.files))
        return check, demands.unread
    if like is Likeness.MAYBE and not said and " " not in command:
        return Check(command), ()
    return None


def _names_steps(command: str) -> bool:
    """Whether words that are no known programs are joined: `lint && typecheck`."""
    steps = _JOINT.split(command)
    return len(steps) > 1 and any(likeness(step) is Likeness.WORD for step in steps)


def _split(line: str) -> tuple[str, str]:
    """Return the command of a line and the words behind it."""
    verdict = _VERDICT.search(_without_quoted(line))
    if verdict is None:
        return line.strip(), ""
    command = line[: verdict.start()].strip()
    return _LAST_MARK.sub("", command), line[verdict.start() :]


def _without_quoted(line: str) -> str:
    """Return the line with quoted parts blanked out, every position kept."""
    return re.sub(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", lambda match: "Q" * len(match[0]), line)
