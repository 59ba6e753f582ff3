"""The table of programs, loaded from `programs.toml` on first use."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_ralph.text.toml import parse_toml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_ralph.shell.command import Stage

TABLE = Path(__file__).with_name("programs.toml")
_loading = threading.Lock()

Purpose = Literal["format", "lint"]
Section = Literal["stdout", "hazards"]

# A role suggested by the name of a program that the table does not list.
_ROLE_HINTS = {
    "lint": re.compile(r"[\w-]*(?:[Ll]int|audit|validat|scan|check|secrets)[\w-]*"),
    "format": re.compile(r"[\w-]*(?:fmt|format|-sort)[\w-]*"),
    "types": re.compile(r"[\w-]*(?:typecheck|type-check)[\w-]*"),
    "test": re.compile(r"[\w-]*(?:test|spec)s?"),
    # A program that makes one thing from another: `docgen`, `md2pdf`.
    "build": re.compile(r"[\w-]*(?:build|compiler?|cc|c\+\+|gen|generator)|[a-z]+2[a-z]+"),
}
# A role suggested by a word behind a program of which nothing else is known: `tach check`.
_ROLE_OF_ARGUMENT = {
    **dict.fromkeys(
        "lint check validate audit analyze analyse scan --check --lint".split(), "lint"
    ),
    **dict.fromkeys("format fmt --fail-on-change".split(), "format"),
    **dict.fromkeys("test tests spec --test".split(), "test"),
    **dict.fromkeys("build compile bundle codegen generate render".split(), "build"),
}
# An option behind which a program is told the file that it makes: `-o lexer.c`.
_OUTPUT_OPTIONS = frozenset("-o --out --outdir --outfile --output".split())
_FILE_TO_MAKE = re.compile(r"[\w@~+-]*[./][\w@~./+-]*\w")


@dataclass(frozen=True, slots=True)
class Launcher:
    """How to find the program behind `words`, which only start it.

    `values` are options followed by a value, `operands` how many words of its own come next,
    `again` what starts the same program once more, `scripts` options with a command line as their
    value. A launcher that is `known_only` launches programs of the table; any other word is a
    subcommand or a script of its own.
    """

    words: tuple[str, ...]
    values: frozenset[str]
    operands: int
    again: tuple[str, ...]
    known_only: bool
    scripts: frozenset[str]

    def script(self, arguments: Sequence[str]) -> str | None:
        """Return the command line that an option in front of the program has, or None.

        `arguments` are the words behind those of the launcher.
        """
        own_operands = self.operands
        remaining = iter(arguments)
        for argument in remaining:
            option, _, value = argument.partition("=")
            if option in self.scripts:
                return value or next(remaining, None)
            if argument in self.values:
                next(remaining, None)
            elif not argument.startswith("-"):
                own_operands -= 1
            if own_operands < 0 or argument == "--":
                return None
        return None


@dataclass(frozen=True, slots=True)
class Call:
    """The operands that make a call of a program, and options that must be among its arguments.

    In the operands, `*` stands for any text.
    """

    words: tuple[str, ...]
    options: frozenset[str]

    @classmethod
    def read(cls, arguments: Sequence[str]) -> Call:
        """Read the words that are written behind the program."""
        words = [word for word in arguments if not word.startswith("-")]
        return cls(tuple(words), frozenset(arguments).difference(words))

    def matches(self, operands: Sequence[str], arguments: Sequence[str]) -> bool:
        """Whether the program with these operands and arguments is this call."""
        if len(operands) < len(self.words):
            return False
        for word, operand in zip(self.words, operands, strict=False):
            if word != operand and not ("*" in word and fnmatchcase(operand, word)):
                return False
        return self.options.issubset(arguments)


@dataclass(frozen=True, slots=True)
class FixMode:
    """How a formatter or linter fixes what it complains about. `programs.toml` has the fields."""

    call: tuple[str, ...]
    purpose: Purpose
    suffixes: tuple[str, ...]
    fix: tuple[str, ...]
    keep: frozenset[str]
    flags: frozenset[str]
    instead: str
    whole: bool

    @property
    def title(self) -> str:
        """The call as a person writes it: `ruff check`."""
        return " ".join(self.call)

    def handles(self, name: str) -> bool:
        """Whether a file of this name is one that the program reads."""
        return not self.suffixes or name.endswith(self.suffixes)


class Programs:
    """Answers questions about programs from one parsed table."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._launchers = _read_launchers(table["launchers"])
        self._roles = _read_roles(table["roles"], table["call_roles"])
        self._names = _read_names(table["names"])
        self._values = _read_values(table["values"])
        self._lists = {"stdout": table["stdout"], "hazards": table["hazards"]}
        self._fixes = table["fixes"]
        self._files = table["files"]

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all programs with a role or another reason to be known."""
        return self._names["others"] | self._roles.keys()

    @property
    def orchestrators(self) -> frozenset[str]:
        """Programs that run other programs, so that their role does not explain a failure."""
        return self._names["orchestrators"]

    @property
    def builders(self) -> frozenset[str]:
        """Programs of which every operand may be a target: `make clean deploy`."""
        return self._names["builders"]

    @property
    def alone(self) -> frozenset[str]:
        """Programs that are a whole command without any argument, as pytest is."""
        return self._names["alone"]

    def launcher(self, words: Sequence[str]) -> Launcher | None:
        """Return the launcher that `words` start with; the first word has no path."""
        for launcher in self._launchers.get(words[0], ()):
            if tuple(words[: len(launcher.words)]) == launcher.words:
                return launcher
        return None

    def is_launched(self, name: str) -> bool:
        """Whether `yarn NAME` starts a program rather than a script of the package."""
        return name in self._roles and name not in self._names["scripts"]

    def has_role(self, name: str) -> bool:
        """Whether the table lists the role of a program or call."""
        return name in self._roles

    @cached_property
    def first_words(self) -> frozenset[str]:
        """The words with which the calls that have a role, and the launchers, start."""
        calls = {name.partition(" ")[0] for name in self._roles}
        return frozenset(calls | self._launchers.keys())

    def role(self, name: str) -> str:
        """Return what a program or call (`cargo test`) is for, empty if that is unknown."""
        role = self._roles.get(name)
        if role is not None:
            return role
        for hinted, pattern in _ROLE_HINTS.items():
            if pattern.fullmatch(name):
                return hinted
        return ""

    def role_of_arguments(self, arguments: Sequence[str]) -> str:
        """Return what the words behind an unknown program suggest that it is for."""
        for argument in arguments[:3]:
            if argument in _ROLE_OF_ARGUMENT:
                return _ROLE_OF_ARGUMENT[argument]
        for option, value in pairwise(arguments):
            if option in _OUTPUT_OPTIONS and _FILE_TO_MAKE.fullmatch(value):
                return "build"
        return ""

    def options_with_value(self, program: str) -> frozenset[str]:
        """Return the options of a program that are followed by a value, as far as known."""
        return self._values.get(program, frozenset())

    def operands(self, program: str, arguments: Sequence[str]) -> tuple[str, ...]:
        """Return the arguments that are neither options nor values of options."""
        values = self.options_with_value(program)
        found: list[str] = []
        remaining = iter(arguments)
        for argument in remaining:
            if argument == "--":
                # Nothing behind it is an option, whatever it starts with.
                found += remaining
            elif takes_next(argument, values):
                next(remaining, None)
            elif not argument.startswith(("-", "+")) or argument == "-":
                found.append(argument)
        return tuple(found)

    def options(self, program: str, arguments: Sequence[str]) -> list[str]:
        """Return the arguments that are no values of options."""
        values = self.options_with_value(program)
        found: list[str] = []
        remaining = iter(arguments)
        for argument in remaining:
            found.append(argument)
            if takes_next(argument, values):
                next(remaining, None)
        return found

    def leading_operands(self, program: str, arguments: Sequence[str]) -> list[str]:
        """Return the first operands, up to the next option: `s3 cp` of `aws s3 cp --acl x`."""
        found: list[str] = []
        operands = self.operands(program, arguments)
        for argument in arguments:
            if found and argument.startswith("-"):
                break
            if argument in operands:
                found.append(argument)
        return found

    def listed(self, section: Section, key: str) -> Calls:
        """Return a list of the section `stdout` or `hazards` of the table."""
        return _read_list(self._lists[section][key])

    def hazard_options(self, key: str) -> frozenset[str]:
        """Return a list of options of the table's `hazards` section."""
        return self.listed("hazards", key).names

    def fix_mode(self, program: str, operands: Sequence[str]) -> FixMode | None:
        """Return how a call can fix what it complains about; longer calls come first."""
        for length in (2, 1, 0):
            title = " ".join((program, *operands[:length]))
            if title in self._fixes:
                return self._read_fix_mode(title)
        return None

    def _read_fix_mode(self, title: str) -> FixMode:
        row = self._fixes[title]
        return FixMode(
            call=tuple(title.split()),
            purpose=row["purpose"],
            suffixes=tuple(self._suffixes(_words(row, "files"))),
            fix=_words(row, "fix"),
            keep=frozenset(_words(row, "keep")),
            flags=frozenset(_words(row, "flags")),
            instead=row.get("instead", ""),
            whole=row.get("whole", False),
        )

    def _suffixes(self, names: Sequence[str]) -> Iterator[str]:
        for name in names:
            if name.startswith("@"):
                yield from self._suffixes(_words(self._files, name[1:]))
            else:
                yield name


