"""Which tasks a task says it depends on, in a field or in its title."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.spec.plan_problems import PlanProblem, unknown_dependency
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ralph.spec.task import Task

_NOTHING = regex(r"(?:none|nothing|no|n/?a|[-–—]|∅)\b.*|[-–—]|∅", re.IGNORECASE)
_IN_TITLE = regex(r"\((?:depends on|after):?\s+([^()]+)\)", re.IGNORECASE)
_PHASE = regex(r"\bphases?\s+\S+", re.IGNORECASE)
_SEPARATOR = regex(r"[,;&+\n]|\band\b", re.IGNORECASE)
# What surrounds an id: `- [ ] Task 1.3 (parser)`.
_DECORATION = regex(
    r"^(?:[-*]\s+)?(?:\[.\]\s+)?(?:tasks?\s+)?|\s*\(.*\)\s*$|[`*_\"']", re.IGNORECASE
)
_WORD = regex(r"[^\s,;`'\"()\[\]*&+]+")
# A part of more characters is prose.
_LONGEST_NAME = 300
# What can only be the id of a task: a number with dots, or capitals with a number.
_LOOKS_LIKE_ID = regex(r"\d+(?:\.\w+)+|[A-Z]{1,3}-?[A-Z]?\d+(?:\.\d+)*[A-Z]?")


def read_dependencies(
    tasks: Sequence[Task],
) -> tuple[dict[str, tuple[str, ...]], list[PlanProblem]]:
    """Return the names that tasks say they depend on, and the ids among them that do not exist."""
    names: dict[str, str] = {}
    for task in tasks:
        names.setdefault(task.id, task.name)
        names.setdefault(task.name, task.name)

    explicit: dict[str, tuple[str, ...]] = {}
    problems: list[PlanProblem] = []
    for task in tasks:
        text = _dependency_text(task)
        if text is None:
            continue
        known, unknown = _read_ids(text, names)
        problems += [unknown_dependency(task, name) for name in unknown]
        if known or _NOTHING.fullmatch(text.strip()):
            explicit[task.name] = known
    return explicit, problems


def _dependency_text(task: Task) -> str | None:
    """Return what a task writes about its dependencies, in a field or in its title."""
    field = task.fields.get("Depends on")
    if field is not None:
        return field
    if task.fix_for is not None:
        # The title of a fix quotes an error.
        return None
    in_title = _IN_TITLE.search(task.title)
    return in_title[1] if in_title else None


def _read_ids(text: str, names: Mapping[str, str]) -> tuple[tuple[str, ...], list[str]]:
    """Return the tasks a text names, and the ids in it that no task has.

    Everything else (`Python 3.12`, `Phase 2`) is prose.
    """
    known: list[str] = []
    unknown: list[str] = []
    for part in _SEPARATOR.split(_PHASE.sub(" ", text)):
        tasks = [_task_name(word, names) for word in _WORD.findall(part)]
        found = list(filter(None, tasks))
        if found:
            known += found
            continue
        if len(part) > _LONGEST_NAME:
            continue
        bare = _DECORATION.sub("", part.strip()).strip().rstrip(".:")
        if _LOOKS_LIKE_ID.fullmatch(bare):
            unknown.append(bare)
    return tuple(dict.fromkeys(known)), unknown


def _task_name(word: str, names: Mapping[str, str]) -> str:
    """Return the task that a word names; `1` and `1.` are the same id."""
    bare = word.rstrip(".:")
    for name in (word, bare, f"{bare}."):
        if name in names:
            return names[name]
    return ""
