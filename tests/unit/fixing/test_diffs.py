"""Diffs of what an executor or a repair changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ralph.fixing.diffs import diff_of
from pytest_ralph.fixing.file_state import Change, stored_state

if TYPE_CHECKING:
    from pathlib import Path

HEADING = "diff --git a/file b/file\n"
ONLY_ENDS = "only the ends of lines, or of the file, have changed\n"


def diff(directory: Path, before: bytes | None, after: bytes | None) -> str:
    states = []
    for name, content in (("before", before), ("after", after)):
        if content is not None:
            (directory / name).write_bytes(content)
        states.append(stored_state(directory, name))
    return diff_of([Change("file", *states)])


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (b"a\n", b"b\n", "--- a/file\n+++ b/file\n@@ -1 +1 @@\n-a\n+b\n"),
        (None, b"a\n", "--- /dev/null\n+++ b/file\n@@ -0,0 +1 @@\n+a\n"),
        (b"a\n", None, "--- a/file\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"),
        (None, b"", ""),
        (b"a\r\n", b"a\n", ONLY_ENDS),
        (b"a\n", b"a", ONLY_ENDS),
        (b"a", b"\0", "the content is not text, or too large to show\n"),
    ],
)
def test_what_a_diff_shows(
    tmp_path: Path, before: bytes | None, after: bytes | None, shown: str
) -> None:
    assert diff(tmp_path, before, after) == HEADING + shown
