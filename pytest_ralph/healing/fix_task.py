"""Failure → fix task: the Markdown that asks for a failure to be fixed.

The fields of the original (Files, Verify) are copied as written. Text of the failure comes from
outside and is made inert, so that no error message can add a task, a field or a command.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_ralph.failure.failure import NO_ERROR, NO_FIX
from pytest_ralph.failure.wording import place_of, shorten, title, tool_hint
from pytest_ralph.healing.errors import FixTaskError
from pytest_ralph.spec.edit import shifted
from pytest_ralph.text.inert import markdown, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.fixing.templating import Templates
    from pytest_ralph.spec.task import Task

NO_PREVIOUS_FIX = "No previous fix attempted"
NO_VERIFY = "echo 'Verify manually'"
NO_SCOPE = "recovery"
NO_TYPE = "error"
SUMMARY_LENGTH = 50

# The words of an error are more specific than its kind.
_TYPES_BY_TEXT = {
    "missing file": re.compile(
        r"file not found|no such file|enoent|filenotfounderror", re.IGNORECASE
    ),
    "syntax": re.compile(
        r"syntax\s?error|parse error|unexpected (?:token|indent)|invalid syntax", re.IGNORECASE
    ),
}
_TYPES_BY_KIND = {
    "unknown": NO_TYPE,
    "dependency_missing": "missing dependency",
    "command_not_found": "missing command",
    "typecheck_error": "type error",
    "format_error": "formatting",
    "task_incomplete": "incomplete task",
}
_STARTS_A_BLOCK = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]|`{3}|~{3}|[|>]")
_MARKER_AT_END = re.compile(r"(\[(?:P|VERIFY|SEQUENTIAL|FIX|SPLIT)[^\[\]]*)\]$", re.IGNORECASE)
_NUMBERED = re.compile(r"(?P<indent>[ \t]*)\d{1,3}[.)][ \t]+")
_BULLETED = re.compile(r"(?P<indent>[ \t]*)[-*+][ \t]+")
_LIST_MARKER = re.compile(rf"{_NUMBERED.pattern}|[ \t]*[-*+][ \t]+")
_OPENING = re.compile(r"- \[ \] (\S+) (?:.* )?\[FIX (\S+)\]")


@dataclass(frozen=True)
class Derived:
    """The fields of a fix task, each with its fallback, ready to be put into a list item."""

    id: str
    task: str
    title: str
    summary: str
    error: str
    attempted_fix: str
    files: str
    verify: str
    expect: str
    timeout: str
    scope: str
    error_type: str
    kind: str
    guidance: str
    # Where to look, unless the error says it, and what the tool itself says to do; or empty.
    place: str
    hint: str


def make_fix_task(
    task: Task,
    failure: Failure,
    fix_id: str,
    *,
    spec_name: str = "",
    directory: str = ".",
    templates: Templates | None = None,
) -> str:
    """The block to insert for one failure, by the template of the project if it has one."""
    fields = derive(task, failure, fix_id, spec_name=spec_name, directory=directory)
    if templates is None or templates.project is None:
        return _fix_task(fields)
    values = {name: value.removeprefix(" ") for name, value in vars(fields).items()}
    block = templates.render("fixtask", failure.kind, **values)
    if block is None:
        return _fix_task(fields)
    block = block.strip("\n")
    if not is_fix_task(block, fix_id, task.id):
        start = f"- [ ] {fix_id} [FIX {task.id}]"
        raise FixTaskError(f"fix task template: must start with `{start}`")
    return block


def with_files(task: Task, names: Sequence[str]) -> Task:
    """The task with more files in its Files field."""
    if not names:
        return task
    listed = ", ".join(f"`{name}`" for name in names)
    files = task.fields.get("Files", "").rstrip()
    if files:
        separator = ", " if "\n" not in files else "\n"
        listed = f"{files}{separator}{listed}"
    return replace(task, fields={**task.fields, "Files": listed})


def derive(
    task: Task, failure: Failure, fix_id: str, *, spec_name: str = "", directory: str = "."
) -> Derived:
    error = one_line(failure.error)
    attempted = _attempted(task, failure)
    place = place_of(failure)
    if place in error:
        place = ""
    elif failure.failed_tests:
        place += " (change the code, not the test)"
    summary = markdown(title(failure)) if error else f"task {task.id} failure"
    return Derived(
        id=fix_id,
        task=task.id,
        title=task.title,
        summary=_MARKER_AT_END.sub(r"\1", summary),
        error=markdown(error) or NO_ERROR,
        attempted_fix=markdown(attempted),
        files=_field(task.fields.get("Files", "")) or _field(directory),
        verify=_field(task.verify.text) or _field(NO_VERIFY),
        expect=_field(task.fields.get("Expect", "")),
        timeout=_field(task.fields.get("Timeout", "")),
        scope=scope(spec_name),
        error_type=error_type(failure),
        kind=failure.kind,
        guidance=markdown(failure.guidance),
        place=markdown(one_line(place)),
        hint=markdown(one_line(tool_hint(failure))),
    )


def _attempted(task: Task, failure: Failure) -> str:
    """What was tried before, as the executor describes it; a fix of a fix had that one before."""
    attempted = one_line(failure.attempted_fix)
    if attempted not in ("", NO_FIX):
        return attempted
    if task.fix_for is None:
        return NO_PREVIOUS_FIX
    return f"fix {task.id} failed"


def scope(spec_name: str) -> str:
    """The scope of a commit: the spec's name in the letters a scope may have."""
    return re.sub(r"[\W_]+", "-", spec_name.lower()).strip("-") or NO_SCOPE


