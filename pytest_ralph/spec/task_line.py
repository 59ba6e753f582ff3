"""The TaskLine, that is, the one line that names a task: box, id, markers, title."""

from __future__ import annotations

import re
from typing import NamedTuple

from pytest_ralph.text.regex import regex

_BOX = regex(
    r"[ \t]*(?:[-*+]|(\d{1,4}[.)]))[ \t]*(?:#{1,6}[ \t]+)?\[([ xX~-]?)\](\*?)[ \t]*(?:#{1,6}[ \t]+)?(.*)$"
)
# `- [x] ### Task 2.3` and `- ### [x] 2.3`: a list item that heads a section.
_BOXED_HEADING = regex(
    r"[ \t]*[-*+][ \t]*(?:\[[ xX~-]?\][ \t]*(#{1,6})|(#{1,6})[ \t]+\[[ xX~-]?\])[ \t]"
)
_HEADING_BOXES = ("[ ]", "[x]", "[X]")
# `### T2: [x] Wire it up`, `### T2 `[ ]` Wire it up`: the box behind the id.
_MIDDLE_BOX = regex(r"(?P<id>[A-Za-z]{0,5}[ -]?\d[\w.-]{0,10}:?)[ \t]+`?(?P<box>\[[ xX]\])`?[ \t]+")
# `**Task 1.1: Wire it up** ✅`: a line of its own, or a list item without a box.
_BOLD_TASK = regex(
    r" {0,3}(?:[-*+][ \t]+)?\*\*(?P<text>(?i:task)[ \t]+#?[A-Za-z]{0,4}-?\d[^*\n]*)\*\*"
    r"(?:[ \t]*(?:[✅✔☑✓:]|\ufe0f|\([^()\n]*\)|`[^`\n]*`))*[ \t]*$"
)
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
# A fix carries the id of its original whatever that is: VF.1 · wire-it-up.1
_OF_A_FIX = r"[\w-]+(?:\.\d+)+(?=[ \t]+\[(?:FIX|SPLIT)[ \t])"
_ID = regex(
    r"(?P<word>(?i:(?:sub-?)?task|step|cycle|story|item)[ \t]*#?[ \t]*)?"
    rf"(?P<id>{_OF_A_FIX}|{_NUMBER}|{_LETTERED}|{_SECTIONED}|{_CHECKPOINT}|VF|TX{{2,4}})"
    r"(?P<dot>\.(?=\s|\*|$))?"
    r"(?![\w/%+=<>]|[-–—.]\w|\.\d)"
)
# `T001-T004` speaks of several tasks.
_RANGE = regex(r"([A-Z]+-?)\d+-\1\d")
# [01-02] · [P7-001]: which phase and which of its tasks, only in brackets
_NUMBERED = regex(r"\[((?:[A-Z]{1,4}\d{1,3}|\d{2,3})-\d{2,4})\](?!\()")
_MARKER = regex(r"\[([A-Za-z][^\[\]\n]{0,80}|\?)\](?!\()")
_KNOWN_MARKER = r"\[(?:P|VERIFY|SEQUENTIAL|FIX [^\[\]\n]{1,40}|SPLIT [^\[\]\n]{1,40})\]"
_LAST_MARKERS = regex(rf"(?:[ \t]?{_KNOWN_MARKER})+$")
# `4.5 V1 [VERIFY] …`, `4.5 VE-LOGIN [VERIFY] …`: a second name before the markers.
_SECOND_NAME = regex(
    rf"(V[A-Z]?-?[A-Z]?\d{{0,3}}|V[A-Z]?[-_]\w{{1,20}})[ \t]+((?:{_KNOWN_MARKER}[ \t]*)+)"
)
_GLUE = regex(r"[ \t:–—|.)*~-]*")
# Bold, strikethrough, emoji; a code span or a file name belongs to the title.
_DECORATION = regex(r"[^\w\[\](){}<>\"'_`/\\.,;:!?@#$%^&+=|-]+")
_SURE_PREFIXES = ("T", "TASK", "V", "VE", "VF", "V-P", "TX")
# Requirements, criteria, priorities: never tasks by their name alone.
_CRITERIA = frozenset(
    (
        *(
            "AC",
            "FR",
            "NFR",
            "NF",
            "SC",
            "US",
            "UC",
            "REQ",
            "R",
            "BR",
            "CR",
            "UR",
            "SR",
            "P",
            "H",
            "S",
        ),
        *("EC", "TC", "INV", "RISK", "OQ", "ADR", "KPI", "SLO", "DOD"),
    )
)
_TASK_MARKERS = frozenset(("P", "VERIFY", "SEQUENTIAL", "FIX", "SPLIT", "RED", "GREEN", "YELLOW"))


class TaskLine(NamedTuple):
    """What one line says of a task. `certain`: the id alone makes it a task, with or without fields."""

    id: str
    title: str
    checked: bool = False
    markers: tuple[str, ...] = ()
    certain: bool = False


class _Name(NamedTuple):
    id: str
    word: str
    bold: bool
    rest: str
    markers: tuple[str, ...]


def read_checkbox(line: str) -> TaskLine | None:
    """A list item with a box, or None."""
    box = _BOX.match(line)
    if box is None:
        return None
    number, mark, _optional, text = box.groups()
    name = _read_name(text)
    certain = bool(name.id) and name.word != "step" and _is_certain(name)
    own_id = name.id or (number or "").rstrip(")")
    return TaskLine(own_id, _title(name.rest), mark in ("x", "X"), name.markers, certain)


