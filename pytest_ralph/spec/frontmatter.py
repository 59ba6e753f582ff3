"""The FrontMatter of a spec, the YAML between two `---` lines at its top, with its `ralph:` settings."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from pytest_ralph.options import FRONT_MATTER
from pytest_ralph.settings import RUN_WIDE, SETTINGS
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Mapping

# What a `ralph:` mapping may set. Options that are set for a whole run get a warning there.
SETTING_KEYS = tuple(
    option.name for option in SETTINGS if FRONT_MATTER in option.where or option.name in RUN_WIDE
)
# Reading YAML takes its time: what is longer was not written by hand.
LONGEST = 20_000
MOST_VALUES = 10_000
_LIKE_A_KEY = regex(r"\s*[\w-]+:(?:\s|$)")

_NO_COMMANDS = "`ralph: verify:` must map ids, markers or phases to commands"


class FrontMatterError(Exception):
    """What is wrong, and on which line of the file."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


@dataclass(frozen=True)
class FrontMatter:
    """`lines`: how many lines of the file it takes, both `---` included; 0 when there is none."""

    lines: int = 0
    data: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    setting_lines: Mapping[str, int] = field(default_factory=dict)
    total_line: int = 1


def read_front_matter(source: str) -> FrontMatter:
    """The front matter of a markdown text. FrontMatterError if it is there and cannot be used."""
    text = source.removeprefix("\ufeff")
    end = _closing_line(text)
    if not end:
        return FrontMatter()
    text = "\n".join(text.split("\n")[1:end])
    if len(text) > LONGEST:
        if _LIKE_A_KEY.match(text):
            raise FrontMatterError(
                1, f"front matter of {len(text):,} characters is too long, at most {LONGEST:,}"
            )
        return FrontMatter()
    loaded = _load(text)
    if loaded is None:
        return FrontMatter(end + 1)
    if not isinstance(loaded, dict):
        # Prose between two rules: a document may start with one.
        return FrontMatter()
    settings, lines_of_settings = _settings(loaded)
    if settings.get("verify"):
        settings["verify"] = _commands(text)
    total_line = _line_of(loaded, "total_tasks") if "total_tasks" in loaded else 1
    return FrontMatter(end + 1, _plain(loaded), settings, lines_of_settings, total_line)


def unusable(source: str) -> FrontMatter:
    """What is left of front matter that cannot be used: the lines it takes."""
    return FrontMatter(_closing_line(source.removeprefix("\ufeff")) + 1)


def _closing_line(text: str) -> int:
    """The index of the line that closes front matter; 0 where there is none."""
    if not text.startswith("---") or text.split("\n", 1)[0].rstrip() != "---":
        return 0
    lines = text.split("\n")
    return next(
        (number for number, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), 0
    )


def _load(text: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    yaml = YAML(typ="rt", pure=True)
    yaml.allow_duplicate_keys = True
    try:
        with warnings.catch_warnings():
            # Of anchors that are used twice.
            warnings.simplefilter("ignore")
            return yaml.load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise FrontMatterError(
            (mark.line if mark else 0) + 2, f"malformed front matter: {_one_line(error)}"
        ) from None
    except (YAMLError, ValueError, TypeError, RecursionError) as error:
        raise FrontMatterError(2, f"malformed front matter: {_one_line(error)}") from None


def _commands(text: str) -> dict[str, str | list[str]]:
    """`ralph: verify:` with its keys as written: to YAML, the ids 1.1 and 1.10 are the same number."""
    from ruamel.yaml import YAML

    node = YAML(pure=True).compose(text)
    for name in ("ralph", "verify"):
        node = next(value for key, value in node.value if key.value == name)
    return {str(key.value): _command(value) for key, value in node.value}


def _command(node: Any) -> str | list[str]:
    """One command, or a list of them."""
    parts = node.value if isinstance(node.value, list) else [node]
    if not all(isinstance(getattr(part, "value", None), str) for part in parts):
        raise FrontMatterError(node.start_mark.line + 2, _NO_COMMANDS)
    commands = [part.value for part in parts]
    return commands if isinstance(node.value, list) else commands[0]


def _one_line(error: Exception) -> str:
    problem = getattr(error, "problem", None) or str(error) or type(error).__name__
    return " ".join(str(problem).split())[:200]


def _settings(data: Any) -> tuple[dict[str, Any], dict[str, int]]:
    """The settings by their names on the command line, and the line each stands on."""
    if "ralph" not in data or data["ralph"] is None:
        return {}, {}
    settings = data["ralph"]
    if not isinstance(settings, dict):
        raise FrontMatterError(
            _line_of(data, "ralph"), "`ralph:` in the front matter must be a mapping of settings"
        )
    found: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for key, value in settings.items():
        name = str(key).replace("_", "-")
        if name not in SETTING_KEYS:
            raise FrontMatterError(_line_of(settings, key), _unknown(str(key)))
        found[name], lines[name] = _plain(value), _line_of(settings, key)
    if not isinstance(found.get("verify", {}), dict):
        raise FrontMatterError(_line_of(settings, "verify"), _NO_COMMANDS)
    return found, lines


def _unknown(key: str) -> str:
    close = get_close_matches(key.replace("_", "-"), SETTING_KEYS, 1)
    hint = f"did you mean `{close[0]}`?" if close else f"known are {', '.join(SETTING_KEYS)}"
    return f"unknown key `{key}` under `ralph:`; {hint}"


def _line_of(mapping: Any, key: Any) -> int:
    """The line in the file (1-based) where `key` stands; the front matter's text starts on line 2."""
    try:
        return int(mapping.lc.key(key)[0]) + 2
    except (AttributeError, KeyError, TypeError):
        return 2


def _plain(value: Any) -> Any:
    """YAML's own types as Python's, so that a spec can be copied, compared and sent to another process."""
    try:
        return _Plain().of(value)
    except RecursionError:
        raise FrontMatterError(2, "front matter that contains itself") from None


class _Plain:
    """Counts as it goes: ten lines of aliases to aliases stand for more values than there is memory."""

    def __init__(self) -> None:
        self._left = MOST_VALUES

    def of(self, value: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            raise FrontMatterError(2, f"front matter of more than {MOST_VALUES:,} values")
        if isinstance(value, dict):
            return {str(key): self.of(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.of(item) for item in value]
        for plain in (bool, int, float, str):
            if isinstance(value, plain):
                return plain(value)
        return value if value is None else str(value)
