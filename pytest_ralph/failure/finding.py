"""Finding: one reading of the evidence. The best of them becomes the Failure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from pytest_ralph.failure.failure import UNKNOWN


class Verdict(NamedTuple):
    """What a finding says of a failure; None means: as the table of kinds has it. The lowest rank is the root cause."""

    rank: int
    kind: str
    type: str | None = None
    category: str | None = None
    retryable: bool | None = None


# Causes outside the code come first, then what keeps the code from running, then what it does wrong.
VERDICTS = {
    "disk full": Verdict(10, "resource_exhausted", retryable=False),
    "resource": Verdict(11, "resource_exhausted"),
    "service": Verdict(12, "service_unavailable"),
    "timeout": Verdict(14, "timeout"),
    "permission": Verdict(16, "permission_denied"),
    "value": Verdict(18, "unknown", category="missing_context", retryable=False),
    "file": Verdict(
        33, "task_incomplete", type=UNKNOWN, category="missing_context", retryable=False
    ),
    "invalid": Verdict(35, "plan_invalid"),
    "context": Verdict(19, "context_exhausted"),
    "command": Verdict(20, "command_not_found"),
    "package": Verdict(22, "dependency_missing"),
    "conflict": Verdict(24, "file_conflict"),
    "unknown key": Verdict(27, "build_error"),
    "module": Verdict(25, "dependency_missing"),
    "local module": Verdict(26, "build_error"),
    "data": Verdict(28, "parse_error"),
    "syntax": Verdict(30, "build_error"),
    "interrupted": Verdict(31, "unknown"),
    "no tests": Verdict(39, "task_incomplete"),
    "absent": Verdict(32, "task_incomplete"),
    "configuration": Verdict(34, "build_error"),
    "setting": Verdict(36, "unknown", category="tool_error"),
    "usage": Verdict(38, "unknown"),
    "build": Verdict(70, "build_error"),
    "killed": Verdict(44, "crash", type=UNKNOWN),
    "assertion": Verdict(46, "test_failure"),
    "comparison": Verdict(49, "test_failure"),
    "crash": Verdict(48, "crash"),
    "exception": Verdict(48, "crash"),
    "test": Verdict(47, "test_failure"),
    "types": Verdict(52, "typecheck_error"),
    "schema": Verdict(53, "lint_error"),
    "lint": Verdict(54, "lint_error"),
    "format": Verdict(56, "format_error"),
    "gate": Verdict(58, "test_failure"),
    "unknown": Verdict(90, "unknown"),
}


@dataclass(frozen=True)
class Finding:
    """`verdict` names a row of VERDICTS; `line` is the number of the line it was read from."""

    verdict: str
    error: str
    line: int = -1
    missing: str | None = None
    tests: tuple[str, ...] = ()
    type: str | None = None

    @property
    def rank(self) -> int:
        return VERDICTS[self.verdict].rank
