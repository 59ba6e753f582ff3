"""classify: from the evidence of a failed command to one Failure."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ralph.failure.advice import guidance, suggested_actions
from pytest_ralph.failure.context import FailureContext
from pytest_ralph.failure.evidence import Evidence
from pytest_ralph.failure.executor_words import read_executor
from pytest_ralph.failure.failure import TYPES
from pytest_ralph.failure.files import named_files, reported_line
from pytest_ralph.failure.fingerprint import fingerprint
from pytest_ralph.failure.kinds import Kinds
from pytest_ralph.failure.root_cause import root_cause

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.failure.kinds import KindRow

LONGEST_ERROR = 1_000
# A number behind a colon is a line only behind a file: elsewhere it is a port or a value.
LINE_NUMBER = re.compile(
    r"\w\.[A-Za-z]\w{0,9}:(\d{1,7})\b|\wfile:(\d{1,7})\b|\bline (\d{1,7})\b|\((\d{1,7})[,:]\d+\)"
)


def classify(
    output: str,
    exit_code: int | None = None,
    command: str | None = "",
    junit: Path | str | Iterable[Path | str] | None = None,
    root: Path | str | None = None,
    **more: Any,
) -> Failure:
    """Return what went wrong, from a command's output and the way it ended.

    `junit` names one or several JUnit reports, `root` the project's directory; further keyword
    arguments are fields of `Evidence`.
    """
    if junit is None:
        reports: tuple[Path | str, ...] = ()
    elif isinstance(junit, (str, Path)):
        reports = (junit,)
    else:
        reports = tuple(junit)
    directory = None if root is None else Path(root)
    evidence = Evidence(output, exit_code, command or "", reports, directory, **more)
    return classify_evidence(evidence, Kinds.load())


def classify_evidence(evidence: Evidence, kinds: Kinds) -> Failure:
    """Return what went wrong, by the given table of kinds."""
    context = FailureContext(evidence)
    # A project knows its tools better than we do: its own words come first.
    failure = (
        _first_indicated(context, kinds.added)
        or read_executor(context, kinds)
        or _read_output(context, kinds)
    )
    return _completed(failure, context, kinds)


def _read_output(context: FailureContext, kinds: Kinds) -> Failure:
    finding = root_cause(context)
    failure = finding.as_failure(kinds)
    if finding.verdict != "unknown":
        return failure
    rows = sorted(kinds, key=lambda row: TYPES.index(row.type))
    if context.evidence.command and context.evidence.source != "executor":
        # Only an executor can say that a context window is full, and no Verify command.
        rows = [row for row in rows if row.name != "context_exhausted"]
    return _first_indicated(context, rows) or failure


def _first_indicated(context: FailureContext, rows: Iterable[KindRow]) -> Failure | None:
    """Return the failure of the first kind of which an indicator word occurs."""
    for row in rows:
        if not row.indicators:
            continue
        words = "|".join(map(re.escape, row.indicators))
        pattern = re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)
        for number, line in enumerate(context.output.lines):
            if number not in context.ignored and pattern.search(line):
                return row.as_failure(line.strip())
    return None


def _completed(failure: Failure, context: FailureContext, kinds: Kinds) -> Failure:
    """Add everything that follows: files, advice, fingerprint and how the command ended."""
    evidence = context.evidence
    error = failure.error[:LONGEST_ERROR]
    failure = replace(
        failure,
        error=error,
        files=failure.files or named_files(context, failure),
        line=line_number_in(failure.error) or reported_line(context, failure),
        blocked_on=failure.blocked_on or error,
        duration=failure.duration or evidence.duration,
        raw_output=context.output.text,
        command=evidence.command,
        exit_code=evidence.exit_code,
        timed_out=evidence.timed_out,
    )
    actions = failure.suggested_actions or suggested_actions(failure, evidence, kinds)
    return replace(
        failure,
        guidance=guidance(failure, kinds),
        suggested_actions=actions,
        fingerprint=fingerprint(failure),
    )


def line_number_in(error: str) -> int | None:
    """Return the line number that an error names."""
    match = LINE_NUMBER.search(error)
    if not match:
        return None
    return int(match[match.lastindex or 0])
