"""Settings of a run and of one spec: command line over front matter over ini over default."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ralph.plugin import OPTIONS, TRUE, Option
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pytest

    from pytest_ralph.spec.document import Spec
    from pytest_ralph.spec.state import State

LIMITS = {
    "max-fixes": "maxFixTasksPerOriginal",
    "max-depth": "maxFixTaskDepth",
    "budget": "maxGlobalIterations",
}
FALSE = {"0", "false", "no", "off"}
# What one spec cannot have for itself.
OF_THE_RUN = {"budget", "report"}


class SettingError(ValueError):
    """One line that names the setting, where it stands and what it must be."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the options come to. `recovery` is None where only the state file can tell."""

    recovery: bool | None
    executor: str
    execute: bool
    max_fixes: int
    max_depth: int
    budget: int
    timeout: float
    executor_timeout: float
    jobs: int
    repair: tuple[str, ...]
    rollback: bool
    commit: str
    pending: bool
    fresh: bool
    keep_going: bool
    interactive: bool
    shell: str | None
    report: str | None


@dataclass(frozen=True)
class Layer:
    """One place where settings are written: values by option name, and what a person calls one of them there."""

    values: Mapping[str, object]
    called: Callable[[Option], str] = lambda option: option.flag


def on_command_line(config: pytest.Config) -> Layer:
    return Layer({option.name: getattr(config.option, option.key, None) for option in OPTIONS})


def in_front_matter(spec: Spec, path: str) -> Layer:
    def called(option: Option) -> str:
        return f"{path}:{spec.setting_lines.get(option.name, 1)}: `{option.name}` under `ralph:`"

    return Layer(spec.settings, called)


def in_ini_file(config: pytest.Config) -> Layer:
    return Layer({option.name: _from_ini(config, option) for option in OPTIONS}, _ini_name)


def in_state(state: State) -> Layer:
    """The limits a state file names: they hold where nobody says otherwise."""
    return Layer(
        {option: state.data.get(field) for option, field in LIMITS.items()},
        lambda option: LIMITS[option.name],
    )


def _from_ini(config: pytest.Config, option: Option) -> object:
    try:
        value = config.getini(option.key)
    except (TypeError, ValueError) as error:
        # Before 9.2 pytest lets its own reading of the file end in these.
        raise SettingError(f"{_ini_name(option)}: expected {_wanted(option)} ({error})") from None
    return None if value == "" else value


def _ini_name(option: Option) -> str:
    return f"{option.key} (ini file)"


def verify_commands(config: pytest.Config) -> dict[str, str]:
    """From ids, `[markers]` or phases to the commands that the ini file gives to tasks without a Verify field."""
    pairs = (line.partition(": ") for line in config.getini("ralph_verify"))
    return {key.strip(): value.strip() for key, _, value in pairs if value.strip()}


def read_settings(*layers: Layer) -> Settings:
    """Settings from layers, the one with the most weight first."""
    return Settings(**{option.name.replace("-", "_"): _value(option, layers) for option in OPTIONS})


def _value(option: Option, layers: Sequence[Layer]) -> Any:
    for layer in layers:
        given = layer.values.get(option.name)
        if given is not None:
            return _parse(option, given, layer.called(option))
    if option.name == "jobs":
        return _cores()
    return None if option.default is None else _parse(option, option.default, option.flag)


def _cores() -> int:
    """Those this process may use, which in a container are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _parse(option: Option, given: object, where: str) -> Any:
    try:
        return PARSERS[option.kind](option, given)
    except (ValueError, TypeError):
        raise SettingError(f"{where}: expected {_wanted(option)}, got {_shown(given)}") from None


def _shown(given: object) -> str:
    return one_line(repr(given if isinstance(given, (dict, list)) else str(given)), 80)


def _wanted(option: Option) -> str:
    return {
        "flag": "true or false",
        "switch": "true or false",
        "count": "a whole number, 0 or more"
        if option.name != "jobs"
        else "a whole number, 1 or more",
        "seconds": "a number of seconds above 0",
        "choice": f"one of {', '.join(option.choices)}",
        "list": f"none or some of {', '.join(option.choices)}",
        "text": "a text",
    }[option.kind]


def _flag(_: Option, given: object) -> bool:
    word = str(given).strip().lower()
    if word in TRUE | FALSE:
        return word in TRUE
    raise ValueError


def _count(option: Option, given: object) -> int:
    number = int(str(given))
    if isinstance(given, bool) or number < (option.name == "jobs"):
        raise ValueError
    return number


def _seconds(_: Option, given: object) -> float:
    number = float(str(given).strip().removesuffix("s"))
    if isinstance(given, bool) or not 0 < number < float("inf"):
        raise ValueError
    return number


def _choice(option: Option, given: object) -> str:
    if str(given) not in option.choices:
        raise ValueError
    return str(given)


def _list(option: Option, given: object) -> tuple[str, ...]:
    words = [
        str(word).strip() for word in (given if isinstance(given, list) else str(given).split(","))
    ]
    if words == ["none"]:
        return ()
    if not words or not set(words) <= set(option.choices):
        raise ValueError
    return tuple(words)


def _text(_: Option, given: object) -> str:
    if isinstance(given, (dict, list, bool)) or not str(given).strip():
        raise TypeError
    return str(given)


PARSERS: dict[str, Callable[[Option, object], Any]] = {
    "flag": _flag,
    "switch": _flag,
    "count": _count,
    "seconds": _seconds,
    "choice": _choice,
    "list": _list,
    "text": _text,
}
