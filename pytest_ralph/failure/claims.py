"""Claims: what an executor says of its own work. Evidence among other evidence, never the verdict."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ralph.failure.block import Block, parse_block
from pytest_ralph.failure.limits import context_limit, rate_limit
from pytest_ralph.failure.output import CommandOutput
from pytest_ralph.failure.report import looks_like_report, parse_report

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_ralph.failure.failure import Failure

LAST_LINES = 12
COMPLETE = re.compile(r"^[\s>*_`#-]*(?:ALL_TASKS_COMPLETE|TASK_COMPLETE)[\s*_`.!]*$")
MANUAL = re.compile(
    r"(?:requires?|needs?|needed|pending|awaiting) (?:\w+ )?(?:manual|human)\b"
    r"|manual (?:\w+ )?(?:is |are |still )?(?:required|needed)"
    r"|(?:cannot|can't|could not) be automated|(?:must|has to|have to|should) be (?:\w+ )?manually|needs? a human",
    re.IGNORECASE,
)
UNDONE = re.compile(
    r"(?:could not|couldn't|cannot|can't|unable to|failed to|was not able to|did not|didn't) "
    r"(?:\w+ )?(?:complete|finish|verify|implement|run|fix|test|get|resolve|install|reproduce|make)"
    r"|(?:not (?:yet |been |fully )*|un)(?:implemented|finished|verified|tested|resolved)"
    r"|partially (?:complete|implemented|done|working)"
    r"|(?:left|remains?|is) (?:as )?(?:a )?(?:TODO|stub|placeholder)"
    r"|skipped (?:the |some )?(?:tests?|verification|steps?)"
    r"|(?:tests?|build|lint|type ?check) (?:still |currently )?(?:fails?|failing|is broken|are broken)"
    r"|still (?:failing|broken)"
    r"|\b[1-9]\d* (?:tests? )?(?:failed|failing|failures?|errors?|problems?)\b"
    r"|\b(?:exits|exited|exit code|exit status)(?: with)?:? (?:code |status )?[1-9]",
    re.IGNORECASE,
)
NEGATED = re.compile(
    r"\b(?:no|not|never|without|nothing|zero|0|fixed|resolved|previously|instead of|if|was failing)\W+(?:\w+\W+){0,3}$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Claims:
    """`contradiction`, `context_limit` and `rate_limit` are the lines that say so."""

    complete: bool = False
    failed_block: Block | None = None
    report: Failure | None = None
    contradiction: str | None = None
    context_limit: str | None = None
    rate_limit: str | None = None
    manual: bool = False


def read_claims(output: str) -> Claims:
    transcript = CommandOutput(output)
    lines = [line for line in transcript.lines if line.strip()]
    block = parse_block(transcript.text)
    manual = _first(lines, lambda line: _says(MANUAL, line))
    return Claims(
        complete=any(COMPLETE.match(line) for line in lines[-LAST_LINES:]),
        failed_block=block if block.marked else None,
        report=parse_report(transcript.text) if looks_like_report(transcript.text) else None,
        contradiction=manual or _first(lines, lambda line: _says(UNDONE, line)),
        context_limit=_first(lines, context_limit),
        rate_limit=_first(lines, rate_limit),
        manual=manual is not None,
    )


def _first(lines: Sequence[str], says: Callable[[str], bool]) -> str | None:
    return next((line.strip() for line in lines if says(line)), None)


def _says(pattern: re.Pattern[str], line: str) -> bool:
    return any(not NEGATED.search(line[: match.start()]) for match in pattern.finditer(line))
