"""Agents: from what an executor says (a FAILED block, a report, an error of its model, a claim) to a Failure."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.failure.causes import causes_in, spoken_causes_in
from pytest_ralph.failure.claims import Claims, read_claims
from pytest_ralph.failure.failure import CIRCULAR_FIX, NOT_COMPLETE, UNKNOWN, Failure
from pytest_ralph.failure.finding import VERDICTS, Finding
from pytest_ralph.failure.limits import context_limit, rate_limit
from pytest_ralph.failure.ownership import settle
from pytest_ralph.failure.report import says_retryable
from pytest_ralph.failure.similarity import is_circular

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.failure.block import Block
    from pytest_ralph.failure.context import Scene
    from pytest_ralph.failure.kinds import Kinds

# `Type: test_failure` in the details of a retry, `Error: test_failure` in those of a halt.
DETAILED_KIND = re.compile(
    r"^[\s║|]*(?:Type|Error|Failure type):\s*(?P<kind>[a-z]+(?:_[a-z]+)+|timeout)[\s║|]*$"
)
DETAIL = re.compile(r"^[\s║|]*(?:Message|Details|Reason):\s*(?P<text>\S.*?)[\s║|]*$", re.MULTILINE)
NAMED_KIND = re.compile(
    r"^\s*(?:ERROR:\s*)?(?P<kind>[a-z]+_[a-z]+|timeout)(?:\s*\(NON-RETRYABLE\))?\s*$"
)
ATTEMPT = re.compile(r"^[\s>*-]*Attempt \d+:\s*[\"'“]?(.+?)[\"'”]?\s*$", re.IGNORECASE)
CIRCULAR = re.compile(
    r"\bCIRCULAR_FIX\b|same approach (?:has been |was )?(?:tried|attempted)|circular fix detected",
    re.IGNORECASE,
)
DONE = re.compile(
    r"^[\s>*-]*(?:Done|Completed|Finished|Remaining|Progress):|\bremaining\b.*\b\d"
    r"|\bcompleted (?:\d+ of \d+|tasks? \d)",
    re.IGNORECASE,
)


def read_agent(scene: Scene, kinds: Kinds) -> Failure | None:
    """What an executor's own words amount to, or None where they are only the output of a tool."""
    if not _is_speech(scene):
        return None
    claims = read_claims(scene.evidence.output)
    for read in (_report, _named_block, _failed_block, _limits, _contradicted, _unfinished):
        if failure := read(scene, claims, kinds):
            return _circular(scene, failure)
    return None


def _is_speech(scene: Scene) -> bool:
    return scene.evidence.source == "executor" or not any(step.role for step in scene.steps)


def _report(scene: Scene, claims: Claims, kinds: Kinds) -> Failure | None:
    report = claims.report
    if report is None:
        return None
    blocker, message = (
        read_sentence(scene, report.blocked_on or ""),
        read_sentence(scene, report.error),
    )
    finding = blocker or message or _by_category(report.category, report.error)
    same = blocker is not None and message is not None and blocker.verdict == message.verdict
    error = f"Blocked on: {report.blocked_on}" if blocker and not same else report.error
    failure = as_failure(replace(finding, error=error), kinds)
    category = report.category or failure.category
    retryable = report.retryable if says_retryable(report.raw_output) else failure.retryable
    return replace(
        report,
        kind=failure.kind,
        type=failure.type,
        category=category,
        retryable=retryable,
        error=error,
        missing=failure.missing,
        failed_tests=_tests_named_in(f"{report.blocked_on or ''} {report.error}"),
        files=report.files_modified,
    )


def _tests_named_in(words: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(re.findall(r"[\w./-]+::[\w.\[\]:-]*\w", words)))


def _by_category(category: str | None, error: str) -> Finding:
    verdict = {"timeout": "timeout", "invalid_task": "invalid", "missing_context": "value"}.get(
        category or "", "unknown"
    )
    return Finding(verdict, error)


def _named_block(scene: Scene, _claims: Claims, kinds: Kinds) -> Failure | None:
    """A block headed by the name of its kind, underlined."""
    lines = scene.transcript.lines
    for number, line in enumerate(lines[:200]):
        match = NAMED_KIND.match(line)
        underlined = number + 1 < len(lines) and re.match(r"^[=-]{5,}$", lines[number + 1])
        if match and match["kind"] in kinds and (underlined or line.lstrip().startswith("ERROR")):
            return _of_kind(
                match["kind"],
                lines[number + 2 if underlined else number + 1 :],
                kinds,
                line.strip(),
            )
        detailed = DETAILED_KIND.match(line)
        if detailed and detailed["kind"] in kinds:
            told = DETAIL.search("\n".join(lines[number : number + 6]))
            return _of_kind(
                detailed["kind"], lines[number + 1 :], kinds, told["text"] if told else line.strip()
            )
    return None


