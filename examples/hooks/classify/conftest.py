"""Recognise E-77, the error of an in-house tool that no other rule knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph import Failure

if TYPE_CHECKING:
    from pytest_ralph.failure.evidence import Evidence


def pytest_ralph_classify(evidence: Evidence) -> Failure | None:
    if "E-77" not in evidence.output:
        return None
    return Failure(
        kind="service_unavailable",
        type="UNKNOWN",
        category="tool_error",
        retryable=False,
        error="the licence server is full",
    )
