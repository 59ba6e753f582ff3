"""The nouns of a spec: a Task, its Verify field, the Checks in it and what each Expects."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

Stream = Literal["exit", "stdout", "stderr"]


class OneOf(tuple[int | float | str, ...]):
    """The values of an `in` expectation, shown as a list, the way JSON and people write them."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(list(self))


class Expect(NamedTuple):
    """One expectation on how a command ended or on what it printed."""

    stream: Stream
    op: str
    value: int | float | str | tuple[int | float | str, ...] | None = None

    def __str__(self) -> str:
        name = {"exit": "exit status", "stdout": "stdout", "stderr": "stderr"}[self.stream]
        return f"{name} {self.op}" if self.value is None else f"{name} {self.op} {self.value!r}"


class Check(NamedTuple):
    """One command of a Verify field. No expectation means: exit status 0."""

    command: str
    expect: tuple[Expect, ...] = ()
    directory: str | None = None

    @property
    def reads_output(self) -> bool:
        return any(expect.stream != "exit" for expect in self.expect)


class Verify(NamedTuple):
    """A Verify field as a careful person reads it. `text` is the field exactly as written."""

    checks: tuple[Check, ...] = ()
    mode: Literal["all", "any"] = "all"
    manual: str | None = None
    text: str = ""


UNSAID = Verify()


@dataclass(frozen=True)
class Task:
    """One task of a spec, with the lines it occupies (1-based, end inclusive)."""

    id: str
    title: str
    checked: bool = False
    markers: tuple[str, ...] = ()
    phase: str = ""
    line: int = 1
    end_line: int = 1
    fields: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    verify: Verify = UNSAID
    # `1.3~2` where the id occurs twice; the node name of the item.
    name: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.id)

    def has_marker(self, *names: str) -> bool:
        return any(marker.split()[0].upper() in names for marker in self.markers if marker.strip())

    @property
    def parallel(self) -> bool:
        return self.has_marker("P") and not self.has_marker("VERIFY", "SEQUENTIAL")

    @cached_property
    def fix_for(self) -> str | None:
        """The id this task is a fix (or a split part) of."""
        for marker in self.markers:
            if match := re.fullmatch(r"(?:FIX|SPLIT)\s+(\S+)", marker.strip(), re.IGNORECASE):
                return match[1]
        return None

    @property
    def heading(self) -> str:
        return f"{self.id} {self.title}".strip()