def _of_kind(kind: str, body: Sequence[str], kinds: Kinds, heading: str) -> Failure:
    row = kinds[kind]
    text = "\n".join(body[:60])
    package = re.search(r"^\s*(?:Package|Command|Missing|Module):\s*(\S+)", text, re.MULTILINE)
    # The result of an executor that cannot be read says nothing about the project's code.
    spoken = kind == "parse_error" and re.search(
        r"sub-?agent|executor|agent result", text, re.IGNORECASE
    )
    tests = re.findall(r"^\s*Tests?:\s*(.+)$", text, re.MULTILINE)
    return Failure(
        kind=kind,
        type=UNKNOWN if spoken else row.type,
        category=row.category,
        retryable=row.retryable and "NON-RETRYABLE" not in heading,
        error=heading if not package else package[0].strip(),
        missing=package[1] if package else None,
        failed_tests=tuple(name.strip() for line in tests for name in line.split(",")),
    )


def _failed_block(scene: Scene, claims: Claims, kinds: Kinds) -> Failure | None:
    block = claims.failed_block
    if block is None:
        return None
    finding = read_sentence(scene, block.error)
    failure = as_failure(finding, kinds) if finding else _without_result(block)
    return replace(
        failure,
        task_id=block.task_id,
        error=block.error,
        attempted_fix=block.attempted_fix,
        status=block.status,
        failed_tests=_tests_named_in(block.error),
    )


def _without_result(block: Block) -> Failure:
    """A block that tells of no check: nothing is known but that the task is not done."""
    return Failure(kind="task_incomplete", type=UNKNOWN, error=block.error)


def _limits(scene: Scene, claims: Claims, kinds: Kinds) -> Failure | None:
    if claims.context_limit:
        failure = as_failure(Finding("context", claims.context_limit), kinds)
        partial = any(DONE.search(line) for line in scene.transcript.lines)
        return replace(failure, category="partial" if partial else None)
    if claims.rate_limit and not claims.complete:
        return as_failure(Finding("service", claims.rate_limit), kinds)
    return None


def _contradicted(_scene: Scene, claims: Claims, kinds: Kinds) -> Failure | None:
    if not (claims.complete and claims.contradiction):
        return None
    row = kinds["verification_mismatch"]
    tests = tuple(dict.fromkeys(re.findall(r"\btest_\w+|[\w./-]+::\w+", claims.contradiction)))
    return Failure(
        row.name,
        row.type,
        row.category,
        row.retryable,
        error=claims.contradiction,
        failed_tests=tests,
    )


def _unfinished(scene: Scene, claims: Claims, kinds: Kinds) -> Failure | None:
    """Words without a block or a claim: the task did not complete. What they say of the cause still counts."""
    if scene.evidence.source != "executor" and not scene.evidence.command.startswith("(agent"):
        return None
    for line in scene.transcript.lines:
        finding = read_sentence(scene, line) if line.strip() and not claims.complete else None
        if finding:
            return as_failure(finding, kinds)
    row = kinds["task_incomplete"]
    error = claims.contradiction or next(
        (li.strip() for li in reversed(scene.transcript.lines) if li.strip()), NOT_COMPLETE
    )
    return Failure(row.name, UNKNOWN, row.category, row.retryable, error=error)


def _circular(scene: Scene, failure: Failure) -> Failure:
    """Three attempts of nearly the same words, or the verdict itself, in the text."""
    attempts = [match[1] for line in scene.transcript.lines if (match := ATTEMPT.match(line))]
    repeated = len(attempts) >= 3 and is_circular(attempts[-1], attempts[:-1])
    if repeated or any(CIRCULAR.search(line) for line in scene.transcript.lines):
        return replace(failure, type=CIRCULAR_FIX, retryable=False)
    return failure


def read_sentence(scene: Scene, sentence: str) -> Finding | None:
    """The cause a sentence names: in the words of a tool it quotes, else in the words of its speaker."""
    sentence = sentence.strip()
    if not sentence or context_limit(sentence) or rate_limit(sentence):
        return (
            Finding("context" if context_limit(sentence) else "service", sentence)
            if sentence
            else None
        )
    found = [settle(scene, finding) for finding in causes_in(sentence)]
    causes = [finding for finding in found if finding.rank < 40]
    spoken = list(spoken_causes_in(sentence))
    symptoms = [finding for finding in found if finding.verdict not in {"crash", "exception"}]
    best = min(causes or spoken or symptoms, key=lambda finding: finding.rank, default=None)
    return replace(best, error=sentence) if best else None


def as_failure(finding: Finding, kinds: Kinds) -> Failure:
    verdict = VERDICTS[finding.verdict]
    row = kinds[verdict.kind]
    return Failure(
        kind=row.name,
        type=finding.type or verdict.type or row.type,
        category=verdict.category or row.category,
        retryable=row.retryable if verdict.retryable is None else verdict.retryable,
        error=finding.error,
        missing=finding.missing,
        failed_tests=finding.tests,
    )
