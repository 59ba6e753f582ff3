"""Real agents, each in a project of its own, that talk to a scripted model server on loopback.

An agent is looked for on PATH, or where a variable such as `RALPH_TEST_AIDER` says. None of them is
needed for the other tests: where one is not installed, its tests are skipped.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one file, one mistake in it, and the git history that agents like to see."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "app.py").write_text("def add(a, b):\n    return a - b\n")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "start"]):
        subprocess.run([*git, *words], cwd=root, check=True, capture_output=True)
    return root


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Nothing of the person who runs the tests: no home, no keys, no settings."""
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }
