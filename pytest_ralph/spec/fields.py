"""The fields of a task: `**Do**: …`, `**Verify**: …`."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.spec.labels import NOTE, Label, before_next_label, indentation, read_label
from pytest_ralph.text.markdown import LIST_MARKER, dedent
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_RULE = regex(r"[ \t]{0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
ITEM = regex(rf"[ \t]*{LIST_MARKER}[ \t]")
# `- [ ] **Step 2: Run the test**` is beside the fields above it, not part of the last one.
_STEP = regex(r"[ \t]*(?:[-*+][ \t]+\[[ xX]\][ \t]+)?\*\*Step[ \t]\d", re.IGNORECASE)
# What stands under one of these labels is about the Verify field above it.
_RESULT = regex(
    r"[-*+][ \t]+(?:expect(?:ed|s)?(?:[ \t](?:output|results?))?"
    rf"|pass(?:[ \t](?:criteria|condition))?){NOTE}?[ \t]*[:：]",
    re.IGNORECASE,
)


class Field(NamedTuple):
    """One field. `label` is its name as written, `text` what is written behind it."""

    name: str
    label: str
    text: str


def read_fields(
    lines: Sequence[str], first: int, last: int, masked: Collection[int]
) -> tuple[Field, ...]:
    """Return the fields in lines[first:last].

    Lines in `masked` (code, comments) are part of a field's text but never start one.
    """
    fields: list[Field] = []
    # The field that is being read, and its first line.
    label: Label | None = None
    start = first

    for number in range(first, last):
        line = lines[number]
        if number in masked or not line.strip():
            continue
        found = read_label(line)

        if label is not None:
            if found is not None and not _is_beside(label, found):
                found = None
            if found is None and not _ends_field(label, lines, number):
                continue
            fields.append(_field(label, lines, start, number))
        label = found
        start = number

    if label is not None:
        fields.append(_field(label, lines, start, last))
    return tuple(fields)


def field_name(line: str) -> str:
    """Return the name of the well-known field that a line starts, or an empty string."""
    label = read_label(line)
    if label is None or not label.known:
        return ""
    return label.name


def as_mapping(fields: Sequence[Field]) -> dict[str, str]:
    """Return the dedented texts by name; a name that occurs twice has both texts."""
    texts: dict[str, list[str]] = defaultdict(list)
    for field in fields:
        text = dedent(field.text).strip()
        texts[field.name].append(text)
    return {name: "\n".join(parts) for name, parts in texts.items()}


def _is_beside(current: Label, found: Label) -> bool:
    """Return whether `found` starts a field beside `current`, not a line of its text."""
    # People do not count single spaces.
    if found.indent > current.indent + 1:
        return False
    if found.bulleted and not current.bulleted:
        return found.known
    return True


def _ends_field(current: Label, lines: Sequence[str], number: int) -> bool:
    """Return whether a line without a label is past the field."""
    line = lines[number]
    content = line.lstrip()
    if indentation(line[: len(line) - len(content)]) > current.indent:
        return False
    if content.startswith(("# ", "## ", "### ")):
        return True
    if _RULE.match(line) or _STEP.match(line):
        return True
    if not current.bulleted:
        return False
    if current.name == "Verify" and _RESULT.match(content):
        return False
    begins_paragraph = not lines[number - 1].strip()
    return begins_paragraph or ITEM.match(line) is not None


def _field(label: Label, lines: Sequence[str], start: int, end: int) -> Field:
    """Return the field whose label is on line `start`; blank lines at its end are not part."""
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    first = label.rest.rstrip()
    text = "\n".join([first, *lines[start + 1 : end]])
    if label.name == "Verify":
        text = before_next_label(text)
    return Field(label.name, label.label, text)
