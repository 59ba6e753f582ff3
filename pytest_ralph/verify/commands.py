"""Whether a piece of text looks like a command line."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import NamedTuple

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.vocabulary import phrases, words

# The part of a pattern that stands for a text in the quotes of a shell.
QUOTED = r"'[^']*'|\"(?:\\.|[^\"\\])*\""
_EVERYDAY = words("prose", "everyday")
_VERBS = words("prose", "verb")
_SHELL_WORDS = frozenset("for while until if case ! [ [[ (( ( { . set function".split())
_NEVER = words("prose", "never")
# These need a pattern, a file or a URL; with options alone they are only talked about.
_NEED_OPERANDS = frozenset(
    (
        "ack ag awk bash chmod chown cmp comm cp curl cut diff egrep fgrep grep head jq mkdir mv rg"
        " rm rsync scp sed sh sort tail tar test touch tr uniq unzip wc"
    ).split()
)
_INCOMPLETE = frozenset(phrases("prose")["incomplete"])
# These read their input if no file is named, but not with one of these options.
_READ_INPUT = {
    "egrep": regex(r"-\w*[efrR]\w*|--recursive"),
    "grep": regex(r"-\w*[efrR]\w*|--recursive"),
    "jq": regex(r"-\w*[fn]\w*|--null-input"),
}
# `curl test`, `curl GET /x`: there is no address to call. `node >= 20`, `ruff + mypy`: names.
_ONLY_NAMED = regex(
    r"(?:curl|wget) (?![^\n]*(?:https?:|localhost|\$|(?<=[ \t])-|\w\.\w|:\d))"
    r"|\S+ +(?:(?:[<>=!]=|[<>]) ?v?\d+(?:\.\d+)*%?$|\+ )"
)
_METHODS = frozenset("GET POST PUT PATCH DELETE HEAD OPTIONS".split())
# Where programs and checkouts lie; any other absolute path is a route or a slash command.
_ROOTS = regex(
    r"/(?:usr|bin|sbin|opt|home|users|tmp|var|etc|root|mnt|srv|app|workspaces?)/|/\S*/s?bin/\w",
    re.IGNORECASE,
)
_PREFIX = regex(
    r"(?:\$[ \t]+|&&\s+|!\s+|\(\s*|\{\s+|(?:sudo|time|env|exec|nohup|command)\s+(?=[^\s|&;<>-])"
    r"|[A-Za-z_]\w*=(?:\"[^\"]*\"|'[^']*'|\S*)\s+)+"
)
_PLAIN_NAME = regex(r"[a-z][a-z0-9_-]*$")
# A capital only starts a path; a dot ends a sentence, a slash the name of a directory.
_NAME = regex(r"(?![-@+\d])(?![A-Z][^/]*$)(?:[\w.~@+-]|\$\{?\w+\}?|/)+(?<![./])$", re.ASCII)
# What stands behind the name of a variable, a key or a function: `a = b`, `rows > 0`, `old - new`.
_ASSIGNED = regex(
    r" ?.?=| (?:: |->|\{)| [-+*/] | [<>] ?(?:\d+\w*|[a-z]\w*)$| -(?:eq|ne|gt|ge|lt|le) "
)
# `string | number`
_CHOICE = regex(r"(?: \| [\w.\[\]<>]+)+")
_OPERATOR = regex(r"\s(?:&&|\|\||\||>>?|<|<<<?|2>&1|&>|2>)\s?|\$\(|\s&$")
_OPTION = regex(r"\s--?[A-Za-z]")
# `test result: ok`, `test is green`
_LABEL = regex(r" (?:\w+: |(?:is|are|was|were|has|have|must|should|will)\b)")
_PATHLIKE = regex(r"\s[\"']?[\w.~*-]*/[\w./*-]*|\s[\w-]+\.\w{1,5}\b")
# `Get-ChildItem`, `.\\tools\\run.exe`
_CMDLET = regex(
    r"[A-Z][a-z]+-[A-Z][A-Za-z]+$|(?:[\w.:-]*\\)+[\w.-]+\.(?:exe|bat|cmd)$|[\w./\\:-]+\.ps1$"
)
_MAY_BE_CMDLET = regex(r"[a-z]-[A-Z]|\\|\.ps1")
# A prompt, or what joins a command to the one in the span before.
_PROMPT = regex(r"^[ \t]*(?:[$❯➜]|&&)[ \t]+")


class Likeness(IntEnum):
    """How much a piece of text looks like a command line."""

    NONE = 0
    # One word that could be the name of anything.
    WORD = 1
    # A command line if the sentence around it treats it as one.
    MAYBE = 2
    SURE = 3


def likeness(text: str) -> Likeness:
    """Return how sure a reader who sees only `text` is that it is a command line."""
    text = text.strip()
    prefix, body = _split_prefix(text)
    if not body or _is_incomplete(body):
        return Likeness.NONE
    program, rest = _split_program(body)
    if rest.startswith(" = "):
        # An assignment in some other language or in a configuration file.
        return Likeness.NONE
    if program in _SHELL_WORDS:
        return Likeness.SURE if rest else Likeness.NONE

    sets_variable = "=" in prefix
    is_program = _has_form_of_program(program, rest) or _is_program(program)
    if is_program:
        found = _program_likeness(program, rest)
        # `FOO=1 tool` is no name of anything, whatever the tool is.
        return max(found, Likeness.MAYBE) if sets_variable else found
    if sets_variable and _OPERATOR.search(text):
        return Likeness.SURE
    return Likeness.NONE


def runs_alone(text: str) -> bool:
    """Whether `text`, which is all that a field holds, is a command; it may be an unknown word."""
    body = text.strip()
    first, rest = _split_program(body)
    if _is_incomplete(body):
        return False
    if first[1:].endswith(":"):
        # `Test: the form is sent` is a sentence.
        return False
    if _PLAIN_NAME.match(first) and _has_form_of_program(first, rest):
        # Whatever its name: most fields are read without loading the table of programs.
        return True
    if likeness(text) is not Likeness.NONE:
        return True
    if body.startswith(("/", "{", "<")):
        return False
    if first in _METHODS or first in _NEVER:
        return False
    if _is_expression(rest):
        return False
    return _is_typed(body)


def is_powershell(text: str) -> bool:
    """Whether only PowerShell can run `text`: it starts a cmdlet such as `Get-ChildItem`."""
    if not _MAY_BE_CMDLET.search(text):
        return False
    # Imported here: most fields are read without it.
    from pytest_ralph.shell.command import Command

    for stage in Command.parse(text).own_stages:
        program, _ = _split_program(stage.source)
        if _CMDLET.match(program):
            return True
    return False


def is_only_words(text: str) -> bool:
    """Whether a line without backticks is prose that starts with a verb: `build the app`."""
    first, rest = _split_program(text.strip())
    return first in _VERBS and not shows_command(rest)


def shows_command(rest: str) -> bool:
    """Whether an operator, an option or a path shows that words are part of a command line."""
    return _is_typed(rest) or _PATHLIKE.search(rest) is not None


def without_prompt(text: str) -> str:
    """Return `$ npm test` without the prompt."""
    return _PROMPT.sub("", text)


def _split_prefix(text: str) -> tuple[str, str]:
    """Split off what may stand before a program: `$ `, `sudo `, `FOO=1 `."""
    match = _PREFIX.match(text)
    end = match.end() if match else 0
    return text[:end], text[end:]


def _split_program(text: str) -> tuple[str, str]:
    """Split a command line into its first word and the rest, which keeps its leading space."""
    first, _, rest = text.partition(" ")
    if first.endswith(";"):
        first = first[:-1]
        rest = f"; {rest}"
    rest = rest.strip()
    return first, f" {rest}" if rest else ""


def _is_incomplete(text: str) -> bool:
    """Whether a program is named without what it needs: `curl -I`, `docker build`, `psql <`."""
    if text in _INCOMPLETE or text.endswith(("<", "|", "&&")):
        return True
    if _ONLY_NAMED.match(text):
        return True
    first, *arguments = text.split() or [""]
    if "--version" in arguments:
        return False
    if first in _NEED_OPERANDS and all(word.startswith("-") for word in arguments):
        return True
    return first in _READ_INPUT and _lacks_input(first, text)


def _lacks_input(program: str, text: str) -> bool:
    """Whether a search or a filter is named without what it reads: `jq '.sources | length'`."""
    # Imported here: most fields are read without it.
    from pytest_ralph.shell.command import Command

    first = Command.parse(text).own_stages[0]
    if first.redirections:
        return False
    if len(first.operands) != 1:
        return False
    needs_none = _READ_INPUT[program]
    return not any(map(needs_none.fullmatch, first.arguments))


def _is_typed(rest: str) -> bool:
    """Whether an operator or an option shows that somebody typed it into a shell."""
    return bool(_OPERATOR.search(rest) or _OPTION.search(rest))


def _is_program(name: str) -> bool:
    """Whether `name` is a cmdlet, or a program that is known here or to the table of programs."""
    if _CMDLET.match(name):
        return True
    # Imported here: most fields are read without it.
    from pytest_ralph.shell.programs import load_programs

    return name in load_programs().names


def _has_form_of_program(first: str, rest: str) -> bool:
    if first in _METHODS or first.lower() in _NEVER:
        return False
    if not _NAME.match(first):
        return False
    if _is_expression(rest):
        return False
    if first.startswith("/"):
        return _ROOTS.match(first) is not None
    return True


def _program_likeness(first: str, rest: str) -> Likeness:
    if first in _EVERYDAY:
        return _everyday_likeness(rest)
    start = _start_of(first)
    if not rest:
        return start.alone
    return start.typed if _is_typed(rest) else start.with_words


def _everyday_likeness(rest: str) -> Likeness:
    """Return the likeness of a line that starts with `make`, `test`, `time`, …"""
    if not rest:
        return Likeness.MAYBE
    if _LABEL.match(rest):
        return Likeness.NONE
    is_short = len(rest.split()) < 3
    if is_short or shows_command(rest):
        return Likeness.SURE
    return Likeness.MAYBE


def _is_expression(rest: str) -> bool:
    """Whether what stands behind a name that is no known program is no argument of a command."""
    if _ASSIGNED.match(rest):
        return True
    if not _CHOICE.fullmatch(rest):
        return False
    return not any(map(_may_read_input, rest.split(" | ")[1:]))


def _may_read_input(name: str) -> bool:
    return name in _NEED_OPERANDS or name in _EVERYDAY or _is_program(name)


class _Start(NamedTuple):
    """How likely a line is a command that starts with a word of some form.

    It depends on what stands behind the word: nothing, an operator or an option, or only words.
    """

    alone: Likeness
    typed: Likeness
    with_words: Likeness


_PROGRAM = _Start(Likeness.MAYBE, Likeness.SURE, Likeness.SURE)
_UNKNOWN = _Start(Likeness.WORD, Likeness.SURE, Likeness.MAYBE)
_SCRIPT_NAME = r".*\.(?:sh|bash|zsh|bats|fish|command|cmd|bat|ps1)$"
# Tried in order.
_FORMS = (
    # `./configure`, `./run.sh`
    (
        regex(rf"\./(?:[^.]*$|{_SCRIPT_NAME})"),
        _Start(Likeness.SURE, Likeness.SURE, Likeness.SURE),
    ),
    # `scripts/run.sh`, `.venv/bin/mypy`
    (
        regex(
            rf"{_SCRIPT_NAME}"
            r"|(?:.*/)?(?:\.?v?env|bin|\.bin|sbin|scripts?|target/\w+)/(?:.*/)?.[^./]*$"
        ),
        _PROGRAM,
    ),
    # `./a.txt`
    (regex(r"\./"), _Start(Likeness.NONE, Likeness.SURE, Likeness.SURE)),
    # `src/parser`, `src/parser.ts`: more often talked about than run.
    (regex(r".*/[^./]*$"), _Start(Likeness.NONE, Likeness.SURE, Likeness.MAYBE)),
    (regex(r".*/"), _Start(Likeness.NONE, Likeness.SURE, Likeness.NONE)),
)
# `config.ts`, `task.verify`
_FILE_NAME = regex(r"[^$].*\.|\.")
_FILE = _Start(Likeness.NONE, Likeness.MAYBE, Likeness.NONE)


def _start_of(first: str) -> _Start:
    """Return how likely a line is a command that starts with this word."""
    for form, start in _FORMS:
        if form.match(first):
            return start
    if _is_program(first):
        return _PROGRAM
    return _FILE if _FILE_NAME.match(first) else _UNKNOWN
