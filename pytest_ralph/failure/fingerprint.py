"""Fingerprint: equal for the same error whatever its line numbers, times, addresses and paths."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ralph.failure.failure import Failure

LONGEST = 2_000
DIGITS = 16

_TEMPORARY = r"(?:/private)?(?:/tmp|/var/folders|/var/tmp|/dev/shm)/"
_UNITS = r"(?:ms|µs|us|ns|s|sec|secs|seconds?|milliseconds|minutes?)"
# What changes from run to run although the error is the same; applied in this order.
CHANGING = tuple(
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", "<id>"),
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?", "<time>"),
        (r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b", "<time>"),
        (r"\b0x[0-9a-f]+\b", "<address>"),
        (_TEMPORARY + r"[^\s'\":;,)]*/(?=[^/\s'\":;,)]+)", "<tmp>/"),
        (_TEMPORARY + r"[^\s'\":;,)]+", "<tmp>"),
        (r"pytest-of-\w+/pytest-\d+", "<tmp>"),
        (r"\bcc\w{6}\.(?=[so]\b)", "<tmp>."),
        (r"\b[0-9a-f]{12,64}\b", "<hash>"),
        (r"\b\d+(?:\.\d+)?\s?" + _UNITS + r"\b", "<time>"),
        (r"(?<=[\w)\]]):\d+(?::\d+)?(?=[:\s,)]|$)", ":<line>"),
        (r"\((\d+)[,:](\d+)\)", "(<line>)"),
        (
            r"\b(lines?|column|col|char|position|offset|pid|port|thread|process)(\s+#?|=|:\s*)\d+",
            r"\1\2<n>",
        ),
        (r"^\d+:\d+(?=\s)", "<line>"),
        (r"\b\d{5,}\b", "<n>"),
        (r"\s+", " "),
    )
)


def fingerprint(failure: Failure) -> str:
    """Return hexadecimal digits made of the kind, the error, what is missing and the tests."""
    error = without_changing_parts(failure.error)
    tests = set(map(without_changing_parts, failure.failed_tests))
    parts = (failure.kind, error, failure.missing or "", *sorted(tests))
    text = "\x00".join(parts)
    digest = hashlib.sha256(text.encode("utf-8", "replace"))
    return digest.hexdigest()[:DIGITS]


def without_changing_parts(text: str) -> str:
    """Return what of an error stays the same from run to run."""
    text = text[:LONGEST]
    for pattern, replacement in CHANGING:
        text = pattern.sub(replacement, text)
    return text.strip()
