"""The checks of a task, wherever the task states them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ralph.spec.formats.run_steps import read_run_steps
from pytest_ralph.spec.formats.title_check import check_in_title
from pytest_ralph.spec.verify_text import (
    expected_text,
    inline_verify,
    quoted_verify,
    verify_text,
)
from pytest_ralph.text.regex import regex
from pytest_ralph.verify.expect_field import ExpectFieldError, apply_expect_field, is_prose
from pytest_ralph.verify.model import Check, Verify
from pytest_ralph.verify.read import read_verify, with_expected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.spec.candidates import TaskBlock
    from pytest_ralph.spec.formats.run_steps import RunStep

# A field with more words than these may ask for more than its commands can show: a person looks.
_ALL_COMMANDS = regex(
    r"(?:all|both|every)(?: of)?(?: the)? commands?(?: must| should)?"
    r" (?:(?:exits?|returns?)(?: with)?(?: exit)?(?: code| status)? 0|pass|succeed"
    r"|complete successfully)\W*",
    re.IGNORECASE,
)


def read_task_verify(block: TaskBlock, lines: Sequence[str], expect: str | None) -> Verify:
    """Return the checks of a task: of its Verify field, its title, or its steps.

    `expect` is the text of its Expect field, which overrides what the words say.
    """
    verify = _read_words(block, lines)
    if expect is None:
        return verify
    if is_prose(expect):
        return _read_prose(verify, expect)
    try:
        return apply_expect_field(verify, expect)
    except ExpectFieldError as error:
        # What the author wants is not known, so running the command would prove nothing.
        return Verify(text=verify.text, invalid=f"Expect field: {error}")


def _read_prose(verify: Verify, expect: str) -> Verify:
    """Read an Expect field that is prose like the words behind a command."""
    if not verify.checks:
        return verify
    read = with_expected(verify, expect)
    if read.checks == verify.checks and read.unread != verify.unread:
        return Verify(text=verify.text, manual=f"Expect field: {expect}")
    return read


def _read_words(block: TaskBlock, lines: Sequence[str]) -> Verify:
    text = verify_text(block.fields) or inline_verify(lines[block.line])
    if not text:
        text = quoted_verify(lines[block.line + 1 : block.own_end])
    if not text.strip():
        return _verify_without_field(block, lines)
    if _ALL_COMMANDS.fullmatch(text.strip()):
        return _commands_elsewhere(block, text)
    expected = expected_text(block.fields)
    if expected:
        return with_expected(read_verify(text), expected)
    return read_verify(text)


def _verify_without_field(block: TaskBlock, lines: Sequence[str]) -> Verify:
    in_title = read_verify(check_in_title(block.title))
    if in_title.checks:
        return in_title
    own_lines = lines[block.line + 1 : block.own_end]
    if any("xpect" in line for line in own_lines):
        steps = read_run_steps(own_lines)
        if steps:
            return _read_steps(steps)
    return read_verify("")


def _read_steps(steps: Sequence[RunStep]) -> Verify:
    """Read each step on its own, so that words about one are not taken for words about another."""
    checks: list[Check] = []
    unread: list[str] = []
    for step in steps:
        verify = with_expected(read_verify(step.command), step.expected)
        checks += verify.checks
        unread += verify.unread
    text = "\n".join(f"{step.command}\nExpected: {step.expected}" for step in steps)
    if not checks:
        return read_verify(text)
    return Verify(tuple(checks), text=text, unread=tuple(unread))


def _commands_elsewhere(block: TaskBlock, text: str) -> Verify:
    """Return the commands in the Do field or in the title, to which a checkpoint refers."""
    do = [field.text for field in block.fields if field.name in ("Do", "Steps")]
    title = block.title.title
    # `Quality checkpoint: make lint && make test`
    behind_colon = title.partition(": ")[2]
    for source in (*do, title, behind_colon):
        found = read_verify(source)
        if found.checks:
            # Other words of the Do field are instructions, not expectations.
            return found._replace(text=text, unread=())
    return read_verify(text)
