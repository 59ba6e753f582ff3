"""The BareLine, a command in a Verify field that nobody put between backticks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.text.markdown import dedent
from pytest_ralph.text.regex import regex
from pytest_ralph.verify.commands import Likeness, is_only_words, likeness, without_prompt
from pytest_ralph.verify.expect import read_expectations
from pytest_ralph.verify.model import Check
from pytest_ralph.verify.translate import in_english
from pytest_ralph.verify.vocabulary import words

if TYPE_CHECKING:
    from collections.abc import Sequence

_BULLET = regex(r"^\s*(?:[-*+]|\d+[.)])\s+")
_LABEL = regex(
    r"^(?:run|command|cmd|execute|ejecutar|exécuter|lancer|ausführen|运行|执行|実行)\s*[:：]\s*|^run\s+(?=\S)",
    re.IGNORECASE,
)
_VERDICT = regex(
    r"\s(?:\(|(?:[→—–-]|--(?=\s(?:all|no|should|must|passe?s?|succeeds?|exits?|0|green|clean|works)\b))\s|->|=>|>=\s|(?:should|must|will)\s|(?:pass|passes|succeeds?|exits?|returns?|outputs?|prints?|shows?|is|are|fails?|completes?"
    r"|works|and (?:verify|check|confirm|ensure))\b)",
    re.IGNORECASE,
)
# The end of a clause; the dots of `./...` belong to the command.
_LAST_MARK = regex(r"(?<![./])[.,;]+$")
# `curl test`, `curl GET /x`: nothing that could be called.
_NO_ADDRESS = regex(r"(?:curl|wget)(?![^\n]*(?:https?:|localhost|\$|[ \t]-|\w\.\w|:\d))")
_PROSE = words("programs", "prose")


def read_bare_lines(text: str) -> Sequence[Check]:
    """The commands of a field without any backticks, if every line of it is one; otherwise none: it is prose."""
    lines = [line for line in dedent(text).split("\n") if line.strip()]
    joined = _continued(lines)
    checks = [check for line in joined if (check := _read(line)) is not None]
    return checks if len(checks) == len(joined) else []


def _continued(lines: Sequence[str]) -> list[str]:
    joined: list[str] = []
    for line in lines:
        if joined and joined[-1].endswith("\\"):
            joined[-1] += f"\n{line}"
        else:
            joined.append(line.rstrip())
    return joined


def _read(line: str) -> Check | None:
    line = without_prompt(_LABEL.sub("", _BULLET.sub("", line).strip().strip("*_")).strip())
    verdict = _VERDICT.search(_unquoted(line))
    command, words = (line[: verdict.start()], line[verdict.start() :]) if verdict else (line, "")
    command = _LAST_MARK.sub("", command.strip()) if verdict else command.strip()
    like = likeness(command)
    if (
        is_only_words(command)
        or _NO_ADDRESS.match(command)
        or _PROSE & set(_unquoted(command).lower().split())
    ):
        return None
    if like is Likeness.SURE:
        return Check(command, read_expectations(command, in_english(words)))
    if like is Likeness.MAYBE and not words and " " not in command:
        return Check(command)
    return None


def _unquoted(line: str) -> str:
    """The line with quoted parts blanked out, every position kept."""
    return re.sub(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", lambda match: "Q" * len(match[0]), line)
