"""The table of kinds: one row per kind, read from kinds.yaml and from what a project adds to it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ralph.failure.failure import CATEGORIES, TYPES, Failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ACTIONS = ("rollback", "retry", "retry_once", "continue", "escalate")
OWN_TABLE = Path(__file__).with_name("kinds.yaml")


class KindsError(Exception):
    """A row that cannot be used; the message starts with the file and the line."""

    def __init__(self, path: Path, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}")
        self.path = path
        self.line = line
        self.message = message


@dataclass(frozen=True, slots=True)
class KindRow:
    """What is known about one kind; the comment in kinds.yaml explains the columns."""

    name: str
    type: str = "UNKNOWN"
    category: str | None = None
    retryable: bool = True
    action: str = "retry_once"
    capture: tuple[str, ...] = ()
    guidance: str = ""
    advice: tuple[str, ...] = ()
    symptoms: tuple[str, ...] = ()
    indicators: tuple[str, ...] = ()
    summary: str = "error"

    def as_failure(self, error: str) -> Failure:
        """Return a failure of this kind."""
        return Failure(self.name, self.type, self.category, self.retryable, error=error)


COLUMNS = frozenset(field.name for field in dataclasses.fields(KindRow)) - {"name"}
LISTS = frozenset({"capture", "advice", "symptoms", "indicators"})
ALLOWED: Mapping[str, tuple[object, ...]] = {
    "type": TYPES,
    "category": (*CATEGORIES, None),
    "retryable": (True, False),
    "action": ACTIONS,
}


class Kinds:
    """All rows by name. A kind without a row behaves like `unknown`."""

    def __init__(self, rows: Mapping[str, KindRow]) -> None:
        self._rows = dict(rows)
        # Rows of the project, each with only the indicators that it declares itself.
        self.added: list[KindRow] = []

    @classmethod
    def load(cls, extra: Path | None = None) -> Kinds:
        """Return our table, extended by that of a project. Raise KindsError for a bad row."""
        kinds = cls(_own_rows())
        if extra is None:
            return kinds
        for name, columns in _read_table(extra).items():
            _check_row(extra, name, columns)
            # Known kinds are changed column by column, new ones start from `unknown`.
            row = dataclasses.replace(kinds[name], **_as_columns(columns))
            kinds._rows[name] = row
            words = tuple(columns.get("indicators", ()))
            kinds.added.append(dataclasses.replace(row, indicators=words))
        return kinds

    def __getitem__(self, name: str) -> KindRow:
        return self._rows.get(name) or dataclasses.replace(self._rows["unknown"], name=name)

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[KindRow]:
        return iter(self._rows.values())


@lru_cache(maxsize=1)
def _own_rows() -> Mapping[str, KindRow]:
    from ruamel.yaml import YAML

    table = YAML(typ="safe").load(OWN_TABLE.read_text(encoding="utf-8"))
    return {name: KindRow(name, **_as_columns(row)) for name, row in table.items()}


def _read_table(path: Path) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        table = YAML(typ="rt", pure=True).load(path.read_text(encoding="utf-8"))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise KindsError(path, mark.line + 1 if mark else 1, error.problem or "not YAML") from error
    except (OSError, UnicodeError, YAMLError) as error:
        raise KindsError(path, 1, str(error).splitlines()[0]) from error
    if table is not None and not hasattr(table, "items"):
        raise KindsError(path, 1, "the table must be a mapping from kind to columns")
    return table or {}


def _check_row(path: Path, name: object, row: Any) -> None:
    if not isinstance(name, str) or not hasattr(row, "items"):
        line = row.lc.line if hasattr(row, "lc") else 0
        raise KindsError(path, line + 1, f"{name}: a kind must be a name that maps to columns")
    for column, value in row.items():
        problem = _problem(column, value)
        if problem:
            line, _ = row.lc.key(column)
            raise KindsError(path, line + 1, f"{name}: {problem}")


def _problem(column: str, value: object) -> str | None:
    """Return what is wrong with the value of a column."""
    if column not in COLUMNS:
        return f"unknown column {column!r} (known: {', '.join(sorted(COLUMNS))})"
    if column in ALLOWED:
        return _unlisted(column, value)
    if column not in LISTS:
        return None if isinstance(value, str) else f"{column} must be a string"
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return f"{column} must be a list of strings"
    return None


def _unlisted(column: str, value: object) -> str | None:
    """Return the values that are allowed in a column if this one is not."""
    for allowed in ALLOWED[column]:
        # Compare types too: in Python `1 == True`.
        if type(value) is type(allowed) and value == allowed:
            return None
    choices = ", ".join(map(_as_yaml, ALLOWED[column]))
    return f"{column} must be one of {choices}, not {_as_yaml(value)}"


def _as_yaml(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _as_columns(row: Mapping[str, Any]) -> dict[str, Any]:
    columns = dict(row)
    for name in LISTS & columns.keys():
        columns[name] = tuple(map(str, columns[name]))
    return columns
