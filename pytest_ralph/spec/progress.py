"""`.progress.md`: what is done, what was fixed, what was learnt. Text to text; every line not ours stays as it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TITLE = "# Progress"
COMPLETED = "Completed Tasks"
HISTORY = "Fix Task History"
LEARNINGS = "Learnings"

PASS = "PASS"  # noqa: S105 - a verdict, not a password
MAX_LIMIT = "FAIL (max limit)"
MAX_DEPTH = "FAIL (max depth)"
CIRCULAR = "FAIL (circular)"
NOT_RETRYABLE = "FAIL (not retryable)"

_FENCE = regex(r" {0,3}(`{3,}|~{3,})")
_HEADING = regex(r"\ufeff?(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_DONE = regex(r"[-*+] \[[xX]\] (\S+)")
_BULLET = regex(r"[-*+][ \t]+(?:\[.\][ \t]+)?(.*)")


class _Section(NamedTuple):
    """Line numbers of a heading and of the first line after its section."""

    start: int
    end: int


def completed(text: str, task_id: str, title: str, commit: str | None = None) -> str:
    """Note a task as done, with the commit where there is one. A note that is there already keeps its commit."""
    entry = f"- [x] {task_id} {title}".rstrip() + (f" - {commit}" if commit else "")
    known = re.compile(rf"[-*+] \[.\] {re.escape(task_id)}(?=\s|$)")
    return _with_entry(text, COMPLETED, (HISTORY, LEARNINGS), known, entry, replace=bool(commit))


def completed_tasks(text: str) -> set[str]:
    """The ids of the tasks that are noted as done."""
    lines = _lines(text)
    section = _find(lines, COMPLETED)
    noted = (
        _DONE.match(line) for line in (lines[section.start + 1 : section.end] if section else ())
    )
    return {match[1] for match in noted if match}


def fixes(text: str, task_id: str, fix_ids: Sequence[str], final: str) -> str:
    """Note how the fixes of a task ended. One entry a task: a later end takes the place of the earlier one."""
    entry = fix_history_entry(task_id, fix_ids, final)
    known = re.compile(rf"[-*+] Task {re.escape(task_id)}:")
    return _with_entry(text, HISTORY, (LEARNINGS,), known, entry, replace=True)


def fix_history_entry(task_id: str, fix_ids: Sequence[str], final: str) -> str:
    """Return the line of the fix history about one task."""
    count = "1 fix attempted" if len(fix_ids) == 1 else f"{len(fix_ids)} fixes attempted"
    return f"- Task {task_id}: {count} ({', '.join(fix_ids)}) - Final: {final}"


def learnings(text: str) -> list[str]:
    """What earlier runs learnt: each bullet or paragraph of the section as one line."""
    lines = _lines(text)
    section = _find(lines, LEARNINGS)
    found: list[str] = []
    parted = True
    for line in lines[section.start + 1 : section.end] if section else ():
        if not line.strip() or _HEADING.match(line.rstrip()):
            parted = True
            continue
        bullet = _BULLET.match(line)
        if bullet or not found or (parted and not line[0].isspace()):
            found.append((bullet[1] if bullet else line).strip())
        else:
            found[-1] += f" {line.strip()}"
        parted = False
    return [learning for learning in found if learning and not learning.startswith("<!--")]


def _with_entry(
    text: str,
    heading: str,
    before: Sequence[str],
    known: re.Pattern[str],
    entry: str,
    *,
    replace: bool,
) -> str:
    if text.startswith("\ufeff"):
        rest = text.lstrip("\ufeff")
        return text[: len(text) - len(rest)] + _with_entry(
            rest, heading, before, known, entry, replace=replace
        )
    eol = "\r\n" if "\r\n" in text else "\n"
    lines = _lines(text) or [f"{TITLE}\n"]
    section = _find(lines, heading)
    if section is None:
        return _with_section(lines, [f"## {heading}", entry], before, eol)
    for at in range(section.start + 1, section.end):
        if known.match(lines[at]):
            if replace:
                lines[at] = entry + lines[at][len(lines[at].rstrip("\r\n")) :]
            return "".join(lines)
    return _insert(lines, _after_content(lines, section), [entry], eol)


def _with_section(
    lines: Sequence[str], block: Sequence[str], before: Sequence[str], eol: str
) -> str:
    """The block in front of the first of these sections, or at the end, a blank line on either side."""
    places = [section.start for heading in before if (section := _find(lines, heading))]
    if not places:
        return _insert(lines, _after_content(lines, _Section(0, len(lines))), ["", *block], eol)
    at = min(places)
    parted = at == 0 or not lines[at - 1].strip()
    return _insert(lines, at, [*([] if parted else [""]), *block, ""], eol)


def _insert(lines: Sequence[str], at: int, new: Sequence[str], eol: str) -> str:
    """The lines with new ones before line `at`. A file that ends without a line end still does."""
    if at == len(lines) and not lines[-1].endswith("\n"):
        return "".join(lines) + eol + eol.join(new)
    return "".join([*lines[:at], *(line + eol for line in new), *lines[at:]])


def _after_content(lines: Sequence[str], section: _Section) -> int:
    return max(
        (at + 1 for at in range(section.start, section.end) if lines[at].strip()),
        default=section.end,
    )


def _lines(text: str) -> list[str]:
    """Lines with their ends, parted at newlines and nowhere else."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _find(lines: Sequence[str], heading: str) -> _Section | None:
    headings = list(_headings(lines))
    for place, (at, level, title) in enumerate(headings):
        if level == 2 and title.casefold() == heading.casefold():
            later = (start for start, depth, _ in headings[place + 1 :] if depth <= level)
            return _Section(at, next(later, len(lines)))
    return None


# Of headings and fences: most lines are neither, and need no closer look.
_MARKS = ("#", "`", "~", "\ufeff")


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Line, level and title of every heading that is not inside a fence."""
    at = 0
    while at < len(lines):
        if not lines[at].lstrip().startswith(_MARKS):
            at += 1
            continue
        if heading := _HEADING.match(lines[at].rstrip()):
            yield at, len(heading[1]), heading[2]
        at = _fence_end(lines, at) + 1


def _fence_end(lines: Sequence[str], at: int) -> int:
    """The line that closes the fence opened on line `at`; `at` itself where nothing is opened, or never closed."""
    opened = _FENCE.match(lines[at])
    if opened is None:
        return at
    for end in range(at + 1, len(lines)):
        closed = _FENCE.match(lines[end])
        if (
            closed
            and closed[1].startswith(opened[1])
            and not lines[end].strip().strip(opened[1][0])
        ):
            return end
    return at
