"""What an executor says about its own work: a FAILED block, a report, a claim, a limit.

An executor's words are evidence among other evidence. They decide only when the check of the task
fails and nothing else explains why.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_ralph.failure.agent_limits import context_limit, rate_limit
from pytest_ralph.failure.causes import causes_in, causes_in_prose
from pytest_ralph.failure.failure import (
    CIRCULAR_FIX,
    NO_ERROR,
    NO_FIX,
    NO_STATUS,
    NOT_COMPLETE,
    UNKNOWN,
    Failure,
)
from pytest_ralph.failure.finding import Finding, first_of_lowest_rank
from pytest_ralph.failure.lines import matching
from pytest_ralph.failure.output import CommandOutput, clean
from pytest_ralph.failure.ownership import with_owner
from pytest_ralph.failure.report import is_retryable, looks_like_report, parse_report
from pytest_ralph.failure.similarity import is_circular
from pytest_ralph.failure.test_runs import read_marked_tests

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ralph.failure.context import FailureContext
    from pytest_ralph.failure.kinds import Kinds

# The FAILED block:
#
#   Task 1.3: Add failure parser FAILED
#   - Error: File not found: src/parser.ts
#   - Attempted fix: Checked other paths
#   - Status: Blocked, needs manual intervention
MARKER = re.compile(
    r"^[ \t>*#_-]*Task[ \t]+(?P<id>[A-Za-z]{0,3}-?[A-Za-z]?\d[\w.~-]*?|V[A-Z]*\d*)\.?[ \t]*:"
    r".*?\**[ \t]*\bFAILED\b[ \t*_.!]*$",
    re.MULTILINE,
)
FIELD = r"^[ \t>]*[-*•]?[ \t]*\**{name}\**[ \t]*:\**[ \t]*(?P<value>\S.*?)[ \t]*$"
NEXT_TASK = re.compile(r"^[ \t>*#_-]*Task[ \t]+\S+:", re.MULTILINE)
LONGEST_TEXT = 200_000

# Claims about the work.
LAST_LINES = 12
COMPLETE = re.compile(r"^[\s>*_`#-]*(?:ALL_TASKS_COMPLETE|TASK_COMPLETE)[\s*_`.!]*$")
MANUAL = re.compile(
    r"(?:requires?|needs?|needed|pending|awaiting) (?:\w+ )?(?:manual|human)\b"
    r"|manual (?:\w+ )?(?:is |are |still )?(?:required|needed)"
    r"|(?:cannot|can't|could not) be automated"
    r"|(?:must|has to|have to|should) be (?:\w+ )?manually|needs? a human",
    re.IGNORECASE,
)
UNFINISHED = re.compile(
    r"(?:could not|couldn't|cannot|can't|unable to|failed to|was not able to|did not|didn't) "
    r"(?:\w+ )?(?:complete|finish|verify|implement|run|fix|test|get|resolve|install|reproduce|make)"
    r"|(?:not (?:yet |been |fully )*|un)(?:implemented|finished|verified|tested|resolved)"
    r"|partially (?:complete|implemented|done|working)"
    r"|(?:left|remains?|is) (?:as )?(?:a )?(?:TODO|stub|placeholder)"
    r"|skipped (?:the |some )?(?:tests?|verification|steps?)"
    r"|(?:tests?|build|lint|type ?check) (?:still |currently )?"
    r"(?:fails?|failing|is broken|are broken)|still (?:failing|broken)"
    r"|\b[1-9]\d* (?:tests? )?(?:failed|failing|failures?|errors?|problems?)\b"
    r"|\b(?:exits|exited|exit code|exit status)(?: with)?:? (?:code |status )?[1-9]",
    re.IGNORECASE,
)
NEGATION = re.compile(
    r"\b(?:no|not|never|without|nothing|zero|0|fixed|resolved|previously|instead of|if"
    r"|was failing)\W+(?:\w+\W+){0,3}$",
    re.IGNORECASE,
)

# `ERROR: test_failure` above a block of details.
HEADING_KIND = re.compile(
    r"^\s*ERROR:\s*(?P<kind>[a-z]+_[a-z]+|timeout)(?:\s*\(NON-RETRYABLE\))?\s*$"
)
# `Type: test_failure` in the details of a retry, `Error: test_failure` in those of a halt.
FIELD_KIND = re.compile(
    r"^[\s║|]*(?:Type|Error|Failure type):\s*(?P<kind>[a-z]+(?:_[a-z]+)+|timeout)[\s║|]*$"
)
DETAIL = re.compile(r"^[\s║|]*(?:Message|Details|Reason):\s*(?P<text>\S.*?)[\s║|]*$", re.MULTILINE)
MISSING_FIELD = re.compile(r"^\s*(?:Package|Command|Missing|Module):\s*(\S+)", re.MULTILINE)
TESTS_FIELD = re.compile(r"^\s*Tests?:\s*(.+)$", re.MULTILINE)
ABOUT_EXECUTOR = re.compile(r"sub-?agent|executor|agent result", re.IGNORECASE)
LINES_SEARCHED = 200
LINES_OF_FIELDS = 5
LINES_OF_BLOCK = 60

TEST_ID = re.compile(r"[\w./-]+::[\w.\[\]:-]*\w")
TEST_NAME = re.compile(r"\btest_\w+|[\w./-]+::\w+")
ATTEMPT = re.compile(r"^[\s>*-]*Attempt \d+:\s*[\"'“]?(.+?)[\"'”]?\s*$", re.IGNORECASE)
FEWEST_ATTEMPTS = 3
CIRCULAR = re.compile(
    r"\bCIRCULAR_FIX\b|same approach (?:has been |was )?(?:tried|attempted)|circular fix detected",
    re.IGNORECASE,
)
PROGRESS = re.compile(
    r"^[\s>*-]*(?:Done|Completed|Finished|Remaining|Progress):|\bremaining\b.*\b\d"
    r"|\bcompleted (?:\d+ of \d+|tasks? \d)",
    re.IGNORECASE,
)
VERDICT_OF_CATEGORY = {"timeout": "timeout", "invalid_task": "invalid", "missing_context": "value"}


def parse_block(text: str) -> Failure | None:
    """Return what the last FAILED block of a text says; every field has a default."""
    text = clean(text[-LONGEST_TEXT:])
    markers = list(MARKER.finditer(text))
    if not markers:
        return None
    marker = markers[-1]
    body, *_ = NEXT_TASK.split(text[marker.end() :], maxsplit=1)
    return Failure(
        # A block that tells of no check says nothing but that the task is not done.
        kind="task_incomplete",
        task_id=marker["id"],
        error=_field(body, "Error") or NO_ERROR,
        attempted_fix=_field(body, r"Attempted fix(?:es)?") or NO_FIX,
        status=_field(body, "Status") or NO_STATUS,
    )


def _field(body: str, name: str) -> str:
    match = re.search(FIELD.format(name=name), body, re.MULTILINE | re.IGNORECASE)
    if not match:
        return ""
    return match["value"].strip("* ")


@dataclass(frozen=True)
class Claims:
    """What an executor says about its work.

    `contradiction`, `context_limit` and `rate_limit` are the lines that say so.
    """

    complete: bool = False
    failed_block: Failure | None = None
    report: Failure | None = None
    contradiction: str | None = None
    context_limit: str | None = None
    rate_limit: str | None = None
    manual: bool = False


def read_claims(text: str) -> Claims:
    """Return what an executor's output says about its own work."""
    return _claims_in(CommandOutput(text))


