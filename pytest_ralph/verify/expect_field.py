"""The Expect field of a task: an expectation stated exactly, in a small language of its own.

    **Expect**: exit 2; stdout contains "usage"; file out/report.txt exists

It replaces whatever the words of the Verify field ask for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.model import NONZERO, Expect

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_ralph.verify.model import Stream, Verify

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
    items = [item.strip(" `.") for item in _ITEM.findall(written)]
    stated = [_parse_item(item) for item in filter(None, items)]
    if not stated:
        raise ExpectFieldError(f"the Expect field is empty; write one of: {_FORMS}")
    expect = tuple(one for one in stated if isinstance(one, Expect))
    files = tuple(one for one in stated if isinstance(one, str))
    return ExpectField(expect, files)


def is_prose(text: str) -> bool:
    """Whether an Expect field is written in words of its own, such as "All tests pass"."""
    line = _on_one_line(text)
    written = line.strip(" `.")
    if _EXIT.fullmatch(written):
        return False
    return bool(written) and not _ATTEMPT.match(line)


def _on_one_line(text: str) -> str:
    return _NEXT_LINE.sub("; ", f"\n{text.strip()}").strip("; \n")


def apply_expect_field(verify: Verify, text: str) -> Verify:
    """Return `verify` with the expectations of an Expect field in place of its own.

    Of several commands the field is about the last one; the others must exit with 0. Where any one
    of them is enough it is about each.
    """
    stated = parse_expect_field(text)
    checks = [check._replace(expect=stated.expect, files=stated.files) for check in verify.checks]
    if verify.mode == "all":
        others = [check._replace(expect=(), files=()) for check in checks[:-1]]
        checks = [*others, *checks[-1:]]
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
    return Expect(_stream(match), match["op"].replace(" ", "_"), _unquote(match["text"]))


def _matched(match: re.Match[str]) -> Expect:
    return Expect(_stream(match), "matches", _valid_pattern(match["pattern"]))


def _compared(match: re.Match[str]) -> Expect:
    return Expect(_stream(match), match["op"], _value(match["op"], match["value"], match[0]))


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
        return float(written) if "." in written else int(written)
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
