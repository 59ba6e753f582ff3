"""What a number behind a command is compared with: that depends on what the command prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.text.regex import regex
from pytest_ralph.verify.model import Expect
from pytest_ralph.verify.stdout_kind import (
    Prints,
    always_prints,
    echoes_words,
    ends_with_echo,
    hides_zero,
    is_http,
    prints,
    prints_in_turn,
    prints_nothing,
    searches_quietly,
    shows_contents,
    shows_http_status,
    summarises,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_WORD = r"(?:[\w-]+ ){0,2}"
# What only the tool itself counts: its exit status speaks for it.
_OUTCOME = regex(
    rf"{_WORD}(?:passes|fails|failures?|errors?|warnings?|tests?|specs?|suites?|checks?|problems?"
    r"|issues?|violations?|assertions?|skipped|xfailed|xpassed|deselected|examples?|vulnerabilit\w+|offenses|regressions|conflicts)\b"
)
# Not in the output at all.
_MEASURE = regex(
    rf"{_WORD}(?:%|percent|coverage|s|secs?|seconds?|ms|milliseconds?|mins?|minutes?|hours?"
    r"|[kmg]i?b|bytes|px|tokens|st|nd|rd|th|times|x)\b|%"
)
# One line each.
_LINES = regex(
    rf"{_WORD}(?:lines?|match|matches|results?|hits?|occurrences?|entry|entries|files?|references?"
    r"|instances?|records?|director(?:y|ies)|folders?|items?|names?|commits?|paths?|branch(?:es)?"
    r"|modules?|usages?|mentions?|imports?|changes?|rows?)\b"
)
_STATUS_VERBS = frozenset(("returns", "is", "equals", "→", "expect"))
# The user chose what is printed: it is no longer a list.
_FORMATTED = regex(r"\s(?:-o jsonpath|--jq|-q \.|--format)\b|\bjsonpath=")
# What a tool prints beside anything else that it may print, such as a heading, is not counted.
_COUNTED_LINES = regex(r"(?:\w+ )?(?:lines?|match|matches|hits?|occurrences?|files?)\b")


def expect_amount(
    command: str, op: str, number: float, noun: str, verb: str, each: bool = False
) -> Sequence[Expect] | None:
    """Return what "VERB OP NUMBER NOUN" asks of a command, or None if that cannot be said.

    An empty sequence means that the exit status says it already.
    """
    if _MEASURE.match(noun) or echoes_words(command):
        return None
    if op == "==" and each and prints_in_turn(command):
        return [Expect("stdout", "each_line==", number)]
    if op == "==" and verb in _STATUS_VERBS and not noun and prints_nothing(command):
        return [Expect("exit", "==", number)]
    shown = prints(command)
    if shown is Prints.COUNT and hides_zero(command) and (op, number) == ("==", 0):
        return expect_nothing(command)
    if shown is Prints.COUNT:
        return [Expect("stdout", op, number)]
    if shown is Prints.COUNTS:
        return _expect_sum(op, number, each)
    if _OUTCOME.match(noun):
        return []
    if is_http(command):
        return _expect_http_status(command, op, number)
    if shown is Prints.LINES:
        return _expect_of_listing(command, op, number, noun, verb)
    return _expect_of_tool(command, op, number, noun, verb)


def _expect_of_tool(
    command: str, op: str, number: float, noun: str, verb: str
) -> Sequence[Expect] | None:
    if _LINES.match(noun):
        is_stated = verb in ("shows", "returns", "prints", "expect")
        is_counted = bool(_COUNTED_LINES.match(noun))
        return expect_lines(command, op, number) if is_stated and is_counted else None
    if noun:
        return None
    if _FORMATTED.search(command):
        return [Expect("stdout", op, number)]
    shown = prints(command)
    if verb == "with" or (not verb and shown is not Prints.TEXT):
        return None
    if shown is Prints.STATUS and verb in _STATUS_VERBS and op == "==" and number <= 2:
        # `returns 1` of a tool is its exit status; a larger number is something it counted.
        return [Expect("exit", op, number)]
    return [Expect("stdout", op, number)]


def expect_lines(command: str, op: str, number: float) -> Sequence[Expect] | None:
    """Return what a number of lines asks of a command's output."""
    if always_prints(command) or summarises(command):
        return None
    if number == 0 and op in ("==", "<="):
        return expect_nothing(command)
    if number == 0 and op in (">", "!="):
        return [Expect("stdout", "nonempty")]
    if op in ("==", ">="):
        return [Expect("stdout", f"lines{op}", number)]
    if op == ">":
        return [Expect("stdout", "lines>=", number + 1)]
    return None


def expect_nothing(command: str) -> Sequence[Expect] | None:
    """Return what "prints nothing" asks of a command: a count is 0, anything else is empty."""
    if ends_with_echo(command) or always_prints(command):
        # It prints its own verdict or a heading, so its output is never empty.
        return None
    if searches_quietly(command):
        # It never prints anything: its status says whether it has found something.
        return [Expect("exit", "nonzero")]
    shown = prints(command)
    if hides_zero(command):
        return [Expect("stdout", "empty")]
    if shown is Prints.COUNT:
        return [Expect("stdout", "==", 0)]
    if shown is Prints.COUNTS:
        return [Expect("stdout", "sum==", 0)]
    return [Expect("stdout", "empty")]


def _expect_sum(op: str, number: float, each: bool) -> Sequence[Expect]:
    if each and op == "==":
        return [Expect("stdout", "each_line==", number)]
    if op in ("==", ">="):
        return [Expect("stdout", f"sum{op}", number)]
    if op == ">":
        return [Expect("stdout", "sum>=", number + 1)]
    return [Expect("stdout", op, number)]


def _expect_http_status(command: str, op: str, number: float) -> Sequence[Expect] | None:
    """Return what a status asks of a client that prints it; others print only the body."""
    if op == "==" and shows_http_status(command):
        return [Expect("stdout", "contains", str(number))]
    return None


def _expect_of_listing(
    command: str, op: str, number: float, noun: str, verb: str
) -> Sequence[Expect] | None:
    if _FORMATTED.search(command) and not noun:
        return [Expect("stdout", op, number)]
    if shows_contents(command):
        # `cat count.txt` returns 3: what is in the file.
        if _LINES.match(noun):
            return expect_lines(command, op, number)
        if noun or not number or verb == "with":
            return None
        return [Expect("stdout", op, number)]
    if verb in ("with", "shows") and not noun:
        # "shows 5": a number of lines, or one that stands in a line.
        return None
    return expect_lines(command, op, number)
