"""When a limit of an agent's service ends, by the words of its error."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo

# `Claude AI usage limit reached|1751234400`
EPOCH = re.compile(r"\|(\d{10})\b")
# `try again in 2 days 3 hours 5 minutes`, `retry after 40s`, `Please try again in 6m0.5s`
DURATION = re.compile(
    r"(?:try again|retry|retrying|resets?|available)(?: after)?(?: in)? "
    r"((?:\d+(?:\.\d+)?\s*(?:d|h|m|s|days?|hours?|minutes?|mins?|seconds?"
    r"|secs?)(?![a-z])[ ,]*(?:and )?)+)",
    re.IGNORECASE,
)
AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([dhms])", re.IGNORECASE)
SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
# `resets 3pm`, `resets at 11:30 AM`, `try again at 16:05 UTC`, `resets 3pm (Europe/Berlin)`
CLOCK = re.compile(
    r"(?:resets?|try again)(?: at)? (?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?"
    r"\s*(?P<half>[ap]m)?\b(?:\s*\(?(?P<zone>UTC|GMT|[A-Z]\w+/[\w/+-]+))?",
    re.IGNORECASE,
)


def reset_time(message: str, now: float) -> float | None:
    """Return when the limit that `message` is about ends, in seconds since the epoch, or None."""
    epoch = EPOCH.search(message)
    if epoch:
        return float(epoch[1])

    duration = DURATION.search(message)
    if duration:
        seconds = 0.0
        for number, unit in AMOUNT.findall(duration[1]):
            seconds += float(number) * SECONDS[unit.lower()]
        return now + seconds

    clock = CLOCK.search(message)
    if clock is None:
        return None
    hour = int(clock["hour"])
    half = (clock["half"] or "").lower()
    if half:
        # 12am is midnight, and 12pm is noon.
        hour %= 12
        if half == "pm":
            hour += 12
    elif clock["minute"] is None:
        # `try again 3 times`
        return None
    return _next_time(hour, int(clock["minute"] or 0), now, _zone(clock["zone"]))


def _zone(name: str | None) -> tzinfo | None:
    """Return the time zone with this name; None, which is the local one, if it is not known."""
    if not name:
        return None
    if name.upper() in ("UTC", "GMT"):
        return timezone.utc

    # Imported here: few errors name a zone.
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (ValueError, KeyError, OSError):
        return None


def _next_time(hour: int, minute: int, now: float, zone: tzinfo | None) -> float | None:
    """Return when it is that time next in `zone`; None if there is no such time."""
    if hour > 23 or minute > 59:
        return None
    today = datetime.fromtimestamp(now).astimezone(zone)
    moment = today.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if moment <= today:
        moment += timedelta(days=1)
    return moment.timestamp()
