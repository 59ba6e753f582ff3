"""A state file as it is stored: read, changed in memory, and written back."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pytest_ralph.files import Seen, file_signature, replace_if_unchanged
from pytest_ralph.spec.state_file import read_state
from pytest_ralph.spec.state_text import StateText


class StoredState:
    """The fields of one state file, changed in memory and written by `save`.

    Several fields are maps of entries by the names of tasks. These are changed through
    `own_entry` and `remove_entry`, which note that the text of an entry is out of date.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data: dict[str, Any] = {}
        # Where the file really is now: a link that an executor puts there is not followed.
        self._place = Path(os.path.realpath(path))
        self._seen: Seen = None
        self._text = StateText()
        # The fields as they were last read or written; None without a file.
        self._saved: bytes | None = None

    @property
    def exists(self) -> bool:
        return self._saved is not None

    def read(self) -> None:
        """Read the file; without one, there are no fields."""
        self._seen = file_signature(self.path)
        data = read_state(self.path)
        if data is not None:
            self.data = data
            self._saved = self._text.encoded(data)

    def save(self) -> None:
        """Write the file if anything changed, and keep what other programs wrote meanwhile.

        A power failure may undo the last writes: the document is the truth, and waiting for the
        disk would make the tasks of a [P] group wait for each other.
        """
        text = self._text.encoded(self.data)
        while text != self._saved:
            seen = replace_if_unchanged(self._place, text, self._seen, durable=False)
            if seen is None:
                self._merge_file()
                text = self._text.encoded(self.data)
            else:
                self._saved = text
                self._seen = seen

    def _merge_file(self) -> None:
        """Read the file that another program wrote and apply our unsaved changes to it."""
        base = {} if self._saved is None else json.loads(self._saved)
        ours = self.data
        self._saved = None
        self._text = StateText()
        self.read()
        if self.exists:
            self.data = _merged(base, ours, self.data)
            self._text = StateText()

    # Maps of entries, which may be absent or null

    def entries(self, field: str) -> dict[str, dict[str, Any]]:
        """Return a map of entries, for reading."""
        value = self.data.get(field)
        return {} if value is None else value

    def entry(self, field: str, task_id: str) -> dict[str, Any]:
        """Return one entry, for reading; it is empty where there is none."""
        return self.entries(field).get(task_id, {})

    def own_entry(self, field: str, task_id: str) -> dict[str, Any]:
        """Return the entry to write into, created where it is missing."""
        self._text.changed(field, task_id)
        if self.data.get(field) is None:
            self.data[field] = {}
        entry: dict[str, Any] = self.data[field].setdefault(task_id, {})
        return entry

    def remove_entry(self, field: str, task_id: str) -> None:
        """Remove an entry, and the map with the last one."""
        self._text.changed(field, task_id)
        entries = self.entries(field)
        del entries[task_id]
        if not entries:
            del self.data[field]


def _merged(base: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """Return `theirs` with the changes that lead from `base` to `ours`, object by object."""
    merged = dict(theirs)
    for key in base.keys() - ours.keys():
        merged.pop(key, None)
    for key, mine in ours.items():
        before = base.get(key)
        other = theirs.get(key)
        if isinstance(mine, dict) and isinstance(other, dict):
            merged[key] = _merged(_as_object(before), mine, other)
        elif key not in base or mine != before:
            merged[key] = mine
    return merged


def _as_object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
