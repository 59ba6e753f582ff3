"""Settings: the values that the options have for one run or one spec."""

from __future__ import annotations

import os
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
    if option.kind == "lines":
        return ()
    if option.kind == "commands":
        return {}
    if option.default is None:
        return None
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
    try:
        return _PARSERS[option.kind](option, given)
    except (ValueError, TypeError):
        shown = given if isinstance(given, (dict, list)) else str(given)
        got = one_line(repr(shown), 80)
        raise SettingError(f"{place}: expected {expected_value(option)}, got {got}") from None


def expected_value(option: Option) -> str:
    """Describe the values that an option takes, for an error message."""
    match option.kind:
        case "flag" | "mode":
            return "true or false"
        case "switch":
            return f"true, false or {', '.join(option.choices)}"
        case "count":
            return f"a whole number, {option.minimum} or more"
        case "seconds":
            return "a number of seconds above 0"
        case "number":
            return f"a number, {option.minimum} or more"
        case "choice":
            return f"one of {', '.join(option.choices)}"
        case "list":
            return f"none or some of {', '.join(option.choices)}"
        case _:
            return "a text"


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
    if isinstance(given, bool):
        raise TypeError
    number = int(str(given))
    if number < option.minimum:
        raise ValueError
    return number


def _parse_seconds(_: Option, given: object) -> float:
    if isinstance(given, bool):
        raise TypeError
    number = float(str(given).strip().removesuffix("s"))
    if not 0 < number < float("inf"):
        raise ValueError
    return number


def _parse_number(option: Option, given: object) -> float:
    if isinstance(given, bool):
        raise TypeError
    number = float(str(given))
    if not option.minimum <= number < float("inf"):
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
    if not words or not set(words) <= set(option.choices):
        raise ValueError
    return words


def _parse_lines(_: Option, given: object) -> tuple[str, ...]:
    if isinstance(given, str):
        return tuple(_lines(given))
    if not isinstance(given, list):
        raise TypeError
    return tuple(given)


def _lines(text: str) -> list[str]:
    """Return the lines that are not blank, without the blanks around them."""
    stripped = [line.strip() for line in text.splitlines()]
    return [line for line in stripped if line]


def _parse_commands(_: Option, given: object) -> Mapping[str, str]:
    if isinstance(given, dict):
        # The front matter was validated where it was read.
        return given
    commands = {}
    for line in _parse_lines(_, given):
        key, _separator, command = line.partition(": ")
        if command.strip():
            commands[key.strip()] = command.strip()
    return commands


def _parse_text(_: Option, given: object) -> str:
    if isinstance(given, (dict, list, bool)):
        raise TypeError
    text = str(given)
    if not text.strip():
        raise ValueError
    return text


def _parse_texts(option: Option, given: object) -> tuple[str, ...]:
    parts = given if isinstance(given, list) else _lines(_parse_text(option, given))
    return tuple(_parse_text(option, part) for part in parts)


_PARSERS: dict[str, Callable[[Option, object], Any]] = {
    "flag": _parse_flag,
    "switch": _parse_switch,
    "count": _parse_count,
    "seconds": _parse_seconds,
    "choice": _parse_choice,
    "list": _parse_list,
    "lines": _parse_lines,
    "commands": _parse_commands,
    "number": _parse_number,
    "texts": _parse_texts,
    "text": _parse_text,
}