def heading_level(line: str) -> int:
    """The level of a heading, also of one that is written in a list item with a box; 0 if it is none."""
    text = line.lstrip()
    if text.startswith("#"):
        return len(text) - len(text.lstrip("#"))
    boxed = _BOXED_HEADING.match(line) if "#" in text else None
    return len(boxed[1] or boxed[2]) if boxed else 0


def read_heading(line: str) -> TaskLine | None:
    """A heading that could name a task, or None."""
    text = line.strip()
    if not text.startswith("#"):
        return None
    text = text.lstrip("#").strip().rstrip("#").rstrip()
    if middle := _MIDDLE_BOX.match(text):
        text = f"{middle['box']} {middle['id']} {text[middle.end() :]}"
    box = next((box for box in _HEADING_BOXES if text.startswith(box) or text.endswith(box)), "")
    text = text.removeprefix(box).removesuffix(box).strip()
    done = not box and (text.startswith(_DONE) or text.rstrip("\ufe0f").endswith(_DONE))
    name = _read_name(text)
    if not name.id and not box:
        return None
    marked = any(marker.split()[0].upper() in _TASK_MARKERS for marker in name.markers)
    certain = bool(name.id) and (bool(box) or name.word.endswith("task") or marked)
    return TaskLine(
        name.id, _title(name.rest), done or box in ("[x]", "[X]"), name.markers, certain
    )


def kin(heading: str) -> str:
    """What a heading calls itself (`step`, `T`): where one of them is a task, so are those beside it."""
    name = _read_name(heading.strip().lstrip("#").strip())
    return name.word or (_prefix(name.id) if _prefix(name.id) in _SURE_PREFIXES else "")


def read_bold(line: str) -> TaskLine | None:
    """A line that is nothing but the bold name of a task, or None."""
    match = _BOLD_TASK.match(line)
    if match is None:
        return None
    name = _read_name(match["text"])
    done = any(sign in line[match.end("text") :] for sign in _DONE)
    return TaskLine(name.id, _title(name.rest), done, name.markers) if name.id else None


def slug(title: str) -> str:
    """An id for a task that has none: `Wire it up` is `wire-it-up`."""
    words = re.findall(r"\w+", title.lower())
    return "-".join(words)[:60].strip("-_") or "task"


def _read_name(text: str) -> _Name:
    """Decorations, markers and the id at the start of `text`, in whatever order they come."""
    markers: list[str] = []
    found = word = ""
    bold = False
    position = 0
    while True:
        if decoration := _DECORATION.match(text, position):
            bold = bold or "**" in decoration[0]
            position = decoration.end()
        if not found and (bracketed := _bracketed_id(text, position)):
            found, position = bracketed
        elif not found and (match := _ID.match(text, position)) and not _RANGE.match(match["id"]):
            found, word = _id(match), (match["word"] or "").strip("# \t").lower()
            position = match.end()
        elif marker := _MARKER.match(text, position):
            markers.append(marker[1])
            position = marker.end()
        else:
            rest, known = _without_markers(text[position:])
            return _Name(found, word, bold, rest, (*markers, *known))
        if found and (glue := _GLUE.match(text, position)):
            position = glue.end()


def _bracketed_id(text: str, position: int) -> tuple[str, int] | None:
    if not text.startswith("[", position):
        return None
    if numbered := _NUMBERED.match(text, position):
        return numbered[1], numbered.end()
    match = _ID.match(text, position + 1)
    if match is None or not text.startswith("]", match.end()) or text.startswith("](", match.end()):
        return None
    # `[US1]` and `[P1]` say which story or priority, not which task.
    if _prefix(match["id"]) in _CRITERIA:
        return None
    return match["id"], match.end() + 1


def _id(match: re.Match[str]) -> str:
    """As written: `1.` keeps its dot, so that `1.` and a subtask's `1.1` never meet in a fix of `1`."""
    return match["id"] + (match["dot"] or "" if match["id"].isdigit() and not match["word"] else "")


def _without_markers(title: str) -> tuple[str, list[str]]:
    """The title without markers behind a second name or at its end; inside it `[P]` is only talked about."""
    if "[" not in title:
        return title, []
    if second := _SECOND_NAME.match(title):
        return f"{second[1]} {title[second.end() :]}", _MARKER.findall(second[2])
    if last := _LAST_MARKERS.search(title, max(0, len(title) - 200)):
        return title[: last.start()], _MARKER.findall(last[0])
    return title, []


def _title(rest: str) -> str:
    return rest.replace("**", "").replace("~~", "").strip(" \t|✅✔☑✓\ufe0f")


def _prefix(name: str) -> str:
    return re.sub(r"-?\d.*", "", name)


def _is_certain(name: _Name) -> bool:
    prefix = _prefix(name.id)
    if not prefix:
        return "." in name.id or bool(name.word) or name.bold
    if prefix in _CRITERIA:
        return bool(name.word) or "-T" in name.id
    if prefix in _SURE_PREFIXES or prefix.startswith(("TX", "VE-", "V_", "V-")):
        return True
    return "-T" in name.id or "." in name.id or name.bold or bool(name.word)
