"""Settings: the values that the options have for one run or one spec."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_ralph.options import COMMAND_LINE, FALSE, FRONT_MATTER, OPTIONS, TRUE, Option
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SETTINGS = tuple(option for option in OPTIONS if option.kind != "mode")
# Options of the command line that cannot differ from spec to spec.
RUN_WIDE = frozenset(
    option.name
    for option in SETTINGS
    if COMMAND_LINE in option.where and FRONT_MATTER not in option.where
)


class SettingError(ValueError):
    """A value that an option cannot have: one line with the option, its place and what it takes."""


# Values of --ralph-executor that mean "no agent".
NO_EXECUTOR = ("repair", "none")


class Settings(NamedTuple):
    """The value of every option that is not a mode, under its name in the option table.

    `recovery` is None if the state file of each spec decides (`ralph_recovery = state`).
    """

    recovery: bool | None
    executor: tuple[str, ...]
    execute: bool
    isolate: str
    candidates: int
    allow: tuple[str, ...]
    max_fixes: int
    max_depth: int
    budget: int
    max_cost: float | None
    wait: float
    timeout: float
    executor_timeout: float
    jobs: int
    repair: tuple[str, ...]
    rollback: bool
    commit: str
    guard: str
    pending: bool
    fresh: bool
    keep_going: bool
    interactive: bool
    shell: str | None
    report: str | None
    kinds: str | None
    templates: str | None
    junit: tuple[str, ...]
    verify: Mapping[str, str]
    remote: tuple[str, ...]
    isolate_link: tuple[str, ...]
    isolate_copy: tuple[str, ...]
    strict: bool
    secrets: tuple[str, ...]
    executor_model: str | None
    executor_args: str | None
    executor_program: str | None
    alert: int
    keep_logs: int

    @property
    def only_verifies(self) -> bool:
        """Whether these settings start no executor and write nothing into a spec."""
        return self.recovery is False and not self.execute

    @property
    def tells_changes_apart(self) -> bool:
        """Whether it must be known which executor run or repair changed which file.

        Their changes are then undone or committed apart from those of others.
        """
        return self.guard == "refuse" or self.commit != "none" or self.rollback


class Layer(NamedTuple):
    """One place where options are set.

    values: What is set there, by the name of the option; None means not set.
    locate: Returns what to call an option set there, for an error message.
    """

    values: Mapping[str, object]
    locate: Callable[[Option], str] = lambda option: option.flag


def read_settings(*layers: Layer) -> Settings:
    """Return the settings that the layers add up to; an earlier layer beats a later one."""
    values = {option.name.replace("-", "_"): _find_value(option, layers) for option in SETTINGS}
    return Settings(**values)


def _find_value(option: Option, layers: Sequence[Layer]) -> Any:
    """Return the value of an option in the first place that sets it, or its default."""
    for layer in layers:
        given = layer.values.get(option.name)
        if given is not None:
            return parse_value(option, given, layer.locate(option))
    return default_value(option)


def default_value(option: Option) -> Any:
    """Return the value of an option that is set nowhere."""
    if option.name == "jobs":
        return _usable_cores()
    if option.default is None:
        return _KINDS[option.kind].unset
    return parse_value(option, option.default, option.flag)


def _usable_cores() -> int:
    """Count the cores this process may use; in a container the machine may have more."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def parse_value(option: Option, given: object, place: str) -> Any:
    """Convert a value as a user wrote it.

    Raise SettingError, naming `place`, if it is malformed.
    """
    kind = _KINDS[option.kind]
    try:
        return kind.parse(option, given)
    except (ValueError, TypeError):
        choices = ", ".join(option.choices)
        expected = kind.expected.format(option, choices=choices)
        shown = given if isinstance(given, (dict, list)) else str(given)
        got = one_line(repr(shown), 80)
        raise SettingError(f"{place}: expected {expected}, got {got}") from None


# The parsers raise ValueError or TypeError for what they cannot read.


