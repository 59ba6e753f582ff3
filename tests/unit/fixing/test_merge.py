"""Writing the files of a merge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ralph.fixing.isolation import merge
from pytest_ralph.fixing.isolation.merge import FileChange, Side, apply_merge, read_side

if TYPE_CHECKING:
    from pathlib import Path


def test_a_full_disk_leaves_no_half_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_side = merge.write_side

    def write_until_full(root: Path, target: Path, result: Side | None) -> None:
        if target.name == "large":
            raise OSError(28, "No space left on device")
        write_side(root, target, result)

    monkeypatch.setattr(merge, "write_side", write_until_full)
    root = tmp_path / "project"
    root.mkdir()
    (root / "changed").write_text("before")
    changed = FileChange("changed", read_side(root / "changed"), Side(b"after", 0o644))
    added = FileChange("added", None, Side(b"after", 0o644))
    large = FileChange("large", None, Side(b"after", 0o644))
    journal = tmp_path / "1.merge"
    with pytest.raises(OSError, match="No space left"):
        apply_merge(root, [changed, added, large], backups=tmp_path / "b", journal=journal)

    assert {file.name: file.read_text() for file in root.iterdir()} == {"changed": "before"}
    assert not journal.exists()
