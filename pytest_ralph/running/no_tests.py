"""Whether a test command that ended with 0 ran any test at all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.shell.command import Command
from pytest_ralph.text.inert import terminal

if TYPE_CHECKING:
    from pytest_ralph.verify.model import Verify

# Lines by which runners report that there was nothing to run.
NOTHING_RAN = re.compile(
    r"""
    \bno\ tests?\ (?:were\ |was\ |are\ )?(?:ran|run|found|executed|available|discovered)\b
    | \bno\ tests?\ (?:to\ run|is\ available|matche[sd]?\b|match\b|ran\b)
    | \bno\ (?:test\ (?:files|suites?|cases)|tests|specs?|examples|scenarios)\ (?:were\ )?found\b
    | \bthere\ are\ no\ tests\ to\ run | \[no\ test\ files\] | \bresult:\ notests\b
    | ^\s*tests\s+no\ tests$                                         # vitest
    | \bcollected\ 0\ items\b | \bran\ 0\ tests\b | \bexecuted\ 0\ tests\b
    | \b(?:running|starting)\ 0\ tests\b | \btotal\ tests:\ 0\b
    | \btests\ run:\ 0\b                                             # surefire
    | ^(?:\#|ℹ)\ tests\ 0$ | ^1\.\.0\b                               # TAP
    | ^\s*0\ (?:passing|pass|examples|runs|scenarios|specs|tests)\b | \|\ 0\ passed\b
    | ^0\ scenarios\ passed,\ 0\ failed | ^>\ Task\ \S*:test\ NO-SOURCE
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Lines that show that at least one test ran.
SOMETHING_RAN = re.compile(
    r"""
    \b[1-9]\d*\ (?:\w+\ )?
    (?:passed|passing|pass|succeeded|failed|failing|failures?|skipped|pending)\b
    | \b[1-9]\d*\ (?:examples?|runs|scenarios?|specs?)\b
    | \b(?:ran|running|executed|starting)\ [1-9]\d*\ (?:\w+\ )?tests?\b
    | \b(?:tests\ run|total\ tests|tests|passed|total):?\s+[1-9]\d*\b
    | ^(?:not\ )?ok\ \d | ^1\.\.[1-9]
    | ^ok\s+\S+\s+(?:[\d.]+s|\(cached\))(?!.*\[no\ tests\ to\ run\])   # go
    | ^\s*(?:✓|✔|√|✗|✘|✕|✖)\ \S
    | ^>\ Task\ \S*:test(?:\ UP-TO-DATE|\ FROM-CACHE)?$
    """,
    re.IGNORECASE | re.VERBOSE,
)
# How a Verify field says that no test runs.
NO_TEST_WORDS = re.compile(
    r"\b(?:no|zero|0) (?:tests?|specs?|examples|items|scenarios)\b|\bwithout tests\b",
    re.IGNORECASE,
)
# Commands that print what others wrote: their output says nothing about tests that ran.
READING_ROLES = frozenset({"check", "data", "net", "versions"})


def no_test_ran(command: str, output: str, exit_code: int | None) -> str | None:
    """Return the line that says that a successful command ran no test, otherwise None.

    A run in which only some packages have no tests is not a run without tests.
    """
    if exit_code != 0 or not _may_run_tests(command):
        return None
    nothing = None
    for line in terminal(output).splitlines():
        if SOMETHING_RAN.search(line):
            return None
        if nothing is None and NOTHING_RAN.search(line):
            nothing = line.strip()
    return nothing


def _may_run_tests(command: str) -> bool:
    """Whether a program of the command line does more than print what there is."""
    for stage in Command.parse(command).stages:
        only_prints = any(map(stage.is_listed, ("texts", "lists", "silent")))
        if not only_prints and stage.role not in READING_ROLES:
            return True
    return False


def expects_no_test(verify: Verify) -> bool:
    """Whether a Verify field says in so many words that no test runs."""
    prose = verify.text
    for check in verify.checks:
        prose = prose.replace(check.command, "")
        for expect in check.expect:
            if NO_TEST_WORDS.search(str(expect.value)):
                return True
    return NO_TEST_WORDS.search(prose) is not None