def _claims_in(output: CommandOutput) -> Claims:
    lines = _spoken_lines(output)
    manual = _first_statement(MANUAL, lines)
    return Claims(
        complete=any(map(COMPLETE.match, lines[-LAST_LINES:])),
        failed_block=parse_block(output.text),
        report=parse_report(output.text) if looks_like_report(output.text) else None,
        contradiction=manual or _first_statement(UNFINISHED, lines),
        context_limit=next(filter(context_limit, lines), None),
        rate_limit=next(filter(rate_limit, lines), None),
        manual=manual is not None,
    )


def _spoken_lines(output: CommandOutput) -> Sequence[str]:
    return list(filter(None, map(str.strip, output.lines)))


def _first_statement(pattern: re.Pattern[str], lines: Iterable[str]) -> str | None:
    """Return the first line that states it and does not deny it ("no tests still failing")."""
    for line in lines:
        for match in pattern.finditer(line):
            words_before = line[: match.start()]
            if not NEGATION.search(words_before):
                return line
    return None


def read_executor(context: FailureContext, kinds: Kinds) -> Failure | None:
    """Return what an executor's own words amount to, or None if they are a tool's output."""
    is_tool_output = any(stage.role for stage in context.stages)
    if context.evidence.source != "executor" and is_tool_output:
        return None
    claims = _claims_in(context.output)
    readers = (
        _read_report,
        _read_kind_heading,
        _read_kind_field,
        _read_failed_block,
        _read_limits,
        _read_contradiction,
        _read_unfinished,
    )
    for read in readers:
        failure = read(context, claims, kinds)
        if failure is not None:
            return _marked_circular(context, failure)
    return None


