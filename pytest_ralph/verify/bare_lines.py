"""Commands in a Verify field that is written without any backticks."""

from __future__ import annotations

import re
from typing import NamedTuple

from pytest_ralph.shell.command import Command
from pytest_ralph.text.markdown import dedent
from pytest_ralph.text.regex import regex
from pytest_ralph.verify.commands import (
    QUOTED,
    Likeness,
    is_only_words,
    likeness,
    shows_command,
    without_prompt,
)
from pytest_ralph.verify.expect import read_expectations
from pytest_ralph.verify.model import Check
from pytest_ralph.verify.passages import Passage, Piece
from pytest_ralph.verify.spans import find_commands
from pytest_ralph.verify.translate import in_english
from pytest_ralph.verify.vocabulary import any_of, one_of, words

# A backslash continues a line.
_LINE_END = regex(r"(?<!\\)\n")
_BULLET = regex(r"^\s*(?:[-*+]|\d+[.)])\s+")
_LABEL = regex(
    r"^(?:run|command|cmd|execute|ejecutar|exécuter|lancer|ausführen|运行|执行|実行)"
    r"(?:\s*\((?!if\b|when\b|unless\b|only\b|optional|manual)[^()]*\))?\s*[:：]\s*"
    r"|^run\s+(?=\S)",
    re.IGNORECASE,
)
# A comma ends a command, but not in `cut -d, -f2`.
_COMMA = r"(?<!\s-[dFst])(?<![=\s]),\s"
_NEXT_COMMAND = regex(rf"{_COMMA}(?:and\s)?|\s(?:and|\+|/)\s")
_NEXT_STATEMENT = regex(r";\s+(?:and\s+|then\s+)?|(?<=\w)\.\s+")
# What only prepares the shell for the command behind it, or is a part of a loop.
_PREPARES = regex(
    r"\s*(?:cd\s+\S+\s*$|[A-Za-z_]\w*=\S*$|(?:export|set|source|for|while|until|if|case|do|then|else)\b)",
    re.IGNORECASE,
)
# Where the command ends and words about it begin.
_REMARK = regex(
    rf"{_COMMA}|(?<=\w):\s|(?<=\w)\s(?=={{1,3}}\s\d+\W*$)|\s{one_of('remark')}",
    re.IGNORECASE,
)
# The end of a clause, or the start of a comment; the dots of `./...` belong to the command.
_LAST_MARK = regex(r"(?<![./\s])[.,;]+$|\s+#$")
# The dot of a sentence; that of `./...` or of `ruff check .` is an argument.
_FULL_STOP = regex(r"(?<=\w)[.。]$")
# `lint && test pass`: what is to be done, without the commands that do it.
_SEPARATOR = regex(r"\s*(?:&&|\|\||;)\s*")
# `cargo tauri dev launches app. Press Ctrl+R.`: instructions for a person.
_NEXT_SENTENCE = regex(r"\w[.;] (?!Rscript )[A-Z][a-z-]+ [A-Za-z]")
# A word that is printed is as good as one in quotes.
_QUOTED = regex(rf"{QUOTED}|(?<=\becho )\w+")
_SERVER = any_of("server", "", "$")
_PROSE_WORDS = words("prose", "prose line")


class BareLine(NamedTuple):
    """What one line asks for: its check, and the words that were not read.

    Without a check, a person has to complete the command, or to run it under a condition.
    """

    check: Check | None = None
    unread: tuple[str, ...] = ()


def read_bare_lines(text: str) -> list[BareLine]:
    """Return the commands of a field without backticks.

    The field is prose, and has none, unless every line of it is a command.
    """
    lines = []
    for written in _LINE_END.split(dedent(text)):
        for part in _split_line(written):
            line = _read_line(part)
            if line is None:
                return []
            lines.append(line)
    return lines


