"""One Task of a spec, and whether it starts or ends the services of an end-to-end test."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.model import NO_VERIFY, Verify

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_FIX_MARKER = regex(r"(?:FIX|SPLIT)\s+(\S+)", re.IGNORECASE)


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
        for marker in self.markers:
            first_word = marker.split(maxsplit=1)[:1]
            if first_word and first_word[0].upper() in names:
                return True
        return False

    @property
    def parallel(self) -> bool:
        return self.has_marker("P") and not self.has_marker("VERIFY", "SEQUENTIAL")

    @cached_property
    def fix_for(self) -> str | None:
        """The id this task is a fix (or a split part) of."""
        for marker in self.markers:
            match = _FIX_MARKER.fullmatch(marker.strip())
            if match:
                return match[1]
        return None

    @property
    def heading(self) -> str:
        return f"{self.id} {self.title}".strip()

    def moved(self, lines: int) -> Task:
        """Return the same task, further down by this many lines."""
        # An insertion moves all tasks below it. dataclasses.replace takes several times as long.
        values = self.__dict__.copy()
        values["line"] += lines
        values["end_line"] += lines
        task = object.__new__(Task)
        object.__setattr__(task, "__dict__", values)
        return task


def is_same_task(now: Task, before: Task, all_before: Iterable[Task]) -> bool:
    """Return whether two tasks with the same id are one task, perhaps edited in between.

    `all_before` are all the tasks that there were before.
    """
    if now.title == before.title:
        return True
    if not now.verify.text or now.verify.text != before.verify.text:
        return False
    # Many tasks have the same Verify: one that had another id may have this one now.
    return all(task.title != now.title or task.name == now.name for task in all_before)


_E2E_STEP = regex(
    r"\be2e\b.*?\b(?:(?P<startup>start(?:-?up)?|set-?up)|(?P<cleanup>clean-?up|tear-?down)"
    r"|check|test|verif\w*)\b",
    re.IGNORECASE,
)
_STARTUP_ID = regex(r"(?:.*\.)?VE-?1", re.IGNORECASE)
_CLEANUP_ID = regex(r"(?:.*\.)?VE-?3", re.IGNORECASE)


def is_e2e_startup(task: Task) -> bool:
    """Return whether the processes that a task starts have to outlive it."""
    step = _e2e_step(task)
    if step is None:
        return _STARTUP_ID.fullmatch(task.id) is not None
    return step["startup"] is not None


def is_e2e_cleanup(task: Task) -> bool:
    """Return whether a task has to run whatever failed before it."""
    if task.has_marker("CLEANUP"):
        return True
    step = _e2e_step(task)
    if step is None:
        return _CLEANUP_ID.fullmatch(task.id) is not None
    return step["cleanup"] is not None


def _e2e_step(task: Task) -> re.Match[str] | None:
    """Return which step of an end-to-end test the title names, if it names one."""
    if task.fix_for is not None:
        # The title of a fix quotes an error, which may name anything.
        return None
    if "e2e" not in task.title.lower():
        # Compiling the pattern takes longer than looking for the word in a thousand titles.
        return None
    return _E2E_STEP.search(task.title)