def _parse_flag(_: Option, given: object) -> bool:
    word = str(given).strip().lower()
    if word in TRUE:
        return True
    if word in FALSE:
        return False
    raise ValueError


def _parse_switch(option: Option, given: object) -> bool | None:
    if str(given).strip().lower() in option.choices:
        return None
    return _parse_flag(option, given)


def _parse_count(option: Option, given: object) -> int:
    number = int(str(given))
    if number < option.minimum:
        raise ValueError
    return number


def _parse_number(option: Option, given: object) -> float:
    number = float(str(given))
    if not option.minimum <= number < float("inf"):
        raise ValueError
    return number


def _parse_seconds(option: Option, given: object) -> float:
    number = _parse_number(option, str(given).strip().removesuffix("s"))
    if number == 0:
        raise ValueError
    return number


def _parse_choice(option: Option, given: object) -> str:
    word = str(given)
    if word not in option.choices:
        raise ValueError
    return word


def _parse_list(option: Option, given: object) -> tuple[str, ...]:
    parts = given if isinstance(given, list) else str(given).split(",")
    words = tuple(str(part).strip() for part in parts)
    if words == ("none",):
        return ()
    unknown = set(words).difference(option.choices)
    if unknown or not words:
        raise ValueError
    return words


def _parse_lines(_: Option, given: object) -> tuple[str, ...]:
    if isinstance(given, str):
        return tuple(_lines(given))
    # In TOML, an array may hold anything.
    if not isinstance(given, list) or not all(isinstance(line, str) for line in given):
        raise TypeError
    return tuple(_lines("\n".join(given)))


def _lines(text: str) -> list[str]:
    """Return the lines that are not blank, without the blanks around them."""
    stripped = map(str.strip, text.splitlines())
    return list(filter(None, stripped))


def _parse_commands(option: Option, given: object) -> Mapping[str, str]:
    if isinstance(given, dict):
        # The front matter was validated where it was read.
        return given
    commands = {}
    for line in _parse_lines(option, given):
        key, _, command = line.partition(": ")
        if not command.strip():
            raise ValueError
        commands[key.strip()] = command.strip()
    return commands


def _parse_text(_: Option, given: object) -> str:
    if given is None or isinstance(given, (dict, list, bool)):
        raise TypeError
    text = str(given)
    if not text.strip():
        raise ValueError
    return text


def _parse_words(option: Option, given: object) -> str:
    text = _parse_text(option, given)
    # Raises ValueError if a quotation mark is missing.
    shlex.split(text)
    return text


def _parse_texts(option: Option, given: object) -> tuple[str, ...]:
    parts = given if isinstance(given, list) else _lines(_parse_text(option, given))
    if not parts:
        raise ValueError
    return tuple(_parse_text(option, part) for part in parts)


class Kind(NamedTuple):
    """How the values of the options of one kind are read.

    parse: Converts a value as a user wrote it.
    expected: What it takes, for an error message; `{0}` stands for the option.
    unset: The value of an option without a default that is set nowhere.
    """

    parse: Callable[[Option, object], Any]
    expected: str = "a text"
    unset: Any = None


_KINDS = {
    "flag": Kind(_parse_flag, "true or false"),
    "switch": Kind(_parse_switch, "true, false or {choices}"),
    "count": Kind(_parse_count, "a whole number, {0.minimum} or more"),
    "number": Kind(_parse_number, "a number, {0.minimum} or more"),
    "seconds": Kind(_parse_seconds, "a number of seconds above 0"),
    "choice": Kind(_parse_choice, "one of {choices}"),
    "list": Kind(_parse_list, "none or some of {choices}"),
    "lines": Kind(_parse_lines, "lines of text", unset=()),
    "commands": Kind(_parse_commands, "lines of the form `key: command`", unset={}),
    "text": Kind(_parse_text),
    "words": Kind(_parse_words, "words with matching quotation marks"),
    "texts": Kind(_parse_texts),
}