def takes_next(argument: str, values: frozenset[str]) -> bool:
    """Whether the next word is the value of this option: of `-d`, of `-sd`, not of `-dx`."""
    if argument in values:
        return True
    if not argument.startswith("-") or argument.startswith("--"):
        return False
    for place, letter in enumerate(argument[1:], 2):
        if f"-{letter}" in values:
            return place == len(argument)
    return False


@dataclass(frozen=True, slots=True)
class Calls:
    """Names of programs (or options), and calls of programs."""

    names: frozenset[str]
    calls: Mapping[str, Sequence[Call]]

    @classmethod
    def read(cls, entries: Iterable[str]) -> Calls:
        """Read names, and calls as they are written: `make ship`."""
        names: set[str] = set()
        calls: dict[str, list[Call]] = {}
        for entry in entries:
            program, _, arguments = " ".join(entry.split()).partition(" ")
            if arguments:
                calls.setdefault(program, []).append(Call.read(arguments.split()))
            else:
                names.add(program)
        return cls(frozenset(names), calls)

    def contain(self, stage: Stage) -> bool:
        """Whether a stage is one of the calls, or calls one of the programs."""
        return self._contain(stage, (stage.operands,))

    def may_contain(self, stage: Stage) -> bool:
        """The same, also if it is only one of several targets, or behind options unknown here."""
        return self._contain(stage, stage.possible_operands)

    def _contain(self, stage: Stage, readings: Sequence[Sequence[str]]) -> bool:
        for program in {stage.program, stage.script_file}:
            if program in self.names:
                return True
            for call in self.calls.get(program, ()):
                if any(call.matches(operands, stage.arguments) for operands in readings):
                    return True
        return False


