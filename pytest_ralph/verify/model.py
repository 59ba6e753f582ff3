"""The values read from a Verify field: Verify, its Checks, and what each Check expects."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from pytest_ralph.text.regex import regex

Stream = Literal["exit", "stdout", "stderr"]

# `Manual:` before the reason, which is not repeated where the check is called manual anyway.
_MANUAL = regex(r"\s*manual(?:ly)?\s*[:—–-]\s*", re.IGNORECASE)


def parse_number(text: str) -> int | float:
    """Return the number that a field states: 3 or 2.5."""
    return float(text) if "." in text else int(text)


class OneOf(tuple[int | float | str, ...]):
    """The values of an `in` expectation, shown as a list, the way JSON and people write them."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(list(self))


class Expect(NamedTuple):
    """One expectation on a command's exit status or on what it printed."""

    stream: Stream
    op: str
    value: int | float | str | tuple[int | float | str, ...] | None = None

    def __str__(self) -> str:
        name = "exit status" if self.stream == "exit" else self.stream
        if self.value is None:
            return f"{name} {self.op}"
        return f"{name} {self.op} {self.value!r}"


NONZERO = Expect("exit", "nonzero")
EMPTY = Expect("stdout", "empty")


class Check(NamedTuple):
    """One command of a Verify field. No expectation means: exit status 0.

    `files` are paths, relative to the working directory, that must exist after the command.
    """

    command: str
    expect: tuple[Expect, ...] = ()
    directory: str | None = None
    files: tuple[str, ...] = ()

    @property
    def reads_output(self) -> bool:
        return any(expect.stream != "exit" for expect in self.expect)

    def describe(self) -> str:
        """Return the command and what is expected of it: `grep -c def a.py, stdout >= 2`."""
        expected = [str(expect) for expect in self.expect]
        files = [f"file {name} exists" for name in self.files]
        return ", ".join([self.command, *expected, *files])


class Verify(NamedTuple):
    """A Verify field as a careful person reads it.

    `text` is the field exactly as written, `manual` the reason why no command can be run, and
    `unread` the words beside the commands that were not understood and are not checked. `invalid`
    says what is wrong with the Expect field beside it: such a task fails.
    """

    checks: tuple[Check, ...] = ()
    mode: Literal["all", "any"] = "all"
    manual: str | None = None
    text: str = ""
    unread: tuple[str, ...] = ()
    invalid: str | None = None

    @property
    def by_hand(self) -> str:
        """The reason in `manual`, without the word "Manual:" at its start."""
        reason = self.manual or ""
        label = _MANUAL.match(reason)
        return reason[label.end() :] if label else reason

    def describe(self) -> str:
        """Return how the field is read, in one line."""
        if self.invalid:
            return f"invalid: {self.invalid}"
        if self.manual:
            return f"manual: {self.by_hand}"
        if not self.checks:
            return "no Verify field"
        joint = " and " if self.mode == "all" else " or "
        return joint.join(check.describe() for check in self.checks)


NO_VERIFY = Verify()
