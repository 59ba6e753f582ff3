"""Find the worktrees that executors work in."""

from __future__ import annotations

import glob
import tempfile
from pathlib import Path

# In the repository of a worktree: where it borrows objects.
LENDER = ".git/objects/info/alternates"


def worktrees_of(project: Path) -> list[Path]:
    """Return the worktrees of a project that exist at the moment."""
    found = []
    for directory in {tempfile.gettempdir(), "/dev/shm"}:
        # Another run may remove its own meanwhile, which `Path.glob` does not expect.
        for name in glob.glob(f"{directory}/ralph-worktree-*/*/{LENDER}"):  # noqa: PTH207
            lender = Path(name)
            try:
                borrowed = lender.read_text()
            except OSError:
                continue
            if borrowed == f"{project.resolve()}/.git/objects\n":
                found.append(lender.parents[3])
    return found