def load_programs() -> Programs:
    """Return the table of programs."""
    # The threads of a [P] group need it at the same moment: one of them reads it for all.
    with _loading:
        return _load()


@cache
def _load() -> Programs:
    return Programs(parse_toml(TABLE.read_text(encoding="utf-8")))


def _read_launchers(rows: Mapping[str, Any]) -> dict[str, list[Launcher]]:
    """Launchers by their first word, the longest first."""
    found: dict[str, list[Launcher]] = {}
    for title, row in rows.items():
        launcher = Launcher(
            words=tuple(title.split()),
            values=frozenset(_words(row, "values")),
            operands=row.get("operands", 0),
            again=_words(row, "again"),
            known_only=row.get("known", False),
            scripts=frozenset(_words(row, "scripts")),
        )
        found.setdefault(launcher.words[0], []).append(launcher)
    for launchers in found.values():
        launchers.sort(key=lambda launcher: -len(launcher.words))
    return found


def _words(row: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(row.get(key, "").split())


def _read_roles(programs: Mapping[str, str], calls: Mapping[str, str]) -> dict[str, str]:
    """Return the role of each program and call."""
    found: dict[str, str] = {}
    for role, text in programs.items():
        found |= dict.fromkeys(text.split(), role)
    for role, text in calls.items():
        for call in text.split(","):
            words = call.split()
            found[" ".join(words)] = role
    return found


def _read_values(section: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """Return the options with a value of each program; programs may share a row."""
    found: dict[str, frozenset[str]] = {}
    for programs, text in section.items():
        options = frozenset(text.split())
        found |= dict.fromkeys(programs.split(), options)
    return found


def _read_names(section: Mapping[str, str]) -> dict[str, frozenset[str]]:
    return {key: frozenset(text.split()) for key, text in section.items()}


@cache
def _read_list(text: str) -> Calls:
    """Read a list of names and of calls, when it is first used; with commas in it, it has calls."""
    if "," in text:
        return Calls.read(text.split(","))
    return Calls(frozenset(text.split()), {})
