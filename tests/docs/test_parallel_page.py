"""The page on parallel work, followed word for word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.docs.literal import DOCS, follow

if TYPE_CHECKING:
    from pathlib import Path


def test_the_page_on_parallel_work_does_as_written(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    assert follow(DOCS / "parallel.md", tmp_path) == 2
    assert "[ ]" not in (tmp_path / "specs/shop/tasks.md").read_text()
