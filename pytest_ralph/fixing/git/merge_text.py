"""Merge three versions of a text line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.files import temporary_directory

if TYPE_CHECKING:
    from pytest_ralph.fixing.git.command import GitCommand

LABELS = ("-L", "in the project now", "-L", "before both changes", "-L", "your version")


class ConflictError(Exception):
    """Two versions of a file cannot be merged. The message may show both of them."""


def merge_text(git: GitCommand, base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Merge what `ours` and `theirs` changed in `base`.

    Raise ConflictError if both changed the same lines, or if git takes one of them for binary.
    """
    with temporary_directory("merge") as directory:
        files = [directory / name for name in ("ours", "base", "theirs")]
        for file, data in zip(files, (ours, base, theirs), strict=True):
            file.write_bytes(data)
        result = git.run("merge-file", "-q", "--diff3", *LABELS, *map(str, files))
        merged = files[0].read_bytes()
    if result.status != 0:
        raise ConflictError(merged.decode("utf-8", "replace"))
    return merged
