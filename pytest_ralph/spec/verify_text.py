"""The text that says how a task is verified, wherever the task has it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.spec.fields import read_fields
from pytest_ralph.spec.formats.xml_tasks import verify_element
from pytest_ralph.spec.labels import (
    MANUAL,
    NOTE,
    before_next_label,
    is_quoted,
    known_name,
    read_label,
    under_note,
)
from pytest_ralph.text.markdown import dedent
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.spec.candidates import TaskBlock
    from pytest_ralph.spec.fields import Field
    from pytest_ralph.spec.task_line import TaskLine

_GREEN = regex(r".*\bgreen\b", re.IGNORECASE)
_ONLY_RED = regex(r"(?!.*\bgreen\b).*\bred\b", re.IGNORECASE)
_BOLD_VERIFY = (
    r"(?:\*\*|__)Verif(?:y|ication)"
    rf"(?P<note>{NOTE})?[ \t]*:?(?:\*\*|__)(?P<late>{NOTE}(?=[ \t]*:))?[ \t]*:?[ \t]*"
)
_INLINE_BOLD = regex(rf"[ \t.;,—–(-]{_BOLD_VERIFY}", re.IGNORECASE)
# `Add it. Verify: …`, `Add it → verify: …`, `添加。验证:…`; not `config.verify: on`, `x-verify:`
_INLINE_PLAIN = regex(
    r"[.;,!?|｜·•—–→✅✔✓)(`。;,!?)(」>-](?:(?<![.;,!?-])|(?<=[ \t]-)|(?=[ \t]))[ \t]*[*_]{0,2}"
    rf"(?P<label>[^\W\d_][\w \t-]{{0,40}}?)(?P<note>{NOTE})?[ \t]*[*_]{{0,2}}[:：][*_]{{0,2}}[ \t]*"
)
# Each label in a text looks at all that is before it.
_LONGEST_TITLE = 5000
_QUOTE_MARK = regex(r"[ \t]*>[ \t]?")
_BEHIND = regex(
    rf"[·•|;.,][ \t]*{_BOLD_VERIFY}"
    rf"|[·•|;.,][ \t]+Verif(?:y|ication)(?P<plain>{NOTE})?(?:[ \t](?:with|by|via))?:[ \t]*(?=`)",
    re.IGNORECASE,
)
_TITLE_CHECK = regex(
    rf"(?:\[[^\]]*\][ \t]*)*(?:(?:verify|verification|run)(?P<note>{NOTE})?[ \t]*:[ \t]*"
    r"|verify[ \t]+(?=`))"
    r"(?P<check>\S.*)",
    re.IGNORECASE,
)


def find_verify_text(block: TaskBlock, lines: Sequence[str]) -> str:
    """Return the text of the Verify of a task, or an empty string if none is written."""
    own_lines = lines[block.line + 1 : block.own_end]
    return (
        verify_text(block.fields)
        or inline_verify(lines[block.line])
        or quoted_verify(own_lines)
        or verify_element(own_lines)
    )


def verify_text(fields: Sequence[Field]) -> str:
    """Return the text of the Verify fields that count, or of a Verify in another field."""
    wanted = wanted_verifies(fields)
    if not wanted:
        return _verify_behind_another(fields)
    if len(wanted) == 1:
        return wanted[0].text
    # Words, a list or a fence in one of them must not look like a part of the one above it.
    return "\n\n".join(dedent(field.text).strip("\n") for field in wanted)


def wanted_verifies(fields: Sequence[Field]) -> list[Field]:
    """Return the Verify fields that count.

    Of `Verify RED` and `Verify GREEN` only the second does, and a check by hand only on its own.
    """
    wanted = [field for field in fields if field.name == "Verify"]
    for is_better in (_is_green, _is_not_red, _is_automatic):
        wanted = list(filter(is_better, wanted)) or wanted
    return wanted


def _is_green(verify: Field) -> bool:
    return _GREEN.match(verify.label) is not None


def _is_not_red(verify: Field) -> bool:
    return _ONLY_RED.match(verify.label) is None


def _is_automatic(verify: Field) -> bool:
    return not verify.text.startswith(MANUAL)


def inline_verify(title_line: str) -> str:
    """Return the Verify text on the line of the title: `- [ ] T001 Do it. **Verify**: …`.

    Without bold, only a command or a bar makes it one.
    """
    bold = _INLINE_BOLD.search(title_line)
    if bold:
        return _text_behind(bold, bold["note"] or bold["late"])
    plain = _plain_label(title_line)
    if plain is None:
        return ""
    has_bar = plain[0].startswith(("|", "｜"))
    if has_bar or title_line.startswith("`", plain.end()):
        return _text_behind(plain, plain["note"], plain["label"])
    return ""


def verify_sentence(text: str) -> str:
    """Return what the end of a text says behind a label: `Do it. Verify: it is done`."""
    plain = _plain_label(text)
    return _text_behind(plain, plain["note"], plain["label"]) if plain else ""


def _plain_label(text: str) -> re.Match[str] | None:
    """Return the label without bold that begins the Verify within a text."""
    for found in _INLINE_PLAIN.finditer(text, 0, _LONGEST_TITLE):
        if known_name(found["label"]) == "Verify" and not is_quoted(text[: found.start("label")]):
            return found
    return None


def _text_behind(found: re.Match[str], note: str | None, label: str = "") -> str:
    """Return the text that a label within a line begins, with what it and its note say."""
    text = found.string[found.end() :]
    return under_note(note, before_next_label(text), label)


def quoted_verify(lines: Sequence[str]) -> str:
    """Return the text of the Verify fields in the block quotes of a task: `> **Verify**: …`."""
    quoted = []
    for line in lines:
        mark = _QUOTE_MARK.match(line)
        if mark:
            quoted.append(line[mark.end() :])
    return verify_text(read_fields(quoted, 0, len(quoted), ()))


def _verify_behind_another(fields: Sequence[Field]) -> str:
    """Return the Verify text on the line of another field: `**Effort**: M · **Verify**: …`."""
    for field in fields:
        line = field.text.partition("\n")[0]
        match = _BEHIND.search(line)
        if match is None:
            continue
        backticks_before = line.count("`", 0, match.start())
        is_in_code = backticks_before % 2 == 1
        if not is_in_code:
            note = match["note"] or match["late"] or match["plain"]
            return _text_behind(match, note).strip()
    return ""


def check_in_title(title: TaskLine) -> str:
    """Return the check that a title consists of, or an empty string."""
    label = read_label(title.title)
    if label and label.name == "Verify":
        return label.rest
    match = _TITLE_CHECK.fullmatch(title.title)
    if match is None:
        return ""
    return under_note(match["note"], match["check"])
