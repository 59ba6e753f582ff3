"""The Findings of a spec: what is wrong with it, each with its line, found without running anything."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_ralph.spec.order import is_e2e_startup, plan
from pytest_ralph.text.github import annotation
from pytest_ralph.verify.hazards import hazards

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import PurePath

    from pytest_ralph.spec.document import Spec
    from pytest_ralph.spec.plan_problems import PlanProblem
    from pytest_ralph.spec.task import Task

Severity = Literal["error", "warning"]

# Of the reader's and the planner's problems: those that do not make a run wrong.
_ONLY_WARNINGS = frozenset({"wrong-total"})
_PLAN_CODES = {
    "circular_dependency": "cycle",
    "plan_invalid": "unknown-dependency",
    "file_conflict": "shared-file",
}
_ABSOLUTE = re.compile(r"/|~|[A-Za-z]:[\\/]|\\\\")


@dataclass(frozen=True, order=True, slots=True)
class Finding:
    """One thing that is wrong. `code` is a stable name for it, `severity` `error` or `warning`."""

    line: int
    code: str
    message: str
    severity: Severity = "warning"


def lint(spec: Spec, plan_problems: Iterable[PlanProblem] | None = None) -> tuple[Finding, ...]:
    """Everything that is wrong with `spec`, by line. Without `plan_problems` the plan is made here."""
    problems = plan(spec.tasks).problems if plan_problems is None else plan_problems
    lines = spec.source.splitlines()
    found = [
        Finding(each.line, each.code, each.message, _severity(each.code)) for each in spec.problems
    ]
    found += [
        Finding(each.line, _PLAN_CODES[each.kind], each.message, "error") for each in problems
    ]
    for task in spec.tasks:
        found += _of_task(task, lines)
    return tuple(sorted(dict.fromkeys(found)))


def _severity(code: str) -> Severity:
    return "warning" if code in _ONLY_WARNINGS else "error"


def _of_task(task: Task, lines: list[str]) -> Iterator[Finding]:
    # A fix is verified by its original's Verify, and written by us.
    if task.fix_for is not None:
        return
    at = _line_of_field(task, lines, "verify")
    if task.verify.checks:
        yield from _of_checks(task, lines)
    elif task.verify.manual:
        yield Finding(
            at, "manual", f"{task.id}: nobody but a person can check this: {task.verify.manual}"
        )
    else:
        yield Finding(
            task.line,
            "no-verify",
            f"{task.id}: no Verify field, so nothing tells whether it is done",
        )
    if outside := [file for file in task.files if _leaves(file)]:
        more = f" and {len(outside) - 1} more" if len(outside) > 1 else ""
        where = _line_of_field(task, lines, "files")
        yield Finding(
            where,
            "outside-project",
            f"{task.id}: Files names a path outside the project: {outside[0]}{more}",
        )


def _leaves(file: str) -> bool:
    return (
        bool(_ABSOLUTE.match(file))
        or posixpath.normpath(file.replace("\\", "/")).split("/")[0] == ".."
    )


def _of_checks(task: Task, lines: list[str]) -> Iterator[Finding]:
    for check in task.verify.checks:
        line = _line_of_text(task, lines, check.command)
        for hazard in hazards(check, starts_service=is_e2e_startup(task)):
            severity: Severity = "error" if hazard.severe else "warning"
            yield Finding(line, hazard.code, f"{task.id}: {hazard.message}", severity)


def _line_of_field(task: Task, lines: list[str], name: str) -> int:
    pattern = re.compile(rf"^[\s*+_-]*{name}\w*\b[^:]{{0,40}}:", re.IGNORECASE)
    return next(
        (number for number, line in _own_lines(task, lines) if pattern.match(line)), task.line
    )


def _line_of_text(task: Task, lines: list[str], text: str) -> int:
    """Where a command is written; commands of several lines are found by their first."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    written = (number for number, line in _own_lines(task, lines) if first and first in line)
    return next(written, _line_of_field(task, lines, "verify"))


def _own_lines(task: Task, lines: list[str]) -> list[tuple[int, str]]:
    return list(enumerate(lines[task.line - 1 : task.end_line], task.line))


def format_text(finding: Finding, path: PurePath | str) -> str:
    return (
        f"{path}:{finding.line}: {finding.severity}: {_one_line(finding.message)} [{finding.code}]"
    )


def format_github(finding: Finding, path: PurePath | str) -> str:
    """A workflow command that GitHub shows as an annotation of the line."""
    message = _one_line(finding.message)
    title = f"ralph: {finding.code}"
    return annotation(finding.severity, message, file=path, line=finding.line, title=title)


def _one_line(text: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069]+", " ", text)