def error_type(failure: Failure) -> str:
    """The sort of error in two words that fit `address … from task 1.3`."""
    for name, pattern in _TYPES_BY_TEXT.items():
        if pattern.search(failure.error):
            return name
    return _TYPES_BY_KIND.get(failure.kind) or markdown(failure.kind.replace("_", " ")) or NO_TYPE


def steps(task: Task) -> tuple[str, ...]:
    """The numbered, or else bulleted, steps of the Do field, each with the lines below it."""
    text = task.fields.get("Do") or task.fields.get("Steps") or ""
    lines = text.split("\n")
    starts = _least_indented(lines, _NUMBERED) or _least_indented(lines, _BULLETED)
    found = []
    for start, end in pairwise([*starts, len(lines)]):
        first = _LIST_MARKER.sub("", lines[start], count=1)
        found.append("\n".join([first, *lines[start + 1 : end]]).rstrip())
    return tuple(found)


def _least_indented(lines: Sequence[str], marker: re.Pattern[str]) -> list[int]:
    """The numbers of the lines that start with a list marker, without those of inner lists."""
    indents = {}
    for number, line in enumerate(lines):
        match = marker.match(line)
        if match:
            indents[number] = len(match["indent"])
    margin = min(indents.values(), default=0)
    return [number for number, indent in indents.items() if indent == margin]


def make_split_tasks(task: Task, first_id: str, *, timeout: float) -> dict[str, str]:
    """One block, by its id, per step of a task that takes too long, with a share of its time."""
    parts = steps(task)
    stem, _, number = first_id.rpartition(".")
    share = max(int(timeout // max(len(parts), 1)), 1)
    files = _field(task.fields.get("Files", ""))
    blocks = {}
    for at, part in enumerate(parts):
        part_id = f"{stem}.{int(number) + at}"
        lines = [
            f"- [ ] {part_id} [SPLIT {task.id}] {_part_title(part)}",
            f"  - **Do**:{_field(part)}",
        ]
        if files:
            lines.append(f"  - **Files**:{files}")
        lines.append(f"  - **Done when**: Step {at + 1} of {len(parts)} of task {task.id} is done")
        lines.append(f"  - **Timeout**: {share}")
        blocks[part_id] = "\n".join(lines)
    return blocks


def _fix_task(fields: Derived) -> str:
    to_do = [
        f"Analyze the failure: {fields.attempted_fix}",
        "Review related code in Files list",
        f"Implement fix for: {fields.error}",
    ]
    if fields.place:
        to_do.append(f"Look at: {fields.place}")
    if fields.hint:
        to_do.append(f"The tool says: {fields.hint}")
    lines = [
        f"- [ ] {fields.id} [FIX {fields.task}] Fix: {fields.summary}",
        f"  - **Do**: Address the error: {fields.error}",
    ]
    lines.extend(f"    {number}. {step}" for number, step in enumerate(to_do, 1))
    lines.append(f"  - **Files**:{fields.files}")
    lines.append(f'  - **Done when**: Error "{fields.error}" no longer occurs')
    lines.append(f"  - **Verify**:{fields.verify}")
    if fields.expect:
        lines.append(f"  - **Expect**:{fields.expect}")
    if fields.timeout:
        lines.append(f"  - **Timeout**:{fields.timeout}")
    commit = f"fix({fields.scope}): address {fields.error_type} from task {fields.task}"
    lines.append(f"  - **Commit**: `{commit}`")
    return "\n".join(lines)


def is_fix_task(block: str, fix_id: str, task_id: str) -> bool:
    """Whether a block from a template or a hook starts with the right id and marker."""
    opening = _OPENING.match(block)
    return opening is not None and opening.groups() == (fix_id, task_id)


def _field(text: str) -> str:
    """`text` as the value after `**Name**:`, on the lines below it if it must start a line."""
    first, *rest = text.rstrip().split("\n")
    if not rest and not first.strip():
        return ""
    if _STARTS_A_BLOCK.match(first):
        first, rest = "", [first, *rest]
    margin = next((_columns(line) for line in rest if line.strip()), 4)
    below = shifted(rest, 4 - margin) if margin != 4 else rest
    return "\n".join([f" {first.strip()}".rstrip(), *below])


def _columns(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(4))


def _part_title(step: str) -> str:
    title = one_line(step.partition("\n")[0])
    return _MARKER_AT_END.sub(r"\1", markdown(shorten(title, SUMMARY_LENGTH)))
