"""Trouble: why an executor itself cannot work at the moment, which is no failure of the project."""

from __future__ import annotations

from dataclasses import dataclass

# Reason → how it is shown.
REASONS = {
    "rate_limit": "rate limit",
    "quota": "quota used up",
    "overload": "service overloaded",
    "service": "service error",
    "network": "network error",
    "login": "not logged in",
    "billing": "billing problem",
    "refused": "refused to start",
    "not_installed": "not installed",
    "hung": "no progress",
}
# Reasons that pass by themselves, so that waiting can help.
PASSING = frozenset({"rate_limit", "quota", "overload", "service", "network"})


@dataclass(frozen=True)
class Trouble:
    """`reason` is a key of REASONS, `message` one line in the executor's own words.

    `resets_at` is when a limit ends, in seconds since the epoch, if the executor says so.
    """

    reason: str
    message: str
    resets_at: float | None = None

    @property
    def can_pass(self) -> bool:
        """Whether the executor may work again after a while."""
        return self.reason in PASSING

    def __str__(self) -> str:
        return f"{REASONS[self.reason]}: {self.message}"
