"""When a limit ends, read from the words of an agent."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

# `Claude AI usage limit reached|1751234400`
EPOCH = re.compile(r"\|(\d{10})\b")
# `try again in 2 days 3 hours 5 minutes`, `retry after 40s`, `Please retry in 35.2s`
DURATION = re.compile(
    r"(?:try again|retry|retrying|resets?|available)(?: after)?(?: in)? "
    r"((?:\d+(?:\.\d+)?\s*(?:d|h|m|s|days?|hours?|minutes?|mins?|seconds?"
    r"|secs?)\b[ ,]*(?:and )?)+)",
    re.IGNORECASE,
)
AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([dhms])", re.IGNORECASE)
SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
# `resets 3pm`, `resets at 11:30 AM`, `try again at 16:05`
CLOCK = re.compile(
    r"(?:resets?|try again)(?: at)? (\d{1,2})(?::(\d{2}))?\s*([ap]m)?\b", re.IGNORECASE
)


def reset_time(message: str, now: float) -> float | None:
    """Return when the limit that `message` is about ends, in seconds since the epoch, or None."""
    epoch = EPOCH.search(message)
    if epoch:
        return float(epoch[1])

    duration = DURATION.search(message)
    if duration:
        amounts = AMOUNT.findall(duration[1])
        return now + sum(float(number) * SECONDS[unit.lower()] for number, unit in amounts)

    clock = CLOCK.search(message)
    if clock is None:
        return None
    hour, minute, half = int(clock[1]), int(clock[2] or 0), (clock[3] or "").lower()
    if not half and clock[2] is None:
        return None
    return _next_time(hour, minute, half, now)


def _next_time(hour: int, minute: int, half: str, now: float) -> float | None:
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    if hour > 23 or minute > 59:
        return None
    today = datetime.fromtimestamp(now).astimezone()
    moment = today.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if moment <= today:
        moment += timedelta(days=1)
    return moment.timestamp()
