"""The script in a fenced block: what of it a shell can run, and what its comments expect."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.commands import Likeness, likeness
from pytest_ralph.verify.expect import read_expectations
from pytest_ralph.verify.model import Check
from pytest_ralph.verify.placeholders import has_placeholder
from pytest_ralph.verify.translate import in_english
from pytest_ralph.verify.vocabulary import any_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.verify.model import Expect
    from pytest_ralph.verify.passages import Script

_SHELLS = frozenset("sh bash shell zsh ksh dash console terminal shellsession cmd".split())
_POWERSHELLS = frozenset(("powershell", "pwsh", "ps1"))
# What another shell would not understand: variables, cmdlets, paths with backslashes.
_ONLY_POWERSHELL = regex(r"[$`\\@{}]|\b[A-Z][a-z]+-[A-Z]")
_PROMPT = regex(r"^\s*(?:[\w.@~:/-]*)?[$❯➜]\s+")
_PRINTED = any_of("printed", "", r"\W*$")
_CONDITION_ABOVE = any_of("condition before", r"\W*(?:(?:and|then),?\s+)?", r"\b")
# `When all is done, run:`, but not `When it is installed:`
_WHEN_DONE = regex(
    r"\W*when(?:ever)?\b(?!.*\b(?:applicable|available|connected|fails?|installed|needed|possible"
    r"|present|running|supported)\b)",
    re.IGNORECASE,
)
_WITHHELD = any_of("withheld", r"\W*", r"\b")
_COMMENT = any_of("comment", r"(?:^|\s)#\s*(?P<words>(?:", r").*)$")
_FOREIGN_COMMENT = regex(r"(?:^|\s)#\s*(?P<words>\S.*)$")
_EXPECTING = any_of("comment", r"\s*")
_CONTINUED = regex(r"\\\n\s*")
_SOMEWHERE = {
    "==": "contains",
    "contains": "contains",
    "not_contains": "not_contains",
    "matches": "matches",
}
# Lines that print nothing, so that a number can only be that of another line.
_SILENT = regex(
    r"(?:cd|export|set|mkdir|rm|cp|mv|touch|source|\.|#)\b"
    r"|[A-Za-z_]\w*=(?:\S*|\$\(.*\))(?:\s+#.*)?$"
)


class ScriptPart(NamedTuple):
    """A script, or a line of one, and the words in it that were not understood.

    Without a check, a person has to complete it, or to run it under a condition.
    """

    check: Check | None
    unread: Sequence[str] = ()


def read_script(script: Script, previous: str) -> list[ScriptPart]:
    """Return the script of a fenced block, or its lines if each says what it prints.

    There is none in a block of comments, of output or of another language. `previous` is the prose
    just before the block.
    """
    command = _runnable(script, previous)
    if not command:
        return []
    if has_placeholder(command):
        return [ScriptPart(None, [_shown(command)])]
    if withholds(previous):
        return [ScriptPart(None, [f"{previous} {_shown(command)}"])]
    lines = _CONTINUED.sub(" ", command)
    expecting = _expecting_lines(lines)
    demands = [read_expectations(*one) for one in expecting]
    are_commands = _are_all_lines(expecting, lines) and all(one.expect for one in demands)
    steps: list[ScriptPart] = []
    expect: list[Expect] = []
    unread: list[str] = []
    for (line, words), one in zip(expecting, demands, strict=True):
        steps.append(ScriptPart(one.applied_to(Check(line)), one.unread))
        asked = one.expect
        if _prints_more_than(line, lines):
            asked = _somewhere(asked)
        if not asked:
            unread.append(words)
        expect += asked
    return steps if are_commands else [ScriptPart(Check(command, tuple(expect)), unread)]


def _are_all_lines(expecting: Sequence[tuple[str, str]], script: str) -> bool:
    """Whether these are all lines of a script, and none only prepares the next one."""
    written = list(filter(_is_code, script.split("\n")))
    if len(expecting) < 2 or len(expecting) != len(written):
        return False
    return not any(_SILENT.match(line) for line, _ in expecting)


def withholds(heading: str) -> bool:
    """Whether what stands below is not to be run, or only under a condition: `If it fails:`."""
    if not heading.endswith(":") or _WHEN_DONE.match(heading):
        return False
    return bool(_CONDITION_ABOVE.match(heading) or _WITHHELD.match(heading))


def _shown(command: str) -> str:
    return f"`{' '.join(command.split())}`"


def _runnable(script: Script, previous: str) -> str:
    """Return what a shell can run of a block; nothing of output or of another language."""
    lines = [line for line in script.text.split("\n") if _is_code(line)]
    if not lines:
        return ""
    is_of_shell = script.language.replace("-", "") in _SHELLS
    if script.language in _POWERSHELLS:
        is_of_shell = all(map(_is_for_any_shell, lines))
    if script.language and not is_of_shell:
        return ""
    if any(map(_PROMPT.match, lines)):
        return _typed(script.text)
    if is_of_shell:
        return script.text
    if _PRINTED.search(previous):
        return ""
    if likeness(lines[0]) < Likeness.MAYBE:
        return ""
    return script.text


def _is_for_any_shell(line: str) -> bool:
    return likeness(line) is Likeness.SURE and not _ONLY_POWERSHELL.search(line)


def _is_code(line: str) -> bool:
    code = line.strip()
    return code != "" and not code.startswith("#")


def _typed(text: str) -> str:
    """Return what was typed at the prompts of a terminal session, without what was printed."""
    typed: list[str] = []
    goes_on = False
    for line in text.split("\n"):
        if goes_on or _PROMPT.match(line):
            typed.append(_PROMPT.sub("", line))
            goes_on = line.rstrip().endswith("\\")
    return "\n".join(typed)


def _expecting_lines(script: str) -> list[tuple[str, str]]:
    """Return the lines with a comment such as `# expect 3`, each with the words of the comment."""
    found: list[tuple[str, str]] = []
    previous = ""
    for line in script.split("\n"):
        comment = _COMMENT.search(line) or _foreign_comment(line)
        if comment is None:
            if _is_code(line):
                previous = line.strip()
            continue
        code = line[: comment.start()]
        if _is_code(code):
            previous = code.strip()
        if previous:
            found.append((previous, comment["words"]))
    return found


def _foreign_comment(line: str) -> re.Match[str] | None:
    """Find a comment that expects something in the words of another language."""
    comment = _FOREIGN_COMMENT.search(line)
    if comment and _EXPECTING.match(in_english(comment["words"])):
        return comment
    return None


def _somewhere(asked: Sequence[Expect]) -> list[Expect]:
    """Return what is left of expectations on one line's output in the output of all lines."""
    found: list[Expect] = []
    for one in asked:
        is_of_output = one.stream != "exit"
        if is_of_output and one.op in _SOMEWHERE:
            found.append(one._replace(op=_SOMEWHERE[one.op]))
    return found


def _prints_more_than(line: str, script: str) -> bool:
    """Whether other lines of the script may print something too."""
    for other in filter(_is_code, script.split("\n")):
        code = other.strip()
        if not code.startswith(line) and not _SILENT.match(code):
            return True
    return False
