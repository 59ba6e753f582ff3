"""The Expect field of a task: an expectation stated exactly, in a small language of its own.

    **Expect**: exit 2; stdout contains "usage"; file out/report.txt exists

It replaces whatever the words of the Verify field ask for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.model import NONZERO, Expect, parse_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_ralph.verify.model import Check, Stream, Verify

# What must not be cut at a semicolon inside it.
_QUOTED = r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'"
_ITEM = regex(rf"(?:{_QUOTED}|(?<=matches )/(?:\\.|[^/\\])*/|[^;])+")
_EXIT = regex(r"exits?(?: code| status)?:? (?P<status>\d+)", re.IGNORECASE)
_NONZERO = regex(r"exits? (?:!= ?0|non-?zero)", re.IGNORECASE)
_COMPARED = regex(r"(?P<stream>stdout|stderr) ?(?P<op>==|!=|>=|>|<=|<) ?(?P<value>\S.*)")
_CONTAINED = regex(rf"(?P<stream>stdout|stderr) (?P<op>contains|not contains) (?P<text>{_QUOTED})")
_EMPTY = regex(r"(?P<stream>stdout|stderr) empty")
_MATCHED = regex(r"(?P<stream>stdout|stderr) matches /(?P<pattern>(?:\\.|[^/\\])+)/")
_FILE = regex(r"file (?P<path>\"[^\"]+\"|`[^`]+`|\S+) exists")
_NUMBER = regex(r"[-+]?\d+(?:\.\d+)?")
_STRING = regex(_QUOTED)
# An author who starts like this means the language of this module.
_ATTEMPT = regex(r"[`\s]*(?:exit \S|stdout\b|stderr\b|file \S+ )")
# Where a line, or an item of a list, states another expectation.
_NEXT_LINE = regex(r"\n[ \t]*(?:[-*+][ \t]+)?(?=`?(?:exit|stdout|stderr|file) )")
_FORMS = (
    'exit 2, stdout == 3, stdout >= 2, stdout contains "x", stdout not contains "x", '
    "stdout empty, stdout matches /regex/, file path exists"
)


class ExpectFieldError(ValueError):
    """An Expect field that does not follow the grammar."""


class ExpectField(NamedTuple):
    """What an Expect field states."""

    expect: tuple[Expect, ...]
    files: tuple[str, ...]


def parse_expect_field(text: str) -> ExpectField:
    """Return what an Expect field states; raise ExpectFieldError if it is malformed."""
    written = " ".join(_on_one_line(text).split()).strip("`")
    expect: list[Expect] = []
    files: list[str] = []
    for found in _ITEM.findall(written):
        item = found.strip(" `.")
        if not item:
            continue
        stated = _parse_item(item)
        if isinstance(stated, str):
            files.append(stated)
        else:
            expect.append(stated)
    if not expect and not files:
        raise ExpectFieldError(f"the Expect field is empty; write one of: {_FORMS}")
    return ExpectField(tuple(expect), tuple(files))


def is_prose(text: str) -> bool:
    """Whether an Expect field is written in words of its own, such as "All tests pass"."""
    line = _on_one_line(text)
    written = line.strip(" `.")
    if _EXIT.fullmatch(written):
        return False
    return bool(written) and not _ATTEMPT.match(line)


def _on_one_line(text: str) -> str:
    items = _NEXT_LINE.sub("; ", f"\n{text.strip()}")
    return items.strip("; \n")


def apply_expect_field(verify: Verify, text: str) -> Verify:
    """Return `verify` with the expectations of an Expect field in place of its own.

    Of several commands the field is about the last one; the others must exit with 0. Where any one
    of them is enough it is about each.
    """
    stated = parse_expect_field(text)
    checks: list[Check] = []
    for index, check in enumerate(verify.checks, start=1):
        if verify.mode == "any" or index == len(verify.checks):
            checks.append(check._replace(expect=stated.expect, files=stated.files))
        else:
            checks.append(check._replace(expect=(), files=()))
    return verify._replace(checks=tuple(checks), unread=())


def _parse_item(item: str) -> Expect | str:
    """Return an expectation, or the path of a file that must exist."""
    for form, read in _READERS:
        match = form.fullmatch(item)
        if match:
            return read(match)
    raise ExpectFieldError(f"`{item}` is not an expectation; write one of: {_FORMS}")


def _stream(match: re.Match[str]) -> Stream:
    return "stderr" if match["stream"] == "stderr" else "stdout"


def _exit_status(match: re.Match[str]) -> Expect:
    return Expect("exit", "==", int(match["status"]))


def _empty(match: re.Match[str]) -> Expect:
    return Expect(_stream(match), "empty")


def _contained(match: re.Match[str]) -> Expect:
    op = match["op"].replace(" ", "_")
    return Expect(_stream(match), op, _unquote(match["text"]))


def _matched(match: re.Match[str]) -> Expect:
    pattern = _valid_pattern(match["pattern"])
    return Expect(_stream(match), "matches", pattern)


def _compared(match: re.Match[str]) -> Expect:
    op = match["op"]
    value = _value(op, match["value"], match[0])
    return Expect(_stream(match), op, value)


def _file(match: re.Match[str]) -> str:
    return match["path"].strip('"`')


# The forms of the language, tried in this order.
_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Expect | str]], ...] = (
    (_EXIT, _exit_status),
    (_NONZERO, lambda _: NONZERO),
    (_EMPTY, _empty),
    (_CONTAINED, _contained),
    (_MATCHED, _matched),
    (_COMPARED, _compared),
    (_FILE, _file),
)


def _value(op: str, written: str, item: str) -> int | float | str:
    if _NUMBER.fullmatch(written):
        return parse_number(written)
    if op not in ("==", "!="):
        raise ExpectFieldError(f"`{item}` compares with something that is not a number")
    if _STRING.fullmatch(written):
        return _unquote(written)
    if '"' in written:
        raise ExpectFieldError(f"`{item}` has an unmatched quotation mark")
    return written


def _unquote(written: str) -> str:
    return re.sub(r"\\(.)", r"\1", written[1:-1])


def _valid_pattern(pattern: str) -> str:
    pattern = pattern.replace("\\/", "/")
    try:
        re.compile(pattern)
    except re.error as error:
        raise ExpectFieldError(f"/{pattern}/ is not a regular expression: {error}") from None
    return pattern
