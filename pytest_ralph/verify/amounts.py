"""What a number behind a command is compared with: that depends on what the command prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from pytest_ralph.shell.command import Command
from pytest_ralph.text.regex import regex
from pytest_ralph.verify.model import Expect
from pytest_ralph.verify.stdout_kind import (
    Prints,
    adds_lines,
    always_prints,
    counts_several_files,
    ends_with_echo,
    hides_zero,
    is_http,
    lists_names,
    prints,
    prints_in_turn,
    prints_nothing,
    searches,
    searches_quietly,
    shows_contents,
    shows_http_status,
)

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
_STATUS_VERBS = frozenset(("returns", "is", "equals", "→", "expect"))
# The user chose what is printed: it is no longer a list.
_FORMATTED = regex(r"\s(?:-o jsonpath|--jq|-q \.|--format)\b|\bjsonpath=")
# What a tool prints beside anything else that it may print, such as a heading, is not counted.
_COUNTED_LINES = regex(r"(?:\w+ )?(?:lines?|match|matches|hits?|occurrences?|files?)\b")

_AT_LEAST_ONE = ((">", 0), ("!=", 0), (">=", 1))


class Amount(NamedTuple):
    """A number that a clause states: "returns >= 3 lines"."""

    op: str
    number: float
    noun: str
    verb: str
    # Whether it is stated of each line or of each command.
    each: bool = False

    @property
    def is_bare_status(self) -> bool:
        """Whether it may be an exit status: "returns 1"."""
        is_status = self.op == "==" or (self.op, self.number) == ("!=", 0)
        return is_status and self.verb in _STATUS_VERBS and not self.noun

    @property
    def status(self) -> Expect:
        """What it asks if it is an exit status."""
        if self.op == "!=":
            return Expect("exit", "nonzero")
        return Expect("exit", "==", self.number)


def expect_amount(command: str, amount: Amount) -> Answer:
    """Return what an amount asks of a command."""
    if _MEASURE.match(amount.noun) or _VERSION.search(command):
        return None
    if amount.is_bare_status and prints_nothing(command):
        return [amount.status]
    if amount.each and amount.op == "==" and prints_in_turn(command):
        return [Expect("stdout", "each_line==", amount.number)]

    shown = prints(command)
    if shown in (Prints.COUNT, Prints.COUNTS):
        return _expect_of_count(command, amount)
    if _OUTCOME.match(amount.noun):
        return _expect_outcome(command, amount)
    if is_http(command):
        return _expect_http_status(command, amount)
    if shown is Prints.LINES:
        return _expect_of_listing(command, amount)
    return _expect_of_tool(command, amount)


def _expect_outcome(command: str, amount: Amount) -> Answer:
    """Take "0 errors" for a run that went well; its status does not tell any other count."""
    is_none = amount.op == "==" and amount.number == 0
    if is_none and amount.verb and searches(command):
        # "`make | grep error` returns 0 errors": what it looks for.
        return expect_nothing(command)
    if prints(command) is not Prints.STATUS:
        return None
    return [] if is_none else None


def _expect_of_count(command: str, amount: Amount) -> Answer:
    if hides_zero(command) and amount.op == "==" and amount.number == 0:
        return expect_nothing(command)
    if amount.each and amount.op != "==" and counts_several_files(command):
        # What each of several files is compared with cannot be said of their sum.
        return None
    if prints(command) is Prints.COUNTS:
        return _expect_sum(amount)
    return [Expect("stdout", amount.op, amount.number)]


def _expect_of_tool(command: str, amount: Amount) -> Answer:
    if amount.verb and _COUNTED_LINES.match(amount.noun):
        return expect_lines(command, amount.op, amount.number)
    if amount.noun:
        return None
    is_status = prints(command) is Prints.STATUS and amount.is_bare_status
    if is_status and amount.number <= 2:
        return [amount.status]
    if Command.parse(command).last.role == "test":
        # "`pytest` → 125": what it has counted is somewhere in its report.
        return None
    return [Expect("stdout", amount.op, amount.number)]


def expect_lines(command: str, op: str, number: float) -> Answer:
    """Return what a number of lines asks of a command's output."""
    if adds_lines(command):
        return None
    if number == 0 and op in ("==", "<="):
        return expect_nothing(command)
    if (op, number) in _AT_LEAST_ONE:
        return expect_something(command)
    if op in ("==", ">="):
        return [Expect("stdout", f"lines{op}", number)]
    if op == ">":
        return [Expect("stdout", "lines>=", number + 1)]
    return None


def expect_something(command: str) -> Answer:
    """Return what "prints something" asks of a command."""
    if searches(command):
        # A search that finds something exits with 0.
        return []
    return [Expect("stdout", "nonempty")]


def expect_nothing(command: str) -> Answer:
    """Return what "prints nothing" asks of a command: a count is 0, anything else is empty."""
    if ends_with_echo(command) or always_prints(command):
        # It prints its own verdict or a heading, so its output is never empty.
        return None
    if searches_quietly(command):
        # It never prints anything: its status says whether it has found something.
        return [] if Command.parse(command).last.negated else [Expect("exit", "nonzero")]
    shown = prints(command)
    if hides_zero(command):
        return [Expect("stdout", "empty")]
    if shown is Prints.COUNT:
        return [Expect("stdout", "==", 0)]
    if shown is Prints.COUNTS:
        return [Expect("stdout", "sum==", 0)]
    return [Expect("stdout", "empty")]


def _expect_sum(amount: Amount) -> Answer:
    if amount.each and amount.op == "==":
        return [Expect("stdout", "each_line==", amount.number)]
    if amount.op in ("==", ">="):
        return [Expect("stdout", f"sum{amount.op}", amount.number)]
    if amount.op == ">":
        return [Expect("stdout", "sum>=", amount.number + 1)]
    return [Expect("stdout", amount.op, amount.number)]


def _expect_http_status(command: str, amount: Amount) -> Answer:
    """Return what a status asks of a client that prints it; others print only the body."""
    if amount.op == "==" and shows_http_status(command):
        return [Expect("stdout", "contains", str(amount.number))]
    return None


def _expect_of_listing(command: str, amount: Amount) -> Answer:
    if _FORMATTED.search(command) and not amount.noun:
        return [Expect("stdout", amount.op, amount.number)]
    if shows_contents(command):
        return _expect_of_contents(command, amount)
    if amount.noun and not _is_one_per_line(command, amount.noun):
        return None
    if amount.each:
        # "one match in each of `a` and `b`" says nothing about their sum.
        return None
    if amount.verb in ("with", "shows") and not amount.noun:
        # "shows 5": a number of lines, or one that stands in a line.
        return None
    return expect_lines(command, amount.op, amount.number)


def _is_one_per_line(command: str, noun: str) -> bool:
    """Whether each line is one of what is counted: "5 exports" of a search for `export`.

    "3 arguments" of a search for a function may all stand in one line.
    """
    if _LINES.match(noun) or lists_names(command):
        return True
    written = command.lower()
    return any(word.rstrip("s") in written for word in noun.split())


def _expect_of_contents(command: str, amount: Amount) -> Answer:
    """`cat count.txt` returns 3: what is in the file, unless lines are counted.

    "2 changed lines" of a difference are not the lines that it prints.
    """
    if amount.noun.startswith("line"):
        return expect_lines(command, amount.op, amount.number)
    if amount.noun:
        return None
    return [Expect("stdout", amount.op, amount.number)]
