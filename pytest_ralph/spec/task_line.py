"""The line that names a task: its box, id, markers and title."""

from __future__ import annotations

import re
from typing import NamedTuple

from pytest_ralph.text.regex import regex

_BOX = regex(
    r"[ \t]*(?:[-*+]|(?P<number>\d{1,4}[.)]))[ \t]*(?:#{1,6}[ \t]+)?\[(?P<mark>[ xX~-]?)\]\*?[ \t]*"
    r"(?:#{1,6}[ \t]+)?(?P<text>.*)$"
)
# `- [x] ### Task 2.3` and `- ### [x] 2.3`: a list item that is a heading too.
BOXED_HEADING = regex(
    r"[ \t]*[-*+][ \t]*"
    r"(?:\[[ xX~-]?\][ \t]*(?P<behind>#{1,6})|(?P<before>#{1,6})[ \t]+\[[ xX~-]?\])[ \t]"
)
# `### - [x] Task 2.3`: a heading whose text is a list item.
_BULLET_BEFORE_BOX = regex(r"[-*+][ \t]+(?=\[[ xX]\])")
# `### T2: [x] Wire it up`, `### T2 `[ ]` Wire it up`: the box behind the id.
_MIDDLE_BOX = regex(r"([A-Za-z]{0,5}[ -]?\d[\w.-]{0,10}:?)[ \t]+`?(\[[ xX]\])`?[ \t]+")
# `**Task 1.1: Wire it up** ✅`: a line of its own, or a list item without a box.
_BOLD_TASK = regex(
    r" {0,3}(?:[-*+][ \t]+)?\*\*(?P<text>(?i:task)[ \t]+#?[A-Za-z]{0,4}-?\d[^*\n]*)\*\*"
    r"(?:[ \t]*(?:[✅✔☑✓:]|\ufe0f|\([^()\n]*\)|`[^`\n]*`))*[ \t]*$"
)
# `1. Wire it up`, `- **T1** Wire it up`, but not `- [ ] T1 Wire it up`
_PLAIN_ITEM = regex(r"(?:[-*+]|(?P<number>\d{1,4}[.)]))[ \t]+(?!\[[ xX~-]?\])(?P<text>\S.*)")
# A heading without a box is ticked off with one of these, in front or at the end.
_DONE = ("✅", "✔", "☑", "✓")
# 1 · 1.3 · 1.3.1 · 3.X · 6.B.7 · 6.0b · 2.1.fix1 · 1.3-fix; `1.5x` says how many times.
_LETTER = r"(?:(?![xX])[A-Za-z])?"
_PARTS = rf"(?:\.(?:\d{{1,6}}{_LETTER}|[A-Za-z]{{1,5}}\d{{0,4}}))"
_NUMBER = rf"\d{{1,6}}{_LETTER}(?:{_PARTS}+-[A-Za-z]\w{{0,11}}|{_PARTS}*)"
# T001 · T001A · V4 · V-P1 · VE1 · Q1.1 · TASK-08 · M31-T03
_LETTERED = rf"(?=[A-Z-]{{1,12}}\d)[A-Z][A-Z0-9]{{0,11}}(?:-[A-Z0-9]{{1,11}}){{0,3}}[a-z]?{_PARTS}*"
# A.1 · B.2.3: a section named by a letter
_SECTIONED = rf"[A-Z](?:\.\d{{1,2}}{_LETTER})+"
# V_final · VE-cleanup: a checkpoint with a word for a number
_CHECKPOINT = r"VE-\w{1,12}|V[A-Z]?[-_]\w{1,20}(?=[ \t]+\[)"
# A fix carries the id of its original whatever that is: TASK-08.1 [FIX TASK-08] · wire-it-up.1
_OF_A_FIX = regex(
    r"(?P<id>(?P<original>[^\s\[\]]*\w)\.\d+)(?=[ \t]+\[(?:FIX|SPLIT)[ \t]+(?P=original)\.?\])"
)
# Written by hand, with another marker between the two, or as the fix of another task.
_NAMED_FIX = r"\w[\w-]*(?:\.\d+)+(?=[ \t]+\[(?:FIX|SPLIT)[ \t])"
# Task-8: as written, other than `Task 8`
_NAMED_TASK = r"[Tt]ask-\d{1,6}[a-z]?"
_ID = regex(
    r"(?P<word>(?i:(?:sub-?)?task|step|cycle|story|item)[ \t]*#?[ \t]*)?"
    rf"(?P<id>{_NAMED_FIX}|{_NAMED_TASK}|{_NUMBER}|{_LETTERED}|{_SECTIONED}|{_CHECKPOINT}|VF|TX{{2,4}})"
    r"(?P<dot>\.(?=\s|\*|$))?"
    r"(?![\w/%+=<>]|[-–—.]\w|\.\d)"
)
# `T001-T004` speaks of several tasks.
_RANGE = regex(r"([A-Z]+-?)\d+-\1\d")
# [01-02] · [P7-001]: which phase and which of its tasks, only in brackets
_NUMBERED = regex(r"\[((?:[A-Z]{1,4}\d{1,3}|\d{2,3})-\d{2,4})\](?!\()")
# `T001` · `SP371-T001` between backticks; other names in code belong to the title.
_IN_CODE = regex(r"`((?:[A-Z][A-Z0-9]{0,11}-){0,3}(?:T|TASK)-?\d{1,6}[a-z]?)`(?=[ \t:*])")
_MARKER = regex(r"\[([A-Za-z][^\[\]\n]{0,80}|\?)\](?!\()")
_KNOWN_MARKER = r"\[(?:P|VERIFY|SEQUENTIAL|FIX [^\[\]\n]{1,40}|SPLIT [^\[\]\n]{1,40})\]"
_LAST_MARKERS = regex(rf"(?:[ \t]?{_KNOWN_MARKER})+$")
_LAST_MARKERS_REACH = 200
# `4.5 V1 [VERIFY] …`, `4.5 VE-LOGIN [VERIFY] …`: a second name before the markers.
_SECOND_NAME = regex(
    rf"(V[A-Z]?-?[A-Z]?\d{{0,3}}|V[A-Z]?[-_]\w{{1,20}})[ \t]+((?:{_KNOWN_MARKER}[ \t]*)+)"
)
# `1.1 .gitignore`, `1.2 ./deploy.sh`, `1.3 --verbose`: the title starts with its dot or dashes.
_TITLE_START = r"(?:(?<=[ \t])|(?<=[ \t]\*\*))(?:\.{1,2}[\w/]|--[a-z])"
_GLUE = regex(rf"(?:(?!{_TITLE_START})[ \t:–—|.)*~-])*")
# Bold, strikethrough, emoji; a code span or a file name belongs to the title.
_DECORATION = regex(r"[^\w\[\](){}<>\"'_`/\\.,;:!?@#$%^&+=|-]+")
_SURE_PREFIXES = ("T", "TASK", "Task", "task", "V", "VE", "VF", "V-P", "TX")
_SURE_STARTS = ("TX", "VE-", "V_", "V-")
# Requirements, criteria, priorities: never tasks by their name alone.
_CRITERIA = frozenset(
    "AC FR NFR NF SC US UC REQ R BR CR UR SR P H S EC TC INV RISK OQ ADR KPI SLO DOD".split()
)
# `**Q-3 answered**`: an open question; Q1.1 may be a task.
_QUESTION = regex(r"Q-?\d+")
# What a box calls itself that is a part of the task above it.
_STEP_WORDS = frozenset(("step", "subtask", "sub-task"))
_TASK_MARKERS = frozenset(("P", "VERIFY", "SEQUENTIAL", "FIX", "SPLIT", "RED", "GREEN", "YELLOW"))


