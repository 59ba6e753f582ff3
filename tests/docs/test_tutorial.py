"""The tutorial, followed word for word in an empty directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.docs.literal import DOCS, follow

if TYPE_CHECKING:
    from pathlib import Path


def test_the_tutorial_works_as_written(tmp_path: Path) -> None:
    assert follow(DOCS / "tutorial.md", tmp_path) > 10
    assert "[ ]" not in (tmp_path / "wordcount" / "specs" / "count" / "tasks.md").read_text()
