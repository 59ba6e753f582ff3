"""Finding: one reading of the evidence. The best of them becomes the Failure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.failure.failure import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.failure.kinds import Kinds

# Findings with a lower rank say why something failed, the others only that it did.
CAUSES_BELOW = 40


class Verdict(NamedTuple):
    """What a finding means; None stands for the value in the table of kinds.

    Of several findings the one with the lowest rank is the root cause.
    """

    rank: int
    kind: str
    type: str | None = None
    category: str | None = None
    retryable: bool | None = None


# Causes outside the code come first, then what keeps the code from running, then what it does
# wrong.
VERDICTS = {
    "disk full": Verdict(10, "resource_exhausted", retryable=False),
    "resource": Verdict(11, "resource_exhausted"),
    "service": Verdict(12, "service_unavailable"),
    "timeout": Verdict(14, "timeout"),
    "permission": Verdict(16, "permission_denied"),
    "value": Verdict(18, "unknown", category="missing_context", retryable=False),
    "context": Verdict(19, "context_exhausted"),
    "command": Verdict(20, "command_not_found"),
    "package": Verdict(22, "dependency_missing"),
    "conflict": Verdict(24, "file_conflict"),
    "module": Verdict(25, "dependency_missing"),
    "local module": Verdict(26, "build_error"),
    "unknown key": Verdict(27, "build_error"),
    "data": Verdict(28, "parse_error"),
    "syntax": Verdict(30, "build_error"),
    "interrupted": Verdict(31, "unknown"),
    "absent": Verdict(32, "task_incomplete"),
    "file": Verdict(
        33, "task_incomplete", type=UNKNOWN, category="missing_context", retryable=False
    ),
    "configuration": Verdict(34, "build_error"),
    "invalid": Verdict(35, "plan_invalid"),
    "malformed": Verdict(35, "invalid_task"),
    "setting": Verdict(36, "unknown", category="tool_error"),
    "usage": Verdict(38, "unknown"),
    "no tests": Verdict(39, "task_incomplete"),
    "killed": Verdict(44, "crash", type=UNKNOWN),
    # Some validators raise what they found.
    "schema": Verdict(45, "lint_error"),
    "assertion": Verdict(46, "test_failure"),
    "test": Verdict(47, "test_failure"),
    "crash": Verdict(48, "crash"),
    "exception": Verdict(48, "crash"),
    "comparison": Verdict(49, "test_failure"),
    "types": Verdict(52, "typecheck_error"),
    "lint": Verdict(54, "lint_error"),
    "format": Verdict(56, "format_error"),
    "gate": Verdict(58, "test_failure"),
    "build": Verdict(70, "build_error"),
    "unknown": Verdict(90, "unknown"),
}


@dataclass(frozen=True)
class Finding:
    """A verdict (a row of VERDICTS), the line to quote for it, and the number of that line."""

    verdict: str
    error: str
    line: int = -1
    missing: str | None = None
    tests: tuple[str, ...] = ()
    type: str | None = None

    @property
    def rank(self) -> int:
        return VERDICTS[self.verdict].rank

    @property
    def is_cause(self) -> bool:
        """Whether it says why something failed, not only that it did."""
        return self.rank < CAUSES_BELOW

    @property
    def is_death(self) -> bool:
        """Whether a program died of what it did itself."""
        return self.verdict in {"crash", "exception"}

    def as_failure(self, kinds: Kinds) -> Failure:
        """Return the Failure that this finding amounts to, by the given table of kinds."""
        verdict = VERDICTS[self.verdict]
        failure = kinds[verdict.kind].as_failure(self.error)
        retryable = failure.retryable if verdict.retryable is None else verdict.retryable
        return replace(
            failure,
            type=self.type or verdict.type or failure.type,
            category=verdict.category or failure.category,
            retryable=retryable,
            missing=self.missing,
            failed_tests=self.tests,
        )


def first_of_lowest_rank(findings: Iterable[Finding]) -> Finding | None:
    """Return the finding that says best why something failed."""
    return min(findings, key=lambda finding: (finding.rank, finding.line), default=None)