class TaskLine(NamedTuple):
    """What one line says about a task.

    If `certain`, its id alone makes it a task; otherwise its fields decide.
    """

    id: str
    title: str
    checked: bool = False
    markers: tuple[str, ...] = ()
    certain: bool = False


class _Name(NamedTuple):
    """The parts of a line behind its box. `word` is `task` in `Task 1.3`."""

    id: str
    word: str
    is_bold: bool
    title: str
    markers: tuple[str, ...]

    @property
    def prefix(self) -> str:
        return _prefix(self.id)


def _prefix(task_id: str) -> str:
    """Return the letters before the number: `T` of T001, `V-P` of V-P1."""
    return re.sub(r"-?\d.*", "", task_id)


def read_checkbox(line: str) -> TaskLine | None:
    """Read a list item with a box."""
    box = _BOX.match(line)
    if box is None:
        return None
    name = _read_name(box["text"])
    task_id = name.id
    if not task_id and box["number"]:
        task_id = box["number"].rstrip(")")
    checked = box["mark"] in ("x", "X")
    return TaskLine(task_id, name.title, checked, name.markers, _is_certain(name))


def read_heading(line: str) -> TaskLine | None:
    """Read a heading that has an id or a box."""
    text = line.strip()
    if not text.startswith("#"):
        return None
    text = text.strip("#").strip()
    text = text[_past(_BULLET_BEFORE_BOX, text, 0) :]
    middle = _MIDDLE_BOX.match(text)
    if middle:
        # `T2: [x] Wire it up` becomes `[x] T2: Wire it up`.
        text = f"{middle[2]} {middle[1]} {text[middle.end() :]}"
    box = _heading_box(text)
    text = text.removeprefix(box).removesuffix(box).strip()
    name = _read_name(text)
    if box:
        checked = box in ("[x]", "[X]")
        certain = name.id != ""
        return TaskLine(name.id, name.title, checked, name.markers, certain)
    if not name.id:
        return None
    checked = text.startswith(_DONE) or text.rstrip("\ufe0f").endswith(_DONE)
    certain = _calls_itself_task(name)
    return TaskLine(name.id, name.title, checked, name.markers, certain)


