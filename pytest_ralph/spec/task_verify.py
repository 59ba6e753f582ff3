"""The checks of a task, wherever the task states them: in a field, title, step or prose."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_ralph.spec.checkpoints import read_checkpoint
from pytest_ralph.spec.formats.run_steps import RunStep, read_run_steps
from pytest_ralph.spec.labels import read_label, without_note
from pytest_ralph.spec.verify_text import (
    check_in_title,
    find_verify_text,
    verify_sentence,
    wanted_verifies,
)
from pytest_ralph.text.regex import regex
from pytest_ralph.verify.expect_field import ExpectFieldError, apply_expect_field, is_prose
from pytest_ralph.verify.model import Check, Verify
from pytest_ralph.verify.read import read_verify, with_expected
from pytest_ralph.verify.translate import in_english

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.spec.candidates import TaskBlock
    from pytest_ralph.spec.fields import Field

# `Exit code 0; no new findings` is about the command in the title.
_EXIT_STATUS = regex(
    r"exits?(?: with)?(?: code| status)?(?: is| of|:)? `?0`?(?:[.;]\s*(?P<rest>.*))?",
    re.IGNORECASE | re.DOTALL,
)
_ONLY_NAMES = regex(r"(?:[\s,-]*`[^`\s]+`)+\s*")
# A line of a paragraph, which is no item, fence, heading, quotation or row of a table.
_GOES_ON = regex(r"[ \t]*(?![-*+]\s|\d{1,9}[.)]\s|```|~~~|[#>|<])\S")
# Labels behind a Verify field that say what its command has to give.
_EXPECTED = ("expected", "expected output", "expected result", "pass")


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
    """Return the checks as the words of a task state them."""
    own_lines = lines[block.line + 1 : block.own_end]
    text = find_verify_text(block, lines)
    if not text.strip():
        return _verify_without_field(block, own_lines)
    if _ONLY_NAMES.fullmatch(text) and not read_verify(text).checks:
        # `- Verify: `src/app.ts`` among the files of a task that has steps.
        in_steps = _verify_without_field(block, own_lines)
        if in_steps.checks:
            return in_steps
    checkpoint = read_checkpoint(block, own_lines, text)
    if checkpoint is not None:
        return checkpoint
    # The words of other languages are loaded only for text that has to be of one.
    english = text if text.isascii() else in_english(text)
    status = _EXIT_STATUS.fullmatch(english.strip())
    if status:
        return _command_in_title(block, text, status["rest"])

    steps = _steps_with_results(block.fields)
    if not steps:
        return read_verify(text)
    if len(steps) == 1:
        return _read_step(steps[0])
    return _read_steps(steps)


def _verify_without_field(block: TaskBlock, own_lines: Sequence[str]) -> Verify:
    """Read the checks of a task without a Verify field: from its title or its steps."""
    title = _whole_title(block, own_lines)
    in_title = read_verify(check_in_title(block.title) or verify_sentence(title))
    if in_title.checks:
        return in_title
    # Looking for the word is faster than reading the steps of every task.
    if any("xpect" in line for line in own_lines):
        steps = [step for step in read_run_steps(own_lines) if _is_command(step)]
        if steps:
            return _read_steps(steps)
    return in_title


def _whole_title(block: TaskBlock, own_lines: Sequence[str]) -> str:
    """Return the title of a task with the lines on which it goes on."""
    parts = [block.title.title]
    for line in own_lines:
        if not _GOES_ON.match(line) or read_label(line):
            break
        parts.append(line.strip())
    return " ".join(parts)


def _is_command(step: RunStep) -> bool:
    """Whether a step names a command; `Run: the whole suite` does not."""
    if "`" in step.command:
        return True
    return bool(read_verify(step.command).checks)


def _read_steps(steps: Sequence[RunStep]) -> Verify:
    """Read each step on its own, so that words about one are not taken for words about another."""
    # Imported here: few tasks have steps.
    from pytest_ralph.verify.work import comes_after_checks

    checks: list[Check] = []
    unread: list[str] = []
    for step in steps:
        verify = _read_step(step)
        if verify.mode == "any":
            # Its alternatives cannot stand among commands that are all required.
            unread.append(verify.describe())
            continue
        for check in verify.checks:
            if comes_after_checks(check.command, [earlier.command for earlier in checks]):
                unread.append(f"`{' '.join(check.command.split())}`")
            else:
                checks.append(check)
        unread += verify.unread
        if verify.manual:
            unread.append(verify.manual)
    text = "\n".join(f"{step.command}\nExpected: {step.expected}" for step in steps)
    if not checks:
        return read_verify(text)
    return Verify(tuple(checks), text=text, unread=tuple(unread))


def _read_step(step: RunStep) -> Verify:
    return with_expected(read_verify(step.command), step.expected)


def _command_in_title(block: TaskBlock, text: str, rest: str | None) -> Verify:
    found = read_verify(block.title.title)
    if not found.checks:
        return read_verify(text)
    return found._replace(text=text, unread=(rest,) if rest else ())


def _steps_with_results(fields: Sequence[Field]) -> list[RunStep]:
    """Return the Verify fields, each with the `**Expected**:` behind it, if any has one."""
    # By identity: several fields may be equal.
    results: dict[int, str] = {}
    for field, following in pairwise(fields):
        if without_note(following.label).lower() in _EXPECTED:
            results[id(field)] = following.text.strip()

    steps = []
    for field in wanted_verifies(fields):
        result = results.get(id(field), "")
        steps.append(RunStep(field.text, result))
    if not any(step.expected for step in steps):
        return []
    return steps
