"""What a number behind a command is compared with: that depends on what the command prints."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from pytest_ralph.shell.stdout import Stdout
from pytest_ralph.text.regex import regex
from pytest_ralph.verify.model import NONZERO, Expect, OneOf
from pytest_ralph.verify.statements import RESULT_VERBS, expect_nothing, expect_something
from pytest_ralph.verify.stdout_kind import (
    adds_lines,
    compares,
    counts_only,
    counts_several_files,
    hides_zero,
    is_http,
    lists_names,
    prints_blocks,
    prints_nothing,
    prints_numbers,
    prints_several_numbers,
    searches,
    shows_contents,
    shows_http_status,
)
from pytest_ralph.verify.vocabulary import any_of

if TYPE_CHECKING:
    from pytest_ralph.verify.statements import Answer, Statement

_WORD = r"(?:[\w-]+ ){0,2}"
# What only the tool itself counts: its exit status speaks for it.
_OUTCOME = any_of("outcome noun", _WORD, r"\b")
# "12 passed, 0 failed", "12/12 tests pass"
OUTCOME_COUNT = any_of("outcome noun", rf"\d {_WORD}", r"\b")
# Not in the output at all.
_MEASURE = any_of("measure", _WORD, r"\b|%")
# One line each.
_LINES = any_of("one per line", _WORD, r"\b")
# `node --version` prints `v20.1.0`, which is no number.
_VERSION = regex(r"\s(?:--version|-v|-V|version)$")
# "2 new files" are only some of those that are listed.
_SOME_OF_THEM = regex(r"(?:new|newly|added|extra|additional|modified|changed|updated)\b")
# The user chose what is printed: it is no longer a list.
_FORMATTED = regex(
    r"\s(?:-o jsonpath|--jq|-q \.|--format)\b|\bjsonpath=|\|\s*cut\s[^|]*$"
    r"|\|\s*(?:head|tail) -(?:n ?)?1$"
)
# What a tool prints beside anything else that it may print, such as a heading, is not counted.
_COUNTED_LINES = regex(r"(?:\w+ )?(?:lines?|match|matches|hits?|occurrences?)\b")
# "creates 3 files", "with 2 matches": not of what is printed.
_NOT_PRINTED_VERBS = ("contains", "creates", "with")
# "reports 3 files" tells what a message says.
_REPORTS = regex(r"(?i)\breports?\b")

_NONE = (("==", 0), ("<=", 0))
_AT_LEAST_ONE = ((">", 0), ("!=", 0), (">=", 1))
_COUNT_NOUNS = ("count", "number", "total", "integer")
_STATUS_NOUNS = ("code", "status", "exit")
_PRINTS_STATUS = regex(r"\becho \"?\$\?\"?\W*$")
# What these print is a number of bytes.
_BYTES = regex(r"\bwc -c\b|\bstat .*%[sz]\b|\bdu -\w*b")
# "should have 0" is about lines, "shows 0" maybe about what stands in one.
_HAS = regex(r"(?i)\b(?:has|have|finds?|lists?|reports?)\b")
_AT_ONE_END = regex(r"(?i)\b(?:starts|begins|ends) with\b")


def amount(said: Statement) -> Answer:
    """Return what a number asks: that depends on what the command prints."""
    command = said.command
    is_stated = said.verb or said.group("op") or said.noun
    if not is_stated and not prints_numbers(command):
        # "`./deploy.sh`, 12" says nothing about 12.
        return None
    part = _part_of_output(said)
    if part is not None:
        return [Expect("stdout", "contains", part)]
    if _is_measured(said) or _is_one_of_several(said):
        return None
    if _may_be_status(said) and prints_nothing(command):
        return [_status(said)]
    if said.op == "==" and said.is_of_each_line:
        return [Expect("stdout", "each_line==", said.number)]
    if prints_numbers(command):
        return _expect_count(said)
    return _expect_of_text(said)


def _expect_of_text(said: Statement) -> Answer:
    """Return what a number asks of a command that prints more than numbers."""
    if _SOME_OF_THEM.match(said.noun) and not _is_zero(said):
        return None
    if _OUTCOME.match(said.noun):
        return _expect_outcome(said)
    if is_http(said.command):
        return _expect_http_status(said)
    if said.command.stdout is Stdout.LINES:
        return _expect_listing(said)
    return _expect_of_tool(said)


def amount_in(said: Statement) -> Answer:
    """Return what "returns 2 or 3" asks."""
    exact = _exact_amount(said)
    if exact is None:
        return None
    choices = OneOf((said.number, said.other_number))
    return [exact._replace(op="in", value=choices)]


def amount_between(said: Statement) -> Answer:
    """Return what "returns 2 to 5" asks."""
    exact = _exact_amount(said)
    if exact is None:
        return None
    return [exact._replace(op=">="), exact._replace(op="<=", value=said.other_number)]


def nonzero(said: Statement) -> Answer:
    if _PRINTS_STATUS.search(said.command.text):
        return [Expect("stdout", "!=", 0)]
    if said.noun.startswith(_COUNT_NOUNS) or prints_numbers(said.command):
        return [Expect("stdout", ">", 0)]
    if not said.noun or said.noun.startswith(_STATUS_NOUNS):
        return [NONZERO]
    return None


def _exact_amount(said: Statement) -> Expect | None:
    """Return what the first of two numbers asks alone, if that can be asked of both."""
    asked = amount(said)
    return asked[0] if asked and asked[0].op == "==" else None


def _is_one_of_several(said: Statement) -> bool:
    """Whether it is one of the numbers that a command prints: `wc -l a && grep -c x b`."""
    return prints_several_numbers(said.command) and not said.is_of_each_line


def _is_measured(said: Statement) -> bool:
    """Whether a number is of something that is not printed: seconds, but not `wc -c` in bytes."""
    if _VERSION.search(said.command.text):
        return True
    if said.noun == "bytes" and _BYTES.search(said.command.text):
        return False
    return _MEASURE.match(said.noun) is not None


def _part_of_output(said: Statement) -> int | float | str | None:
    """Return what stands somewhere in the output: "contains 200", "ends with 200", "shows 30s"."""
    if said.op != "==" or said.group("noun") or counts_only(said.command):
        return None
    if said.group("unit"):
        return _measure_in_output(said)
    if said.verb == "contains" or _AT_ONE_END.search(said.clause.source):
        return said.number
    return None


def _measure_in_output(said: Statement) -> str | None:
    """Return the `30s` of "shows 30s", which stands in a line that is found or in a file."""
    if not said.verb or said.group("op"):
        return None
    if not searches(said.command) and not shows_contents(said.command):
        return None
    found = re.search(rf"(?i){said.group('number')}{said.group('unit')}", said.clause.source)
    return found[0] if found else None


def _is_zero(said: Statement) -> bool:
    return said.op == "==" and said.number == 0


def _is_of_each(said: Statement) -> bool:
    return said.op == "==" and said.is_of_each


def _may_be_status(said: Statement) -> bool:
    """Whether it may be an exit status: "returns 1"."""
    if said.noun or said.verb not in RESULT_VERBS:
        return False
    if said.op == "!=":
        return said.number == 0
    return said.op == "=="


def _status(said: Statement) -> Expect:
    if said.op == "!=":
        return NONZERO
    return Expect("exit", "==", said.number)


def _printed(said: Statement) -> Expect:
    """Return what a number asks of a command that prints just the number."""
    return Expect("stdout", said.op, said.number)


def _expect_count(said: Statement) -> Answer:
    command = said.command
    if _is_zero(said) and hides_zero(command):
        return expect_nothing(command)
    if said.is_of_each and _is_zero(said) and command.stdout is Stdout.COUNTS:
        # Where each is 0, so is their sum.
        return [Expect("stdout", "sum==", 0)]
    if _is_of_each(said):
        op = "==" if command.stdout is Stdout.COUNT else "each_line=="
        return [Expect("stdout", op, said.number)]
    if said.is_of_each and counts_several_files(command):
        # What each of several files is compared with cannot be said of their sum.
        return None
    if command.stdout is Stdout.COUNT:
        return [_printed(said)]
    return [_expect_total("sum", said) or _printed(said)]


def _expect_outcome(said: Statement) -> Answer:
    """Take "0 errors" for a run that went well; its status does not tell any other count."""
    if not _is_zero(said):
        return None
    if said.verb and searches(said.command):
        # "`make | grep error` returns 0 errors": what it looks for.
        return expect_nothing(said.command)
    return [] if said.is_of_tool else None


def _expect_http_status(said: Statement) -> Answer:
    """Return what a status asks of a client that prints it; others print only the body."""
    if said.op != "==" or not shows_http_status(said.command):
        return None
    return [Expect("stdout", "contains", str(said.number))]


def _expect_listing(said: Statement) -> Answer:
    if not said.noun and _FORMATTED.search(said.command.text):
        return [_printed(said)]
    if shows_contents(said.command) and not lists_names(said.command):
        return _expect_contents(said)
    if said.is_of_each:
        # "one match in each of `a` and `b`" says nothing about their sum.
        return None
    if said.noun and not _is_one_per_line(said):
        return None
    has_none = _is_zero(said) and _HAS.search(said.clause.source)
    if not said.noun and said.verb in ("with", "shows") and not has_none:
        # "shows 5": a number of lines, or one that stands in a line.
        return None
    return _expect_lines(said)


def _expect_contents(said: Statement) -> Answer:
    """`cat count.txt` returns 3: what is in the file, unless lines are counted.

    "2 changed lines" of a difference are not the lines that it prints.
    """
    if compares(said.command) and _may_be_status(said):
        # `git diff --exit-code` → 0
        return [_status(said)]
    if not said.noun:
        return [_printed(said)]
    if said.noun.startswith("line"):
        return _expect_lines(said)
    return None


def _is_one_per_line(said: Statement) -> bool:
    """Whether each line is one of what is counted: "5 exports" of a search for `export`.

    "3 arguments" of a search for a function may all stand in one line.
    """
    if _LINES.match(said.noun) or lists_names(said.command):
        return True
    written = said.command.text.lower()
    singulars = [word.rstrip("s") for word in said.noun.split()]
    return any(word in written for word in singulars)


def _expect_of_tool(said: Statement) -> Answer:
    if said.noun:
        return _expect_printed_lines(said)
    is_small = said.number <= 2
    if said.is_of_tool and is_small and _may_be_status(said):
        return [_status(said)]
    if said.command.last.role == "test":
        # "`pytest` → 125": what it has counted is somewhere in its report.
        return None
    return [_printed(said)]


def _expect_printed_lines(said: Statement) -> Answer:
    if not said.verb or said.verb in _NOT_PRINTED_VERBS:
        return None
    if not _COUNTED_LINES.match(said.noun) or _REPORTS.search(said.clause.source):
        return None
    return _expect_lines(said)


def _expect_lines(said: Statement) -> Answer:
    """Return what a number of lines asks of a command's output."""
    command = said.command
    limit = (said.op, said.number)
    if adds_lines(command):
        return None
    if limit in _NONE:
        return expect_nothing(command)
    if limit in _AT_LEAST_ONE:
        return expect_something(command)
    if prints_blocks(command):
        return None
    total = _expect_total("lines", said)
    return [total] if total else None


def _expect_total(what: Literal["lines", "sum"], said: Statement) -> Expect | None:
    """Return the expectation on a number of lines or on a sum, or None if there is no such one."""
    if said.op == ">":
        return Expect("stdout", f"{what}>=", said.number + 1)
    if said.op in ("==", ">="):
        return Expect("stdout", f"{what}{said.op}", said.number)
    return None