def _calls_itself_task(name: _Name) -> bool:
    """Whether a name begins with the word "task" or has a marker that only tasks have."""
    if name.word.endswith("task"):
        return True
    words = {marker.split()[0].upper() for marker in name.markers}
    return not words.isdisjoint(_TASK_MARKERS)


def _heading_box(text: str) -> str:
    """Return the box at the start or the end of a heading, or an empty string."""
    for box in ("[ ]", "[x]", "[X]"):
        if box in (text[:3], text[-3:]):
            return box
    return ""


def read_bold(line: str) -> TaskLine | None:
    """Read a line that consists of the bold name of a task."""
    match = _BOLD_TASK.match(line)
    if match is None:
        return None
    name = _read_name(match["text"])
    if not name.id:
        return None
    behind = line[match.end("text") :]
    checked = any(sign in behind for sign in _DONE)
    return TaskLine(name.id, name.title, checked, name.markers)


def read_item(line: str) -> TaskLine | None:
    """Read a list item at the margin that has no box: one with a number or the id of a task."""
    item = _PLAIN_ITEM.match(line)
    if item is None:
        return None
    if item["number"]:
        return read_heading(f"# {line}")
    name = _read_name(item["text"])
    return read_heading(f"# {item['text']}") if _is_certain(name) else None


def read_title(text: str) -> TaskLine:
    """Read a title without a box, such as `Task 1: Add the parser`."""
    name = _read_name(text)
    return TaskLine(name.id, name.title, markers=name.markers, certain=True)


def boxed_heading_level(line: str) -> int:
    """Return the level of a heading written in a list item with a box, or 0."""
    match = BOXED_HEADING.match(line)
    if match is None:
        return 0
    return len(match["behind"] or match["before"])


def heading_kind(heading: str) -> str:
    """Return what a heading calls itself (`step`, `T`), or an empty string.

    If one heading of a kind is a task, so are those beside it.
    """
    text = heading.strip().lstrip("#").strip()
    text = text[_past(_BULLET_BEFORE_BOX, text, 0) :]
    name = _read_name(text.removeprefix(_heading_box(text)))
    if name.word:
        return name.word
    if "-T" in name.id:
        # `US2-T1` and `V-T3`: the tasks of a part, named by what stands before the T.
        return re.sub(r"\d+", "0", name.id)
    if name.prefix in _SURE_PREFIXES:
        return name.prefix
    return ""


