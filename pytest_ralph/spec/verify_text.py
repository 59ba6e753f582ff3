"""The text of the Verify field of a task, wherever the task has it."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_ralph.spec.fields import MANUAL, read_fields
from pytest_ralph.text.markdown import dedent
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.spec.fields import Field

_EXPECTED = ("expected", "expected output", "expected result")
_GREEN = regex(r"\bgreen\b", re.IGNORECASE)
_RED = regex(r"\bred\b", re.IGNORECASE)
_INLINE_VERIFY = regex(
    r"[ \t.;,—–(-](?:\*\*|__)(?P<name>Verif(?:y|ication))[ \t]*:?(?:\*\*|__)[ \t]*:?[ \t]*"
    r"|[.;—–|(-][ \t]*Verif(?:y|ication):[ \t]*(?=`)",
    re.IGNORECASE,
)
_QUOTE_MARK = regex(r"[ \t]*>[ \t]?")
_BEHIND = regex(
    r"[·•|;.,][ \t]*(?:\*\*|__)Verif(?:y|ication)[ \t]*:?(?:\*\*|__)[ \t]*:?[ \t]*", re.IGNORECASE
)


def verify_text(fields: Sequence[Field]) -> str:
    """Return the text of the Verify fields that count.

    Of `Verify RED` and `Verify GREEN` only the second does, and a check by hand only on its own.
    """
    verifies = [field for field in fields if field.name == "Verify"]
    if not verifies:
        return _verify_behind_another(fields)
    if len(verifies) > 1:
        green = [field for field in verifies if _GREEN.search(field.label)]
        not_red = [field for field in verifies if not _RED.search(field.label)]
        verifies = green or not_red or verifies
        automatic = [field for field in verifies if not field.text.startswith(MANUAL)]
        verifies = automatic or verifies
    texts = [field.text for field in verifies]
    if len(texts) > 1:
        # A list or a fence in one of them must not look like a part of the one above it.
        texts = [dedent(text).strip("\n") for text in texts]
    return "\n".join(texts)


def expected_text(fields: Sequence[Field]) -> str:
    """Return the text of an `**Expected**:` that stands directly behind a Verify field."""
    for verify, following in pairwise(fields):
        if verify.name == "Verify" and following.label.lower() in _EXPECTED:
            return following.text.strip()
    return ""


def inline_verify(title_line: str) -> str:
    """Return the Verify text on the line of the title: `- [ ] T001 Do it. **Verify**: …`."""
    match = _INLINE_VERIFY.search(title_line)
    return title_line[match.end() :] if match else ""


def quoted_verify(lines: Sequence[str]) -> str:
    """Return the text of the Verify fields in the block quotes of a task: `> **Verify**: …`."""
    quoted = [_QUOTE_MARK.sub("", line, count=1) for line in lines if _QUOTE_MARK.match(line)]
    return verify_text(read_fields(quoted, 0, len(quoted), ()))


def _verify_behind_another(fields: Sequence[Field]) -> str:
    """Return the Verify text on the line of another field: `**Effort**: M · **Verify**: …`."""
    for field in fields:
        line = field.text.partition("\n")[0]
        match = _BEHIND.search(line)
        in_code = match is not None and line.count("`", 0, match.start()) % 2 == 1
        if match and not in_code:
            return line[match.end() :].strip()
    return ""
