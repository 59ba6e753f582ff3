"""Read the output of a git diff with the options `--raw -z`."""

from __future__ import annotations

from dataclasses import dataclass

# The mode that git's raw diff shows for a file that does not exist.
ABSENT = "000000"


@dataclass(frozen=True)
class TreeChange:
    """One path that differs between an old and a new tree, with the mode and object id of both."""

    path: str
    old_mode: str
    old_object: str
    new_mode: str
    new_object: str

    @property
    def removed(self) -> bool:
        """Whether only the old tree has the path."""
        return self.new_mode == ABSENT


def parse_raw_diff(raw: str) -> list[TreeChange]:
    """Return the changes in the output of a git diff with the options `--raw -z`."""
    parts = raw.split("\0")
    changes = []
    for header, path in zip(parts[::2], parts[1::2], strict=False):
        old_mode, new_mode, old_object, new_object, _ = header.lstrip(":").split(" ")
        changes.append(TreeChange(path, old_mode, old_object, new_mode, new_object))
    return changes
