"""The checks of a task, wherever the task states them: in a field, title, step or prose."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_ralph.spec.checkpoints import read_checkpoint
from pytest_ralph.spec.fields import read_fields
from pytest_ralph.spec.formats.run_steps import RunStep, read_run_steps
from pytest_ralph.spec.formats.xml_tasks import verify_element
from pytest_ralph.spec.labels import MANUAL, NOTE, before_next_label, under_note, without_note
from pytest_ralph.text.markdown import dedent
from pytest_ralph.text.regex import regex
from pytest_ralph.verify.expect_field import ExpectFieldError, apply_expect_field, is_prose
from pytest_ralph.verify.model import Check, Verify
from pytest_ralph.verify.read import read_verify, with_expected
from pytest_ralph.verify.translate import in_english

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.spec.candidates import TaskBlock
    from pytest_ralph.spec.fields import Field
    from pytest_ralph.spec.task_line import TaskLine

# `Exit code 0; no new findings` is about the command in the title.
_EXIT_STATUS = regex(
    r"exits?(?: with)?(?: code| status)?(?: is| of|:)? `?0`?(?:[.;]\s*(?P<rest>.*))?",
    re.IGNORECASE | re.DOTALL,
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
    """Return the checks as the words of a task state them."""
    own_lines = lines[block.line + 1 : block.own_end]
    text = verify_text(block.fields) or inline_verify(lines[block.line])
    if not text:
        text = quoted_verify(own_lines) or verify_element(own_lines)

    if not text.strip():
        return _verify_without_field(block, own_lines)
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
    in_title = read_verify(check_in_title(block.title))
    if in_title.checks:
        return in_title
    # Looking for the word is faster than reading the steps of every task.
    if any("xpect" in line for line in own_lines):
        steps = [step for step in read_run_steps(own_lines) if _is_command(step)]
        if steps:
            return _read_steps(steps)
    return read_verify("")


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


_TITLE_CHECK = regex(
    rf"(?:\[[^\]]*\][ \t]*)*(?:(?:verify|verification|run)(?P<note>{NOTE})?[ \t]*:[ \t]*"
    r"|verify[ \t]+(?=`))"
    r"(?P<check>\S.*)",
    re.IGNORECASE,
)


def check_in_title(title: TaskLine) -> str:
    """Return the check that a title consists of, or an empty string."""
    match = _TITLE_CHECK.fullmatch(title.title)
    return under_note(match["note"] or "", match["check"]) if match else ""


_EXPECTED = ("expected", "expected output", "expected result", "pass")
_GREEN = regex(r"\bgreen\b", re.IGNORECASE)
_RED = regex(r"\bred\b", re.IGNORECASE)
_BOLD_VERIFY = (
    r"(?:\*\*|__)Verif(?:y|ication)"
    rf"(?P<note>{NOTE})?[ \t]*:?(?:\*\*|__)(?P<late>{NOTE}(?=[ \t]*:))?[ \t]*:?[ \t]*"
)
_INLINE_VERIFY = regex(
    rf"[ \t.;,—–(-]{_BOLD_VERIFY}"
    rf"|[.;—–|(-][ \t]*Verif(?:y|ication)(?P<plain>{NOTE})?:[ \t]*(?=`)",
    re.IGNORECASE,
)
_QUOTE_MARK = regex(r"[ \t]*>[ \t]?")
_BEHIND = regex(
    rf"[·•|;.,][ \t]*{_BOLD_VERIFY}"
    rf"|[·•|;.,][ \t]+Verif(?:y|ication)(?P<plain>{NOTE})?(?:[ \t](?:with|by|via))?:[ \t]*(?=`)",
    re.IGNORECASE,
)


def verify_text(fields: Sequence[Field]) -> str:
    """Return the text of the Verify fields that count, or of a Verify in another field."""
    wanted = wanted_verifies(fields)
    if not wanted:
        return _verify_behind_another(fields)
    if len(wanted) == 1:
        return wanted[0].text
    # Words, a list or a fence in one of them must not look like a part of the one above it.
    return "\n\n".join(dedent(field.text).strip("\n") for field in wanted)


def wanted_verifies(fields: Sequence[Field]) -> list[Field]:
    """Return the Verify fields that count.

    Of `Verify RED` and `Verify GREEN` only the second does, and a check by hand only on its own.
    """
    verifies = [field for field in fields if field.name == "Verify"]
    green = [field for field in verifies if _GREEN.search(field.label)]
    not_red = [field for field in verifies if not _RED.search(field.label)]
    wanted = green or not_red or verifies
    automatic = [field for field in wanted if not field.text.startswith(MANUAL)]
    return automatic or wanted


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


def inline_verify(title_line: str) -> str:
    """Return the Verify text on the line of the title: `- [ ] T001 Do it. **Verify**: …`."""
    match = _INLINE_VERIFY.search(title_line)
    return _text_behind(match) if match else ""


def _text_behind(label: re.Match[str]) -> str:
    note = label["note"] or label["late"] or label["plain"] or ""
    return under_note(note, before_next_label(label.string[label.end() :]))


def quoted_verify(lines: Sequence[str]) -> str:
    """Return the text of the Verify fields in the block quotes of a task: `> **Verify**: …`."""
    quoted = []
    for line in lines:
        mark = _QUOTE_MARK.match(line)
        if mark:
            quoted.append(line[mark.end() :])
    return verify_text(read_fields(quoted, 0, len(quoted), ()))


def _verify_behind_another(fields: Sequence[Field]) -> str:
    """Return the Verify text on the line of another field: `**Effort**: M · **Verify**: …`."""
    for field in fields:
        line = field.text.partition("\n")[0]
        match = _BEHIND.search(line)
        if match is None:
            continue
        backticks_before = line.count("`", 0, match.start())
        is_in_code = backticks_before % 2 == 1
        if not is_in_code:
            return _text_behind(match).strip()
    return ""
