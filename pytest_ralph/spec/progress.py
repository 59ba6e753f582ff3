"""The text of a `.progress.md`: completed tasks, the history of fixes, and learnings.

These functions map text to text and keep every line that is not theirs.
"""

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
# In the order in which a file has them.
SECTIONS = (COMPLETED, HISTORY, LEARNINGS)


_FENCE = regex(r" {0,3}(`{3,}|~{3,})")
_HEADING = regex(r"(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_COMPLETED_ENTRY = regex(r"[-*+] \[[xX]\] (\S+)")
_BULLET = regex(r"[-*+][ \t]+(?:\[.\][ \t]+)?(.*)")


class _Section(NamedTuple):
    """The indexes of the line of a heading and of the first line behind its section."""

    start: int
    end: int


def completed(text: str, task_id: str, title: str, commit: str | None = None) -> str:
    """Add a completed task, with its commit if there is one; an entry keeps its commit."""
    entry = f"- [x] {task_id} {title}".rstrip()
    if commit:
        entry += f" - {commit}"
    known = re.compile(rf"[-*+] \[.\] {re.escape(task_id)}(?=\s|$)")
    return _with_entry(text, COMPLETED, known, entry, replace=bool(commit))


def reopened(text: str, task_id: str) -> str:
    """Remove the entry of a completed task."""
    lines = _lines(text)
    section = _find_section(lines, COMPLETED)
    if section is None:
        return text
    for number in range(section.start + 1, section.end):
        entry = _COMPLETED_ENTRY.match(lines[number])
        if entry and entry[1] == task_id:
            del lines[number]
            break
    return "".join(lines)


def completed_tasks(text: str) -> set[str]:
    """Return the ids of the completed tasks."""
    entries = [_COMPLETED_ENTRY.match(line) for line in _section_lines(text, COMPLETED)]
    return {entry[1] for entry in entries if entry}


def fixes(text: str, task_id: str, fix_ids: Sequence[str], final: str) -> str:
    """Add how the fixes of a task ended, or replace what is there about them."""
    known = re.compile(rf"[-*+] Task {re.escape(task_id)}:")
    entry = fix_history_entry(task_id, fix_ids, final)
    return _with_entry(text, HISTORY, known, entry, replace=True)


def fix_history_entry(task_id: str, fix_ids: Sequence[str], final: str) -> str:
    """Return the line of the fix history about one task."""
    count = "1 fix attempted" if len(fix_ids) == 1 else f"{len(fix_ids)} fixes attempted"
    return f"- Task {task_id}: {count} ({', '.join(fix_ids)}) - Final: {final}"


def learnings(text: str) -> list[str]:
    """Return each bullet or paragraph of the learnings as one line."""
    found: list[str] = []
    starts_paragraph = True
    for line in _section_lines(text, LEARNINGS):
        if not line.strip() or _HEADING.match(line.rstrip()):
            starts_paragraph = True
            continue
        bullet = _BULLET.match(line)
        if bullet:
            found.append(bullet[1].strip())
        elif not found or (starts_paragraph and not line[0].isspace()):
            found.append(line.strip())
        else:
            found[-1] += f" {line.strip()}"
        starts_paragraph = False
    return [learning for learning in found if learning and not learning.startswith("<!--")]


def _section_lines(text: str, heading: str) -> list[str]:
    lines = _lines(text.lstrip("\ufeff"))
    section = _find_section(lines, heading)
    return [] if section is None else lines[section.start + 1 : section.end]


def _with_entry(
    text: str, heading: str, known: re.Pattern[str], entry: str, *, replace: bool
) -> str:
    """Return the text with the entry in its section, in place of a known one if `replace`."""
    content = text.lstrip("\ufeff")
    mark = text[: len(text) - len(content)]
    eol = "\r\n" if "\r\n" in content else "\n"
    lines = _lines(content) or [f"{TITLE}\n"]
    section = _find_section(lines, heading)
    if section is None:
        return mark + _with_section(lines, heading, entry, eol)

    for number in range(section.start + 1, section.end):
        line = lines[number]
        if known.match(line):
            if replace:
                lines[number] = entry + line[len(line.rstrip("\r\n")) :]
            return mark + "".join(lines)
    return mark + _insert(lines, _end_of_content(lines, section), [entry], eol)


def _with_section(lines: Sequence[str], heading: str, entry: str, eol: str) -> str:
    """Return the text with a new section before those that come after it, or at the end."""
    block = [f"## {heading}", entry]
    for later in SECTIONS[SECTIONS.index(heading) + 1 :]:
        section = _find_section(lines, later)
        if section is not None:
            is_separate = section.start == 0 or not lines[section.start - 1].strip()
            if not is_separate:
                block.insert(0, "")
            return _insert(lines, section.start, [*block, ""], eol)
    end = _end_of_content(lines, _Section(0, len(lines)))
    return _insert(lines, end, ["", *block], eol)


def _insert(lines: Sequence[str], at: int, new: Sequence[str], eol: str) -> str:
    """Return the lines with new ones before index `at`; the end of the file stays as it is."""
    if at == len(lines) and not lines[-1].endswith("\n"):
        return "".join(lines) + eol + eol.join(new)
    return "".join([*lines[:at], *(line + eol for line in new), *lines[at:]])


def _end_of_content(lines: Sequence[str], section: _Section) -> int:
    end = section.end
    while end > section.start and not lines[end - 1].strip():
        end -= 1
    return end if end > section.start else section.end


def _lines(text: str) -> list[str]:
    """Split the text at newlines only, and keep these."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _find_section(lines: Sequence[str], heading: str) -> _Section | None:
    start = -1
    for number, level, title in _headings(lines):
        if start >= 0 and level <= 2:
            return _Section(start, number)
        if start < 0 and level == 2 and title.casefold() == heading.casefold():
            start = number
    return None if start < 0 else _Section(start, len(lines))


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield index, level and title of every heading that is not inside a fence."""
    number = 0
    while number < len(lines):
        # Most lines are neither headings nor fences.
        if lines[number].lstrip().startswith(("#", "`", "~")):
            heading = _HEADING.match(lines[number].rstrip())
            if heading:
                yield number, len(heading[1]), heading[2]
            number = _fence_end(lines, number)
        number += 1


def _fence_end(lines: Sequence[str], start: int) -> int:
    """Return the line that closes the fence opened on line `start`, or `start` if none does."""
    opened = _FENCE.match(lines[start])
    if opened is None:
        return start
    for end in range(start + 1, len(lines)):
        closed = _FENCE.match(lines[end])
        is_bare = not lines[end].strip().strip(opened[1][0])
        if closed and is_bare and closed[1].startswith(opened[1]):
            return end
    return start