def _read_report(context: FailureContext, claims: Claims, kinds: Kinds) -> Failure | None:
    report = claims.report
    if report is None:
        return None
    blocker = read_sentence(context, report.blocked_on or "")
    message = read_sentence(context, report.error)
    verdict = VERDICT_OF_CATEGORY.get(report.category or "", "unknown")
    finding = blocker or message or Finding(verdict, report.error)

    error = report.error
    says_the_same = blocker and message and blocker.verdict == message.verdict
    if blocker and not says_the_same:
        error = f"Blocked on: {report.blocked_on}"
    failure = finding.as_failure(kinds)
    stated = is_retryable(report.raw_output)
    return replace(
        report,
        kind=failure.kind,
        type=failure.type,
        category=report.category or failure.category,
        retryable=failure.retryable if stated is None else stated,
        error=error,
        missing=failure.missing,
        failed_tests=_test_ids(f"{report.blocked_on or ''} {report.error}"),
        files=report.files_modified,
    )


def _test_ids(words: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(TEST_ID.findall(words)))


def _read_kind_heading(context: FailureContext, _claims: Claims, kinds: Kinds) -> Failure | None:
    """Read a block below the name of its kind."""
    lines = context.output.lines
    for number, heading in matching(HEADING_KIND.match, lines[:LINES_SEARCHED]):
        if heading["kind"] in kinds:
            below = lines[number + 1 :]
            return _of_kind(heading["kind"], below, kinds, lines[number].strip())
    return None


def _read_kind_field(context: FailureContext, _claims: Claims, kinds: Kinds) -> Failure | None:
    """Read a block that names its kind in one field, and the error in one below it."""
    lines = context.output.lines
    for number, field in matching(FIELD_KIND.match, lines[:LINES_SEARCHED]):
        if field["kind"] not in kinds:
            continue
        below = lines[number + 1 :]
        detail = DETAIL.search("\n".join(below[:LINES_OF_FIELDS]))
        error = detail["text"] if detail else lines[number].strip()
        return _of_kind(field["kind"], below, kinds, error)
    return None


def _of_kind(kind: str, body: Sequence[str], kinds: Kinds, error: str) -> Failure:
    text = "\n".join(body[:LINES_OF_BLOCK])
    failure = kinds[kind].as_failure(error)
    missing = MISSING_FIELD.search(text)
    if missing:
        failure = replace(failure, error=missing[0].strip(), missing=missing[1])
    if "NON-RETRYABLE" in error:
        failure = replace(failure, retryable=False)
    if kind == "parse_error" and ABOUT_EXECUTOR.search(text):
        # An unreadable result of an executor says nothing about the project's code.
        failure = replace(failure, type=UNKNOWN)
    tests = ",".join(TESTS_FIELD.findall(text))
    if tests:
        names = [name.strip() for name in tests.split(",")]
    else:
        names = [test.name for test in read_marked_tests(CommandOutput(text))]
    return replace(failure, failed_tests=tuple(names))