def _split_line(line: str) -> list[str]:
    """Return the parts of a line that each are a command and the words about it.

    A line without words about a command is one for the shell, and so is what begins with `cd`.
    """
    if not line.strip():
        return []
    parts = _split_at(_NEXT_COMMAND, _LABEL.sub("", _BULLET.sub("", line).strip()))
    if len(parts) > 1 and all(likeness(part) is Likeness.SURE for part in parts):
        return parts
    # `npm test passes; grep x f returns nothing`
    parts = _split_at(_NEXT_STATEMENT, line)
    has_remark = any(_split(part)[1] for part in parts)
    if len(parts) == 1 or not has_remark:
        return [line]
    found = parts[:1]
    for part in parts[1:]:
        if _is_check(part) and not _PREPARES.match(found[-1]):
            found.append(part)
        else:
            found[-1] += f"; {part}"
    return found


def _is_check(part: str) -> bool:
    command, _ = _split(part)
    return likeness(command) is Likeness.SURE and not _SERVER.match(command)


def _split_at(joint: re.Pattern[str], line: str) -> list[str]:
    """Return the parts of a line between the joints that are not in quotes."""
    parts: list[str] = []
    start = 0
    for found in joint.finditer(_without_quoted(line)):
        parts.append(line[start : found.start()])
        start = found.end()
    return [*parts, line[start:]]


def _read_line(written: str) -> BareLine | None:
    """Read one line; None if it is prose."""
    bare = _BULLET.sub("", written).strip().strip("*_")
    bare = without_prompt(_LABEL.sub("", bare).strip())
    command, remark = _split_translated(bare)
    if _FULL_STOP.search(command):
        command = _FULL_STOP.sub("", command)
        if not _is_typed_or_known(command):
            # `docker-compose e2e tests.` is a sentence.
            return None
    found = likeness(command)
    if found is Likeness.NONE or _is_prose(command):
        return None
    if found is Likeness.SURE:
        if not _is_required(command, remark):
            return BareLine(unread=(bare,))
        demands = read_expectations(command, remark)
        return BareLine(demands.applied_to(Check(command)), tuple(demands.unread))

    is_lone_name = not remark and " " not in command
    if found is Likeness.MAYBE and is_lone_name:
        return BareLine(Check(command))
    return None


def _is_required(command: str, remark: str) -> bool:
    """Whether a command would be run in backticks too: not `make e2e (optional)`, `make <x>`."""
    passage = Passage((Piece("code", command), Piece("prose", remark)))
    return any(not mention.is_optional for mention in find_commands(passage, ()))


def _is_known_call(command: str) -> bool:
    """Whether a line is a call of the table of programs and nothing else: `npm test`."""
    name = Command.parse(command).last.name
    known = name.count(" ")
    if name.endswith(" run"):
        return command.count(" ") == known + 1
    return known > 0 and command.count(" ") == known


def _is_typed_or_known(command: str) -> bool:
    return shows_command(command) or _is_known_call(command)


def _is_prose(command: str) -> bool:
    if is_only_words(command) or _joins_unknown_words(command):
        return True
    unquoted = _without_quoted(command)
    if _NEXT_SENTENCE.search(unquoted):
        return True
    return not _PROSE_WORDS.isdisjoint(unquoted.lower().split())


def _joins_unknown_words(command: str) -> bool:
    """Whether words that are no known programs are joined: `lint && typecheck`."""
    steps = _SEPARATOR.split(command)
    if len(steps) == 1:
        return False
    return any(likeness(step) is Likeness.WORD for step in steps)


def _split(line: str) -> tuple[str, str]:
    """Return the command of a line and the remark behind it."""
    remark = _REMARK.search(_without_quoted(line))
    if remark is None:
        return line.strip(), ""
    command = line[: remark.start()].strip()
    return _LAST_MARK.sub("", command), line[remark.start() :]


def _split_translated(line: str) -> tuple[str, str]:
    """Return what `_split` does, where the words behind the command are of any language."""
    if not line.isascii():
        command, remark = _split(in_english(line))
        if remark and line.startswith(command):
            return command, line[len(command) :]
    return _split(line)


def _without_quoted(line: str) -> str:
    """Return the line with quoted parts blanked out, every position kept."""
    return _QUOTED.sub(lambda quoted: "Q" * len(quoted[0]), line)
