"""What a number behind a command is compared with: that depends on what the command prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from pytest_ralph.shell.stdout import Stdout
from pytest_ralph.text.regex import regex
from pytest_ralph.verify.model import EMPTY, NONZERO, Expect
from pytest_ralph.verify.stdout_kind import (
    adds_lines,
    counts_several_files,
    hides_zero,
    is_http,
    is_search,
    lists_names,
    prints_blocks,
    prints_in_turn,
    prints_nothing,
    prints_numbers,
    prints_something,
    searches,
    shows_contents,
    shows_http_status,
)

if TYPE_CHECKING:
    from pytest_ralph.shell.command import Command

# What is expected: nothing if the exit status says it already, None if that cannot be said.
Answer: TypeAlias = Sequence[Expect] | None

_WORD = r"(?:[\w-]+ ){0,2}"
# What only the tool itself counts: its exit status speaks for it.
_OUTCOME = regex(
    rf"{_WORD}(?:passes|fails|failures?|errors?|warnings?|tests?|specs?|suites?|checks?|problems?"
    r"|issues?|violations?|assertions?|skipped|xfailed|xpassed|deselected"
    r"|examples?|vulnerabilit\w+|offenses|regressions|conflicts)\b"
)
# "12 passed, 0 failed", "12/12 tests pass"
OUTCOME_COUNT = regex(rf"\d {_OUTCOME.pattern}")
# Not in the output at all.
_MEASURE = regex(
    rf"{_WORD}(?:%|percent|coverage|s|secs?|seconds?|ms|milliseconds?|mins?|minutes?|hours?"
    r"|[kmg]i?b|bytes|px|tokens|st|nd|rd|th|times|x)\b|%"
)
# One line each.
_LINES = regex(
    rf"{_WORD}(?:lines?|match|matches|results?|hits?|occurrences?|entry|entries|files?|references?"
    r"|instances?|records?|director(?:y|ies)|folders?|items?|names?|commits?|paths?|branch(?:es)?"
    r"|modules?|usages?|mentions?|imports?|changes?|rows?|locations?|places?)\b"
)
# `node --version` prints `v20.1.0`, which is no number.
_VERSION = regex(r"\s(?:--version|-v|-V|version)$")
# "2 new files" are only some of those that are listed.
_SOME_OF_THEM = regex(r"(?:new|newly|added|extra|additional|modified|changed|updated)\b")
_STATUS_VERBS = frozenset(("returns", "is", "equals", "→", "expect"))
# The user chose what is printed: it is no longer a list.
_FORMATTED = regex(r"\s(?:-o jsonpath|--jq|-q \.|--format)\b|\bjsonpath=")
# What a tool prints beside anything else that it may print, such as a heading, is not counted.
_COUNTED_LINES = regex(r"(?:\w+ )?(?:lines?|match|matches|hits?|occurrences?|files?)\b")

_NONE = (("==", 0), ("<=", 0))
_AT_LEAST_ONE = ((">", 0), ("!=", 0), (">=", 1))
_ZERO = {
    Stdout.COUNT: Expect("stdout", "==", 0),
    Stdout.COUNTS: Expect("stdout", "sum==", 0),
}


class Amount(NamedTuple):
    """A number that a clause states: "returns >= 3 lines"."""

    op: str
    number: float
    noun: str
    verb: str
    # Whether it is stated of each line or of each command.
    each: bool = False

    @property
    def is_zero(self) -> bool:
        return self.op == "==" and self.number == 0

    @property
    def is_of_each_line(self) -> bool:
        return self.each and self.op == "=="

    @property
    def printed(self) -> Expect:
        """What it asks of a command that prints just the number."""
        return Expect("stdout", self.op, self.number)

    @property
    def is_bare_status(self) -> bool:
        """Whether it may be an exit status: "returns 1"."""
        if self.noun or self.verb not in _STATUS_VERBS:
            return False
        return self.op == "==" or (self.op, self.number) == ("!=", 0)

    @property
    def status(self) -> Expect:
        """What it asks if it is an exit status."""
        if self.op == "!=":
            return NONZERO
        return Expect("exit", "==", self.number)


def expect_amount(command: Command, amount: Amount) -> Answer:
    """Return what an amount asks of a command."""
    if _MEASURE.match(amount.noun) or _VERSION.search(command.text):
        return None
    if amount.is_bare_status and prints_nothing(command):
        return [amount.status]
    if amount.is_of_each_line and prints_in_turn(command):
        return [Expect("stdout", "each_line==", amount.number)]

    if prints_numbers(command):
        return _expect_count(command, amount)
    if _SOME_OF_THEM.match(amount.noun) and not amount.is_zero:
        return None
    if _OUTCOME.match(amount.noun):
        return _expect_outcome(command, amount)
    if is_http(command):
        return _expect_http_status(command, amount)
    if command.stdout is Stdout.LINES:
        return _expect_listing(command, amount)
    return _expect_of_tool(command, amount)


def _expect_count(command: Command, amount: Amount) -> Answer:
    if amount.is_zero and hides_zero(command):
        return expect_nothing(command)
    if amount.each and amount.op != "==" and counts_several_files(command):
        # What each of several files is compared with cannot be said of their sum.
        return None
    if command.stdout is Stdout.COUNT:
        return [amount.printed]
    if amount.is_of_each_line:
        return [Expect("stdout", "each_line==", amount.number)]
    total = _expect_total("sum", amount.op, amount.number)
    return [total or amount.printed]


def _expect_outcome(command: Command, amount: Amount) -> Answer:
    """Take "0 errors" for a run that went well; its status does not tell any other count."""
    if not amount.is_zero:
        return None
    if amount.verb and searches(command):
        # "`make | grep error` returns 0 errors": what it looks for.
        return expect_nothing(command)
    return [] if command.stdout is Stdout.STATUS else None


def _expect_http_status(command: Command, amount: Amount) -> Answer:
    """Return what a status asks of a client that prints it; others print only the body."""
    if amount.op != "==" or not shows_http_status(command):
        return None
    return [Expect("stdout", "contains", str(amount.number))]


def _expect_listing(command: Command, amount: Amount) -> Answer:
    if not amount.noun and _FORMATTED.search(command.text):
        return [amount.printed]
    if shows_contents(command):
        return _expect_contents(command, amount)
    if amount.noun and not _is_one_per_line(command, amount.noun):
        return None
    if amount.each:
        # "one match in each of `a` and `b`" says nothing about their sum.
        return None
    if amount.verb in ("with", "shows") and not amount.noun:
        # "shows 5": a number of lines, or one that stands in a line.
        return None
    return _expect_lines(command, amount.op, amount.number)


def _expect_contents(command: Command, amount: Amount) -> Answer:
    """`cat count.txt` returns 3: what is in the file, unless lines are counted.

    "2 changed lines" of a difference are not the lines that it prints.
    """
    if amount.noun.startswith("line"):
        return _expect_lines(command, amount.op, amount.number)
    return None if amount.noun else [amount.printed]


def _is_one_per_line(command: Command, noun: str) -> bool:
    """Whether each line is one of what is counted: "5 exports" of a search for `export`.

    "3 arguments" of a search for a function may all stand in one line.
    """
    if _LINES.match(noun) or lists_names(command):
        return True
    written = command.text.lower()
    return any(word.rstrip("s") in written for word in noun.split())


def _expect_of_tool(command: Command, amount: Amount) -> Answer:
    if amount.verb and _COUNTED_LINES.match(amount.noun):
        return _expect_lines(command, amount.op, amount.number)
    if amount.noun:
        return None
    may_be_status = amount.is_bare_status and amount.number <= 2
    if may_be_status and command.stdout is Stdout.STATUS:
        return [amount.status]
    if command.last.role == "test":
        # "`pytest` → 125": what it has counted is somewhere in its report.
        return None
    return [amount.printed]


def _expect_lines(command: Command, op: str, number: float) -> Answer:
    """Return what a number of lines asks of a command's output."""
    if adds_lines(command):
        return None
    if (op, number) in _NONE:
        return expect_nothing(command)
    if (op, number) in _AT_LEAST_ONE:
        return expect_something(command)
    if prints_blocks(command):
        return None
    total = _expect_total("lines", op, number)
    return [total] if total else None


def expect_something(command: Command) -> Answer:
    """Return what "prints something" asks of a command."""
    if searches(command):
        # A search that finds something exits with 0.
        return []
    return [Expect("stdout", "nonempty")]


def expect_nothing(command: Command) -> Answer:
    """Return what "prints nothing" asks of a command: a count is 0, anything else is empty."""
    if prints_something(command):
        return None
    if is_search(command) and prints_nothing(command):
        # `grep -q` never prints anything: its status says whether it has found something.
        return [] if command.last.negated else [NONZERO]
    if hides_zero(command):
        return [EMPTY]
    return [_ZERO.get(command.stdout, EMPTY)]


def _expect_total(what: Literal["lines", "sum"], op: str, number: float) -> Expect | None:
    """Return the expectation on a number of lines or on a sum, or None if there is no such one."""
    if op == ">":
        op = ">="
        number += 1
    if op not in ("==", ">="):
        return None
    return Expect("stdout", f"{what}{op}", number)