def _read_failed_block(context: FailureContext, claims: Claims, kinds: Kinds) -> Failure | None:
    block = claims.failed_block
    if block is None:
        return None
    finding = read_sentence(context, block.error)
    failure = finding.as_failure(kinds) if finding else block
    return replace(
        failure,
        task_id=block.task_id,
        error=block.error,
        attempted_fix=block.attempted_fix,
        status=block.status,
        failed_tests=_test_ids(block.error),
    )


def _read_limits(context: FailureContext, claims: Claims, kinds: Kinds) -> Failure | None:
    if context.evidence.source != "executor" and context.failed_tests:
        # A runner of tests shows what they expected.
        return None
    if claims.context_limit:
        failure = Finding("context", claims.context_limit).as_failure(kinds)
        if any(map(PROGRESS.search, context.output.lines)):
            return replace(failure, category="partial")
        return replace(failure, category=None)
    if claims.rate_limit and not claims.complete:
        return Finding("service", claims.rate_limit).as_failure(kinds)
    return None


def _read_contradiction(_context: FailureContext, claims: Claims, kinds: Kinds) -> Failure | None:
    """Read a claim of success that the same text contradicts."""
    if not claims.complete or not claims.contradiction:
        return None
    failure = kinds["verification_mismatch"].as_failure(claims.contradiction)
    tests = tuple(dict.fromkeys(TEST_NAME.findall(claims.contradiction)))
    return replace(failure, failed_tests=tests)


def _read_unfinished(context: FailureContext, claims: Claims, kinds: Kinds) -> Failure | None:
    """Read words without a block or a claim: the task did not complete, for whatever they say."""
    is_agent = context.evidence.command.startswith("(agent")
    if context.evidence.source != "executor" and not is_agent:
        return None
    lines = _spoken_lines(context.output)
    if not claims.complete:
        for line in lines:
            finding = read_sentence(context, line)
            if finding:
                return finding.as_failure(kinds)
    last_line = lines[-1] if lines else NOT_COMPLETE
    failure = kinds["task_incomplete"].as_failure(claims.contradiction or last_line)
    return replace(failure, type=UNKNOWN)


def _marked_circular(context: FailureContext, failure: Failure) -> Failure:
    """Mark a failure as circular if the text says so or lists three similar attempts."""
    if _repeats_itself(context.output.lines):
        return replace(failure, type=CIRCULAR_FIX, retryable=False)
    return failure


def _repeats_itself(lines: Sequence[str]) -> bool:
    if any(map(CIRCULAR.search, lines)):
        return True
    attempts = [match[1] for _, match in matching(ATTEMPT.match, lines)]
    if len(attempts) < FEWEST_ATTEMPTS:
        return False
    return is_circular(attempts[-1], attempts[:-1])


def read_sentence(context: FailureContext, sentence: str) -> Finding | None:
    """Return the cause that a sentence names: in a tool's words, otherwise in its speaker's."""
    sentence = sentence.strip()
    if not sentence:
        return None
    if context_limit(sentence):
        return Finding("context", sentence)
    if rate_limit(sentence):
        return Finding("service", sentence)
    quoted = [with_owner(context, finding) for finding in causes_in(sentence)]
    readings = (
        [finding for finding in quoted if finding.is_cause],
        causes_in_prose(sentence),
        [finding for finding in quoted if not finding.is_death],
    )
    for findings in readings:
        best = first_of_lowest_rank(findings)
        if best:
            return replace(best, error=sentence)
    return None
