"""The CommandLine, that is, whether a piece of text is something a shell can run, and what it prints."""

from __future__ import annotations

import re
from enum import IntEnum

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.vocabulary import words

# Programs whose names are everyday words: without an option, a path or an operator they are read as prose.
_WORDS = words("programs", "everyday")
_VERBS = words("programs", "verb")
_PROGRAMS = words("programs", "program") | _WORDS
_SHELL_WORDS = frozenset(
    ("for", "while", "until", "if", "case", "!", "[", "[[", "((", "(", "{", ".", "set", "function")
)
_NOT_SHELL = words("programs", "never")
# What works on a file or on what is piped into it.
_FILTERS = frozenset(
    "grep egrep fgrep rg ag ack awk cmp comm cut diff head sed sort tail tr uniq wc".split()
)
_METHODS = frozenset(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"))
# Where programs and checkouts lie; any other absolute path is a route or a slash command.
_ROOTS = regex(
    r"/(?:usr|bin|sbin|opt|home|users|tmp|var|etc|root|mnt|srv|app|workspaces?)/|/\S*/s?bin/\w",
    re.IGNORECASE,
)
_SCRIPT = regex(r"\.(?:sh|bash|zsh|bats|fish|command|cmd|bat|ps1)$")
_PREFIX = regex(
    r"(?:\$[ \t]+|!\s+|\(\s*|\{\s+|(?:sudo|time|env|exec|nohup|command)\s+(?=[^\s|&;<>])"
    r"|[A-Za-z_]\w*=(?:\"[^\"]*\"|'[^']*'|\S*)\s+)+"
)
_NAME = regex(r"(?:[\w.~@+-]|\$\{?\w+\}?|/)+$")
_OPERATOR = regex(r"\s(?:&&|\|\||\||>>?|<|<<<?|2>&1|&>|2>)\s?|;\s|\$\(|\s&$")
_OPTION = regex(r"\s--?[A-Za-z]")
_PATHLIKE = regex(r"\s[\"']?[\w.~*-]*/[\w./*-]*|\s[\w-]+\.\w{1,5}\b")
# `Get-ChildItem`, `.\\tools\\run.exe`
_CMDLET = regex(r"[A-Z][a-z]+-[A-Z][A-Za-z]+$|(?:[\w.:-]*\\)+[\w.-]+\.(?:exe|bat|cmd|ps1)$")
_PROMPT = regex(r"^[ \t]*[$❯➜][ \t]+")


class Likeness(IntEnum):
    """How much a piece of text is a command line."""

    NONE = 0
    # One word that could be the name of anything.
    WORD = 1
    # A command line if the sentence around it treats it as one.
    MAYBE = 2
    SURE = 3


def likeness(text: str) -> Likeness:
    """How sure a reader who sees only `text` is that it is a command line."""
    text = text.strip()
    body = text[match.end() :] if (match := _PREFIX.match(text)) else text
    assigned = bool(match) and "=" in text[: match.end()] if match else False
    if not body or ("\n" in body and _looks_like_script(body)):
        return Likeness.SURE if body else Likeness.NONE
    first, _, rest = body.partition(" ")
    rest = f" {rest.strip()}" if rest.strip() else ""
    if first in _SHELL_WORDS:
        return Likeness.SURE if rest else Likeness.NONE
    if not _can_be_program(first, rest):
        return Likeness.SURE if assigned and _OPERATOR.search(text) else Likeness.NONE
    return _program_likeness(first, rest)


def runs_alone(text: str) -> bool:
    """Whether `text`, all that a field holds, is a command: then even an unknown word is one."""
    if likeness(text) is not Likeness.NONE:
        return True
    body = text.strip()
    known_otherwise = (
        body.startswith(("/", "{", "<")) or body.split(" ", 1)[0] in _METHODS | _NOT_SHELL
    )
    return not known_otherwise and bool(_OPERATOR.search(body) or _OPTION.search(body))


def is_powershell(text: str) -> bool:
    """Whether only PowerShell can run `text`: it starts with a cmdlet such as `Get-ChildItem`."""
    first, _, _ = text.strip().lstrip("(").partition(" ")
    return bool(_CMDLET.match(first))


def is_only_words(text: str) -> bool:
    """`build the app`: an everyday verb with words behind it, where no backticks say that it is typed."""
    first, _, rest = text.strip().partition(" ")
    rest = f" {rest}"
    return first in _VERBS and not (
        _OPERATOR.search(rest) or _OPTION.search(rest) or _PATHLIKE.search(rest)
    )


def _looks_like_script(body: str) -> bool:
    return any(likeness(line) is Likeness.SURE for line in body.split("\n")[:20] if line.strip())


def _can_be_program(first: str, rest: str) -> bool:
    if first in _PROGRAMS or _CMDLET.match(first):
        return True
    if not _NAME.match(first) or (first.endswith((".", "/")) and first != ".") or first in _METHODS:
        return False
    if first.startswith("/"):
        return bool(_ROOTS.match(first))
    if first.startswith(("-", "@", "+")) or first.lower() in _NOT_SHELL:
        return False
    if "=" in rest[:3] or rest.startswith((" : ", " =>", " ->", " {")):
        return False
    return "/" in first or not (first[:1].isupper() or first[:1].isdigit())


def _program_likeness(first: str, rest: str) -> Likeness:
    if first in _FILTERS and all(word.startswith("-") for word in rest.split()):
        # `rg -c` without a pattern, `wc -l` without a file are only talked about.
        return Likeness.NONE
    evident = bool(_OPERATOR.search(rest) or _OPTION.search(rest))
    name = first.rsplit("/", 1)[-1]
    if "/" in first or _SCRIPT.search(name):
        return _path_likeness(first, rest, evident)
    if (first in _PROGRAMS and first not in _WORDS) or _CMDLET.match(first):
        return Likeness.SURE if rest else Likeness.MAYBE
    if first in _WORDS:
        return (
            Likeness.SURE
            if rest and (evident or _PATHLIKE.search(rest) or len(rest.split()) < 3)
            else Likeness.MAYBE
        )
    if "." in name and not first.startswith("$"):
        # A file name: `config.ts`, `task.verify`.
        return Likeness.MAYBE if evident else Likeness.NONE
    if not rest:
        return Likeness.WORD
    return Likeness.SURE if evident else Likeness.MAYBE


def _path_likeness(first: str, rest: str, evident: bool) -> Likeness:
    """A path is run if it is a script or lies where programs lie; otherwise it is a file that is talked about."""
    if (first.startswith("./") and (rest or "." not in first[2:])) or _SCRIPT.search(first):
        return Likeness.SURE if rest or first.startswith("./") else Likeness.MAYBE
    if (
        re.search(r"(?:^|/)(?:\.?v?env|bin|\.bin|sbin|target/\w+)/", first)
        and "." not in first.rsplit("/", 1)[-1][1:]
    ):
        return Likeness.SURE if rest else Likeness.MAYBE
    if evident:
        return Likeness.SURE
    return Likeness.MAYBE if rest and "." not in first.rsplit("/", 1)[-1] else Likeness.NONE


def without_prompt(text: str) -> str:
    """`$ npm test` is typed as `npm test`."""
    return _PROMPT.sub("", text)
