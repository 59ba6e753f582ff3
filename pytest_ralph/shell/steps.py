"""Step: one simple command of a shell command line, and the tool it really runs."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pytest_ralph.shell.tools import ROLES

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST = 8_000
PUNCTUATION = frozenset("();<>|&")
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
# Words that only start another command; the value says how many of their own arguments come first.
WRAPPERS = {
    "sudo": 0,
    "env": 0,
    "time": 0,
    "nice": 0,
    "nohup": 0,
    "exec": 0,
    "command": 0,
    "stdbuf": 0,
    "xargs": 0,
    "timeout": 1,
    "gtimeout": 1,
    "npx": 0,
    "bunx": 0,
    "pnpx": 0,
    "uvx": 0,
    "pipx": 0,
    "then": 0,
    "do": 0,
    "else": 0,
    "if": 0,
    "while": 0,
    "until": 0,
    "!": 0,
    "{": 0,
    "xvfb-run": 0,
    "unbuffer": 0,
    "ionice": 0,
    "setsid": 0,
    "dotenv": 0,
    "doppler": 0,
    "op": 0,
    "cross-env": 0,
    "strace": 0,
    "catchsegv": 0,
    "busybox": 0,
    "chronic": 0,
}
# `poetry run x`, `cargo +nightly x`: tool and subcommand that only start another command.
RUNNERS = frozenset(
    "poetry run|pipenv run|uv run|pdm run|rye run|hatch run|hatch test|conda run|bundle exec|pnpm exec|pnpm dlx|"
    "yarn exec|yarn dlx|npm exec|bun x|mise exec|mise x|asdf exec|direnv exec|nix-shell run|npm x|volta run|"
    "coverage run|kernprof|rtk proxy|luarocks exec|opam exec|stack exec|cabal exec|dune exec|perf stat".split(
        "|"
    )
)
INTERPRETERS = re.compile(r"(?:python|pypy)[\d.]*$|py$")
# Interpreters whose first argument may be a tool of its own: `php vendor/bin/phpunit`, `python manage.py test`.
HOSTS = frozenset({"python", "python3", "php", "node", "ruby", "perl", "bash", "sh"})
SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish", "ash"})
# What the name of a tool nobody listed suggests; a script's name suggests nothing.
HINTS = {
    "lint": re.compile(r"^[\w-]*(?:lint|audit|validat|scan|-check|secrets)[\w-]*$"),
    "format": re.compile(r"^[\w-]*(?:fmt|format)[\w-]*$"),
    "types": re.compile(r"^[\w-]*(?:typecheck|type-check)[\w-]*$"),
    "test": re.compile(r"^[\w-]*(?:test|spec)s?$"),
    "build": re.compile(r"^[\w-]*(?:build|compile|cc|c\+\+)$"),
}


@dataclass(frozen=True, slots=True)
class Step:
    """`npx jest --ci` is the tool `jest` with the arguments `--ci`; `words` is all of it as written."""

    tool: str
    arguments: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    piped: bool = False

    @property
    def name(self) -> str:
        """The tool, with its subcommand where that is what the role depends on: `cargo test`."""
        both = (f"{self.tool} {argument}" for argument in self.arguments[:4])
        return next((name for name in both if name in ROLES), self.tool)

    @property
    def role(self) -> str:
        return ROLES.get(self.name) or next(
            (role for role, hint in HINTS.items() if hint.search(self.tool)), ""
        )

    @property
    def operands(self) -> tuple[str, ...]:
        return tuple(word for word in self.arguments if not word.startswith("-"))


def read_steps(command: str) -> tuple[Step, ...]:
    """The simple commands of a command line, in order."""
    steps: list[Step] = []
    current: list[str] = []
    words = iter([*_words(command[:LONGEST]), ";"])
    for word in words:
        if not PUNCTUATION.issuperset(word):
            current.append(word)
        elif "<" in word or ">" in word:
            next(words, None)  # the file a redirection names
        else:
            steps.extend(_read_step(current, piped=word == "|") if current else ())
            current = []
    return tuple(steps)


def read_shown(line: str) -> tuple[Step, ...]:
    """The same for a line of output that may be a command: only its first words are looked at."""
    return tuple(
        step
        for part in re.split(r"\s(?:&&|\|\||;|\|)\s", line)[:4]
        for step in _read_step(part.split()[:8], piped=False)
    )


def _words(command: str) -> Sequence[str]:
    lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        return command.split()


def _read_step(words: Sequence[str], *, piped: bool) -> list[Step]:
    rest = _unwrap([word for word in words if word])
    if not rest:
        return []
    tool, arguments = _tool_name(rest[0]), rest[1:]
    if tool in SHELLS and "-c" in arguments[:-1]:
        return list(read_steps(arguments[arguments.index("-c") + 1]))
    if INTERPRETERS.match(tool) and "-m" in arguments[:-1]:
        at = arguments.index("-m")
        tool, arguments = arguments[at + 1], arguments[at + 2 :]
    elif tool in HOSTS and arguments and _tool_name(arguments[0]) in ROLES:
        tool, arguments = _tool_name(arguments[0]), arguments[1:]
    return [Step(tool, tuple(arguments), tuple(words), piped)]


def _unwrap(words: Sequence[str]) -> Sequence[str]:
    """Drop what only starts another command: assignments, wrappers with their options, `poetry run`."""
    for _ in range(8):
        if not words:
            return words
        tool = _tool_name(words[0])
        if ASSIGNMENT.match(words[0]):
            words = words[1:]
        elif tool == "command" and words[1:2] in (["-v"], ["-V"]):
            return words
        elif tool in WRAPPERS:
            words = _drop_options(words[1:], WRAPPERS[tool])
        elif len(words) > 2 and f"{tool} {words[1]}" in RUNNERS:
            words = _drop_options(words[2:], 0)
        else:
            return words
    return words


def _drop_options(words: Sequence[str], positional: int) -> Sequence[str]:
    takes_value = {
        "-s",
        "-k",
        "-u",
        "-n",
        "-p",
        "--signal",
        "--package",
        "--with",
        "-C",
        "-I",
        "--kill-after",
    }
    while words and words[0].startswith("-") and words[0] != "-m":
        if words[0] == "--":
            return words[1:]
        words = words[2:] if words[0] in takes_value else words[1:]
    return words[positional:]


def _tool_name(word: str) -> str:
    name = PurePosixPath(word).name or word
    return name.removesuffix(".exe")
