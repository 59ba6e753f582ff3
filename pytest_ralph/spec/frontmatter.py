"""The front matter of a spec: YAML between two `---` lines at its top, with `ralph:` settings."""

from __future__ import annotations

import warnings
from difflib import get_close_matches
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_ralph.options import FRONT_MATTER as IN_FRONT_MATTER
from pytest_ralph.settings import RUN_WIDE, SETTINGS
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# What a `ralph:` mapping may set. Options that are set for a whole run get a warning there.
SETTING_KEYS = tuple(
    option.name for option in SETTINGS if IN_FRONT_MATTER in option.where or option.name in RUN_WIDE
)
# Parsing YAML is slow, and nobody writes longer front matter by hand.
MAX_CHARACTERS = 20_000
# A few lines of aliases to aliases can stand for more values than there is memory.
MAX_VALUES = 10_000
FRONT_MATTER = regex(r"\ufeff?---[ \t]*\r?\n(?P<body>(?:.*\n)*?)(?:---|\.\.\.)[ \t]*(?:\r?\n|$)")
_LIKE_A_KEY = regex(r"\s*[\w-]+:(?:\s|$)")

_NOT_COMMANDS = "`ralph: verify:` must map ids, markers or phases to commands"
_MERGED = "`ralph: verify:` must be written out, not merged in with `<<`"


class FrontMatterError(Exception):
    """Front matter that cannot be used; `line` is its line in the file."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


class FrontMatter(NamedTuple):
    """The data of the front matter and the settings in it, by their names on the command line.

    `lines` is the number of lines it takes, both `---` included, and 0 where there is none. If it
    cannot be used, `error` says why and there is no data.
    """

    lines: int = 0
    data: Mapping[str, Any] = {}
    settings: Mapping[str, Any] = {}
    setting_lines: Mapping[str, int] = {}
    total_line: int = 1
    error: FrontMatterError | None = None


def read_front_matter(source: str) -> FrontMatter:
    """Return the front matter of a Markdown text."""
    if not source.startswith(("---", "\ufeff---")):
        return FrontMatter()
    found = FRONT_MATTER.match(source)
    if found is None:
        return FrontMatter()
    body = found["body"]
    lines = body.count("\n") + 2
    try:
        return _read(body.removesuffix("\n"), lines)
    except FrontMatterError as error:
        return FrontMatter(lines, error=error)


def _read(text: str, lines: int) -> FrontMatter:
    """Read the text between the two `---`; what is no mapping is not front matter."""
    if len(text) > MAX_CHARACTERS:
        if not _LIKE_A_KEY.match(text):
            # Prose between two rules: a document may start with one.
            return FrontMatter()
        message = (
            f"front matter of {len(text):,} characters is too long, at most {MAX_CHARACTERS:,}"
        )
        raise FrontMatterError(1, message)
    loaded = _load(text)
    if loaded is None:
        return FrontMatter(lines)
    if not isinstance(loaded, dict):
        return FrontMatter()

    settings, setting_lines = _settings(loaded)
    if settings.get("verify"):
        settings["verify"] = _commands(text, setting_lines["verify"])
    total_line = _line_of(loaded, "total_tasks")
    return FrontMatter(lines, _plain(loaded), settings, setting_lines, total_line)


def _load(text: str) -> Any:
    """Parse YAML. Raise FrontMatterError, with the line, if it is malformed."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError

    yaml = YAML(typ="rt", pure=True)
    yaml.allow_duplicate_keys = True
    try:
        with warnings.catch_warnings():
            # It warns about anchors that are defined twice.
            warnings.simplefilter("ignore")
            return yaml.load(text)
    except Exception as error:
        # Odd tags make it raise errors of many types: KeyError, AttributeError, IndexError.
        line = 2
        problem = str(error) or type(error).__name__
        if isinstance(error, MarkedYAMLError):
            mark = error.problem_mark or error.context_mark
            line = (mark.line if mark else 0) + 2
            problem = error.problem or problem
        message = " ".join(problem.split())[:200]
        raise FrontMatterError(line, f"malformed front matter: {message}") from None


def _commands(text: str, line: int) -> dict[str, str | list[str]]:
    """Return `ralph: verify:` with its keys as written: in YAML, 1.1 and 1.10 are one number.

    `line` is where the setting stands.
    """
    from ruamel.yaml import YAML

    node = YAML(pure=True).compose(text)
    for name in ("ralph", "verify"):
        found = [value for key, value in _members(node, line) if key.value == name]
        if not found:
            raise FrontMatterError(line, _MERGED)
        node = found[0]
    return {str(key.value): _command(value) for key, value in _members(node, line)}


def _members(node: Any, line: int) -> list[tuple[Any, Any]]:
    """Return the keys and values of a mapping; an ordered map (`!!omap`) is written as a list."""
    if not all(isinstance(member, tuple) for member in node.value):
        raise FrontMatterError(line, _NOT_COMMANDS)
    members: list[tuple[Any, Any]] = node.value
    return members


def _command(node: Any) -> str | list[str]:
    """Return one command, or a list of them."""
    if isinstance(node.value, str):
        return node.value
    commands: list[str] = []
    for part in node.value:
        command = getattr(part, "value", None)
        if not isinstance(command, str):
            raise FrontMatterError(node.start_mark.line + 2, _NOT_COMMANDS)
        commands.append(command)
    return commands


def _settings(data: Any) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the settings by their names on the command line, and the line of each."""
    settings = data.get("ralph")
    if settings is None:
        return {}, {}
    if not isinstance(settings, dict):
        message = "`ralph:` in the front matter must be a mapping of settings"
        raise FrontMatterError(_line_of(data, "ralph"), message)

    values: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for key, value in settings.items():
        name = str(key).replace("_", "-")
        line = _line_of(settings, key)
        if name not in SETTING_KEYS:
            raise FrontMatterError(line, _unknown_key(str(key)))
        if name == "verify" and not isinstance(value, dict):
            raise FrontMatterError(line, _NOT_COMMANDS)
        values[name] = _plain(value)
        lines[name] = line

    return values, lines


def _unknown_key(key: str) -> str:
    close = get_close_matches(key.replace("_", "-"), SETTING_KEYS, 1)
    hint = f"did you mean `{close[0]}`?" if close else f"known keys: {', '.join(SETTING_KEYS)}"
    return f"unknown key `{key}` under `ralph:`; {hint}"


def _line_of(mapping: Any, key: Any) -> int:
    """Return the line of a key in the file; the text of the front matter starts on line 2."""
    try:
        return int(mapping.lc.key(key)[0]) + 2
    except (AttributeError, KeyError, TypeError):
        return 2


def _plain(value: Any) -> Any:
    """Return YAML's own types as Python's, so that specs can be compared and sent to workers."""
    try:
        return _converted(value, count(1))
    except RecursionError:
        raise FrontMatterError(2, "front matter refers to itself") from None


def _converted(value: Any, numbers: Iterator[int]) -> Any:
    """Convert a value, and those in it; `numbers` counts them."""
    if next(numbers) > MAX_VALUES:
        raise FrontMatterError(2, f"front matter of more than {MAX_VALUES:,} values")
    if isinstance(value, dict):
        return {str(key): _converted(item, numbers) for key, item in value.items()}
    if isinstance(value, list):
        return [_converted(item, numbers) for item in value]
    if value is None:
        return None
    for plain in (bool, int, float):
        if isinstance(value, plain):
            return plain(value)
    return str(value)
