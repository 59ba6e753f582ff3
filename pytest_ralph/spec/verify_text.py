"""The text that says how a task is verified, wherever the task has it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.spec.fields import read_fields
from pytest_ralph.spec.formats.xml_tasks import verify_element
from pytest_ralph.spec.labels import MANUAL, NOTE, before_next_label, under_note
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
_INLINE_VERIFY = regex(
    rf"[ \t.;,—–(-]{_BOLD_VERIFY}"
    rf"|[.;—–|(-][ \t]*Verif(?:y|ication)(?P<plain>{NOTE})?:[ \t]*(?=`)",
    re.IGNORECASE,
)
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
    """Return the Verify text on the line of the title: `- [ ] T001 Do it. **Verify**: …`."""
    match = _INLINE_VERIFY.search(title_line)
    return _text_behind(match) if match else ""


def _text_behind(label: re.Match[str]) -> str:
    """Return the text that a label within a line begins, with what its note says."""
    note = label["note"] or label["late"] or label["plain"]
    text = label.string[label.end() :]
    return under_note(note, before_next_label(text))


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
            return _text_behind(match).strip()
    return ""


def check_in_title(title: TaskLine) -> str:
    """Return the check that a title consists of, or an empty string."""
    match = _TITLE_CHECK.fullmatch(title.title)
    if match is None:
        return ""
    return under_note(match["note"], match["check"])
