"""Fingerprint: the same for the same error, whatever its line numbers, times, addresses and temporary paths."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ralph.failure.failure import Failure

# What changes from run to run without the error being another one; the order matters.
PASSING = (
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (
        re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"),
        "<time>",
    ),
    (re.compile(r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b"), "<time>"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE), "<address>"),
    (
        re.compile(
            r"(?:/private)?(?:/tmp|/var/folders|/var/tmp|/dev/shm)/[^\s'\":;,)]*/(?=[^/\s'\":;,)]+)"
        ),
        "<tmp>/",
    ),
    (re.compile(r"(?:/private)?(?:/tmp|/var/tmp|/dev/shm)/[^\s'\":;,)]+"), "<tmp>"),
    (re.compile(r"pytest-of-\w+/pytest-\d+"), "<tmp>"),
    (re.compile(r"\bcc\w{6}\.(?=[so]\b)"), "<tmp>."),
    (re.compile(r"\b[0-9a-f]{12,64}\b", re.IGNORECASE), "<hash>"),
    (
        re.compile(
            r"\b\d+(?:\.\d+)?\s?(?:ms|µs|us|ns|s|sec|secs|seconds?|milliseconds|minutes?)\b"
        ),
        "<time>",
    ),
    (re.compile(r"(?<=[\w)\]]):\d+(?::\d+)?(?=[:\s,)]|$)"), ":<line>"),
    (re.compile(r"\((\d+)[,:](\d+)\)"), "(<line>)"),
    (
        re.compile(
            r"\b(lines?|column|col|char|position|offset|pid|port|thread|process)(\s+#?|=|:\s*)\d+",
            re.IGNORECASE,
        ),
        r"\1\2<n>",
    ),
    (re.compile(r"^\d+:\d+(?=\s)"), "<line>"),
    (re.compile(r"\b\d{5,}\b"), "<n>"),
    (re.compile(r"\s+"), " "),
)
LONGEST = 2_000


def fingerprint(failure: Failure) -> str:
    """Sixteen hexadecimal digits from the kind, the error, what is missing and which tests fail."""
    tests = sorted(set(map(lasting, failure.failed_tests)))
    parts = (failure.kind, lasting(failure.error), failure.missing or "", *tests)
    return hashlib.sha256("\x00".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def lasting(text: str) -> str:
    """What of an error stays the same from run to run."""
    text = text[:LONGEST]
    for pattern, word in PASSING:
        text = pattern.sub(word, text)
    return text.strip()
