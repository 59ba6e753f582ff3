from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.history.store import History
from tests.records import record_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Diary:
    """A history that is quick to fill; a second passes with every row unless given otherwise."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.time = 1000.0
        self.run = "r1"

    def note(self, task: str = "1.1", outcome: str = "passed", **fields: Any) -> None:
        self.time = fields.pop("time", self.time + 1.0)
        self.history.record(
            record_of(
                **{
                    "run": self.run,
                    "time": self.time,
                    "spec": "specs/foo",
                    "task": task,
                    "outcome": outcome,
                    **fields,
                }
            )
        )

    def fails(self, task: str = "1.1", kind: str = "test_failure", **fields: Any) -> None:
        self.note(task, "failed", kind=kind, **fields)

    def fix(
        self, task: str = "1.1", kind: str = "test_failure", *, works: bool = True, **fields: Any
    ) -> None:
        """A fix that was carried out well; whether it works is for the next verification to say."""
        what, verify = fields.pop("what", "fix"), fields.pop("verify", {})
        self.note(task, "passed", what=what, kind=kind, **{"executor": "claude", **fields})
        if works:
            self.note(task, **verify)
        else:
            self.fails(task, kind, **verify)


@pytest.fixture
def diary(tmp_path: Path) -> Iterator[Diary]:
    with History(tmp_path / ".ralph" / "history.db") as history:
        yield Diary(history)
