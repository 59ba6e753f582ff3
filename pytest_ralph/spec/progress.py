"""The text of a `.progress.md`: completed tasks, the history of fixes, and learnings.

These functions map text to text and keep every line that is not theirs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.text.listing import count
from pytest_ralph.text.markdown import closing_fence
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
# What the entries of a section look like, with the id of the task as a group.
_ENTRIES = {
    COMPLETED: regex(r"[-*+] \[.\] (\S+)"),
    HISTORY: regex(r"[-*+] Task (\S+?):"),
}
_BULLET = regex(r"[-*+][ \t]+(?:\[.\][ \t]+)?(.*)")


def completed(text: str, task_id: str, title: str, commit: str | None = None) -> str:
    """Add a completed task, with its commit if there is one; an entry keeps its commit."""
    entry = f"- [x] {task_id} {title}".rstrip()
    if commit:
        entry += f" - {commit}"
    return _with_entry(text, COMPLETED, task_id, entry, replace=bool(commit))


def reopened(text: str, task_id: str) -> str:
    """Remove the entry of a completed task."""
    progress = _ProgressLines(text)
    for number in progress.section(COMPLETED):
        entry = _COMPLETED_ENTRY.match(progress.lines[number])
        if entry and entry[1] == task_id:
            del progress.lines[number]
            break
    return progress.text()


def completed_tasks(text: str) -> set[str]:
    """Return the ids of the completed tasks."""
    progress = _ProgressLines(text)
    ids = set()
    for number in progress.section(COMPLETED):
        entry = _COMPLETED_ENTRY.match(progress.lines[number])
        if entry:
            ids.add(entry[1])
    return ids


def fixes(text: str, task_id: str, fix_ids: Sequence[str], final: str) -> str:
    """Add how the fixes of a task ended, or replace what is there about them."""
    entry = fix_history_entry(task_id, fix_ids, final)
    return _with_entry(text, HISTORY, task_id, entry, replace=True)


def fix_history_entry(task_id: str, fix_ids: Sequence[str], final: str) -> str:
    """Return the line of the fix history about one task."""
    attempted = count(len(fix_ids), "fix attempted", "fixes attempted")
    return f"- Task {task_id}: {attempted} ({', '.join(fix_ids)}) - Final: {final}"


def learnings(text: str) -> list[str]:
    """Return each bullet or paragraph of the learnings as one line."""
    progress = _ProgressLines(text)
    found: list[str] = []
    is_after_blank = True

    for number in progress.section(LEARNINGS):
        line = progress.lines[number]
        if not line.strip() or _HEADING.match(line.rstrip()):
            is_after_blank = True
            continue

        bullet = _BULLET.match(line)
        # An indented paragraph belongs to the bullet above it.
        starts_paragraph = is_after_blank and not line[0].isspace()
        if bullet:
            found.append(bullet[1].strip())
        elif starts_paragraph or not found:
            found.append(line.strip())
        else:
            found[-1] += f" {line.strip()}"
        is_after_blank = False

    shown = [learning for learning in found if not learning.startswith("<!--")]
    return list(filter(None, shown))


def _with_entry(text: str, heading: str, task_id: str, entry: str, *, replace: bool) -> str:
    """Return the text with the entry of a task.

    An older one stays unless it is to `replace` it, or has an empty box.
    """
    progress = _ProgressLines(text)
    if not progress.lines:
        progress.lines.append(f"{TITLE}\n")
    section = progress.section(heading)
    if not section:
        _add_section(progress, heading, entry)
        return progress.text()

    for number in section:
        line = progress.lines[number]
        # Looking for the id is faster than matching every entry of a long section.
        known = _ENTRIES[heading].match(line) if task_id in line else None
        if known is None or known[1] != task_id:
            continue
        if replace or line[2:5] == "[ ]":
            line_end = line[len(line.rstrip("\r\n")) :]
            progress.lines[number] = entry + line_end
        return progress.text()
    progress.insert(progress.end_of_content(section), [entry])
    return progress.text()


def _add_section(progress: _ProgressLines, heading: str, entry: str) -> None:
    """Add a section before those that come after it, or at the end."""
    new_lines = [f"## {heading}", entry]
    for later in SECTIONS[SECTIONS.index(heading) + 1 :]:
        section = progress.section(later)
        if not section:
            continue
        line_above = progress.lines[section.start - 1] if section.start else ""
        if line_above.strip():
            new_lines.insert(0, "")
        progress.insert(section.start, [*new_lines, ""])
        return
    whole_file = range(len(progress.lines))
    progress.insert(progress.end_of_content(whole_file), ["", *new_lines])


class _ProgressLines:
    """The lines of a `.progress.md`, each with its line end; a byte order mark is kept apart."""

    def __init__(self, text: str) -> None:
        content = text.lstrip("\ufeff")
        self._mark = text[: len(text) - len(content)]
        self._line_end = "\r\n" if "\r\n" in content else "\n"
        # Split at newlines only: str.splitlines splits at other characters too.
        self.lines: list[str] = re.findall(r"[^\n]*\n|[^\n]+", content)

    def text(self) -> str:
        return self._mark + "".join(self.lines)

    def insert(self, at: int, new_lines: Sequence[str]) -> None:
        """Insert lines before index `at`; whether the file ends with a newline stays as it is."""
        added = [line + self._line_end for line in new_lines]
        is_at_end = at == len(self.lines)
        if is_at_end and not self.lines[-1].endswith("\n"):
            self.lines[-1] += self._line_end
            added[-1] = new_lines[-1]
        self.lines[at:at] = added

    def section(self, heading: str) -> range:
        """Return the indexes of a section, heading included; they are empty without one."""
        start = None
        for number, level, title in self._headings():
            if level > 2:
                continue
            if start is not None:
                return range(start, number)
            if level == 2 and title.casefold() == heading.casefold():
                start = number
        if start is None:
            return range(0)
        return range(start, len(self.lines))

    def end_of_content(self, section: range) -> int:
        """Return the index behind the last line of a section that is not blank."""
        for number in reversed(section):
            if self.lines[number].strip():
                return number + 1
        return section.stop

    def _headings(self) -> Iterator[tuple[int, int, str]]:
        """Yield index, level and title of every heading that is not inside a fence."""
        fenced_until = -1
        for number, line in enumerate(self.lines):
            # Most lines are neither headings nor fences.
            if number <= fenced_until or not line.lstrip().startswith(("#", "`", "~")):
                continue
            heading = _HEADING.match(line.rstrip())
            fence = _FENCE.match(line)
            if heading:
                yield number, len(heading[1]), heading[2]
            elif fence:
                end = closing_fence(self.lines, number + 1, fence[1])
                # One that is never closed fences nothing.
                fenced_until = number if end is None else end
