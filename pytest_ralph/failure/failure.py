"""One Failure: everything known about one failed attempt."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

BROKEN_BUILD = "BROKEN_BUILD"
VERIFICATION_FAILED = "VERIFICATION_FAILED"
CIRCULAR_FIX = "CIRCULAR_FIX"
CONTEXT_EXHAUSTED = "CONTEXT_EXHAUSTED"
UNKNOWN = "UNKNOWN"
TYPES = (BROKEN_BUILD, VERIFICATION_FAILED, CIRCULAR_FIX, CONTEXT_EXHAUSTED, UNKNOWN)
CATEGORIES = ("timeout", "missing_context", "tool_error", "invalid_task", "partial")

NO_ERROR = "Task execution failed"
NO_FIX = "No fix attempted"
NO_STATUS = "Unknown status"
NOT_COMPLETE = "Task did not complete"


@dataclass(frozen=True)
class Failure:
    """One failed attempt, in plain strings, numbers and tuples.

    A Failure crosses process borders and goes into JSON as it is.
    """

    kind: str = "unknown"
    type: str = UNKNOWN
    category: str | None = None
    retryable: bool = True

    task_id: str = ""
    error: str = NO_ERROR
    attempted_fix: str = NO_FIX
    status: str = NO_STATUS
    raw_output: str = ""

    files: tuple[str, ...] = ()
    failed_tests: tuple[str, ...] = ()
    missing: str | None = None
    line: int | None = None

    completed_steps: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()
    blocked_on: str | None = None
    suggested_actions: tuple[str, ...] = ()
    duration: float = 0.0
    tool_usage: dict[str, int] = field(default_factory=dict)
    last_successful_tool: str | None = None
    session_id: str = ""

    guidance: str = ""
    fingerprint: str = ""

    # How the command ended; what makes `timeout` and `crash` more than words.
    command: str = ""
    exit_code: int | None = None
    timed_out: bool = False

    def report(self) -> str:
        """The failure report, which `parse_report` reads back."""
        from pytest_ralph.failure.report import write_report

        return write_report(self)

    def to_json(self) -> dict[str, Any]:
        return {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in asdict(self).items()
        }
