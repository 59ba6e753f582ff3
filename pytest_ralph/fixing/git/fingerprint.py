"""Fingerprints of a working tree: a text that is the same for the same contents."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.files import RALPH_DIRECTORY, SPEC_FILES
from pytest_ralph.fixing.file_state import FileState, is_unchanged, state_of
from pytest_ralph.fixing.snapshot import MAX_FILE_SIZE
from pytest_ralph.running.open_files import files_being_written

if TYPE_CHECKING:
    from collections.abc import Iterable


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
        for path in sorted(set(paths) - files_being_written(self._root)):
            name = path.rpartition("/")[2]
            if path.startswith(f"{RALPH_DIRECTORY}/") or name in SPEC_FILES:
                continue
            digest = self._digest(path)
            if digest:
                whole.update(os.fsencode(f"{path}\0{digest}\0"))
        return whole.hexdigest()

    def _digest(self, path: str) -> str:
        """Return what stands for a file; empty if there is none."""
        # A Path for each file of the project would be most of the cost.
        file = f"{self._root}/{path}"
        known = self._known.get(path)
        if known is not None and is_unchanged(file, known[0]):
            return known[1]
        state = state_of(file)
        if state is None:
            return ""
        digest = f"{state.mode:o} {self._content(Path(file), state)}"
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