def slug(title: str) -> str:
    """Return an id for a task that has none: `Wire it up` becomes `wire-it-up`."""
    words = re.findall(r"\w+", title.lower())
    return "-".join(words)[:60].strip("-_") or "task"


def _read_name(text: str) -> _Name:
    """Read decorations, markers and the id at the start of `text`, in any order."""
    markers: list[str] = []
    task_id = ""
    word = ""
    is_bold = False
    position = _past(_DECORATION, text, 0)
    while True:
        marker = _MARKER.match(text, position)
        found = None if task_id else _read_id(text, position)
        if found:
            is_bold = "**" in text[:position]
            task_id, word, position = found
        elif marker:
            markers.append(marker[1])
            position = marker.end()
        else:
            break
        if task_id:
            position = _past(_GLUE, text, position)
        position = _past(_DECORATION, text, position)

    rest, more_markers = _split_markers(text[position:])
    title = rest.replace("**", "").replace("~~", "").strip(" \t|✅✔☑✓\ufe0f")
    return _Name(task_id, word, is_bold, title, (*markers, *more_markers))


def _past(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Return the position behind what the pattern matches there, if it does."""
    match = pattern.match(text, position)
    return match.end() if match else position


def _read_id(text: str, position: int) -> tuple[str, str, int] | None:
    """Return the id at `position`, the word before it, and where it ends."""
    if text.startswith("[", position):
        return _read_bracketed_id(text, position)
    of_a_fix = _OF_A_FIX.match(text, position)
    if of_a_fix:
        return of_a_fix["id"], "", of_a_fix.end()
    in_code = _IN_CODE.match(text, position)
    if in_code:
        return in_code[1], "", in_code.end()
    match = _ID.match(text, position)
    if match is None or _RANGE.match(match["id"]):
        return None
    task_id = match["id"]
    word = (match["word"] or "").strip("# \t").lower()
    if task_id.isdigit() and not word:
        # `1.` keeps its dot: a fix `1.1` of task `1` would have the id of a subtask.
        task_id += match["dot"] or ""
    return task_id, word, match.end()


def _read_bracketed_id(text: str, position: int) -> tuple[str, str, int] | None:
    """Read an id in brackets: `[T001]`, `[01-02]`."""
    numbered = _NUMBERED.match(text, position)
    if numbered:
        return numbered[1], "", numbered.end()
    match = _ID.match(text, position + 1)
    if match is None or not text.startswith("]", match.end()):
        return None
    if _prefix(match["id"]) in _CRITERIA:
        # `[US1]` and `[P1]` name a story or a priority.
        return None
    end = match.end() + 1
    is_link = text.startswith("(", end)
    return None if is_link else (match["id"], "", end)


def _split_markers(title: str) -> tuple[str, list[str]]:
    """Separate markers behind a second name or at the end; elsewhere `[P]` is part of the title."""
    if "[" not in title:
        return title, []
    second = _SECOND_NAME.match(title)
    if second:
        rest = title[second.end() :]
        return f"{second[1]} {rest}", _MARKER.findall(second[2])
    # Searched for only near the end: each place of a long title would be tried in turn.
    last = _LAST_MARKERS.search(title, max(0, len(title) - _LAST_MARKERS_REACH))
    if last:
        return title[: last.start()], _MARKER.findall(last[0])
    return title, []


def _is_certain(name: _Name) -> bool:
    """Return whether a checkbox with this name is a task whatever its fields are."""
    if not name.id or name.word in _STEP_WORDS:
        return False
    if name.word or "-T" in name.id:
        return True
    if name.prefix in _CRITERIA:
        return False
    if name.prefix.startswith(_SURE_STARTS) or name.prefix in _SURE_PREFIXES:
        return True
    if _QUESTION.fullmatch(name.id):
        return False
    return "." in name.id or name.is_bold
