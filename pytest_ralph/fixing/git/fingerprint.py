"""Fingerprints of a working tree: a text that is the same for the same contents."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from pytest_ralph.files import RALPH_DIRECTORY, SPEC_FILES
from pytest_ralph.fixing.snapshot import MAX_FILE_SIZE, FileState, state_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class Fingerprints:
    """Computes fingerprints of the files below `root`.

    A file is read again only if its size or times have changed. Size and time stand for the content
    of large files, which are never read. The files that a run itself writes do not count.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[str, tuple[FileState, str]] = {}

    def of(self, paths: Iterable[str]) -> str:
        """Return the fingerprint of the files `paths`, given relative to the root."""
        whole = hashlib.sha256()
        for path in sorted(paths):
            name = path.rpartition("/")[2]
            if path.startswith(f"{RALPH_DIRECTORY}/") or name in SPEC_FILES:
                continue
            # A Path for each file of the project would be most of the cost.
            state = state_of(f"{self._root}/{path}")
            if state is not None:
                whole.update(os.fsencode(f"{path}\0{self._digest(path, state)}\0"))
        return whole.hexdigest()

    def _digest(self, path: str, state: FileState) -> str:
        known = self._known.get(path)
        if known is not None and known[0] == state:
            return known[1]
        digest = f"{state.mode:o} {self._content(self._root / path, state)}"
        self._known[path] = (state, digest)
        return digest

    @staticmethod
    def _content(file: Path, state: FileState) -> str:
        if state.is_link:
            return state.target
        if state.size > MAX_FILE_SIZE:
            return f"{state.size} {state.modified}"
        try:
            return hashlib.sha256(file.read_bytes()).hexdigest()
        except OSError:
            # Unreadable or gone.
            return ""
