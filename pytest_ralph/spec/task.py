"""One Task of a spec."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_ralph.verify.model import NO_VERIFY, Verify

if TYPE_CHECKING:
    from collections.abc import Mapping


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
    verify: Verify = NO_VERIFY
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

    def moved(self, lines: int) -> Task:
        """Return the same task, further down by this many lines."""
        # An insertion moves all tasks below it, and dataclasses.replace takes five times as long.
        task = object.__new__(Task)
        task.__dict__.update(self.__dict__, line=self.line + lines, end_line=self.end_line + lines)
        return task


def is_same_task(left: Task, right: Task) -> bool:
    """Return whether two tasks with the same id are one task, perhaps edited in between."""
    if left.title == right.title:
        return True
    return bool(left.verify.text) and left.verify.text == right.verify.text
