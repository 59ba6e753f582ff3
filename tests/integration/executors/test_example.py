"""The example of an executor with templates of the project's own does what its README says."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "executors"


def test_the_example_recovers_with_its_own_executor_and_templates(
    pytester: pytest.Pytester,
) -> None:
    shutil.copytree(EXAMPLE, pytester.path, dirs_exist_ok=True)

    result = pytester.runpytest_subprocess("specs", "-v", "-p", "no:cacheprovider")

    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["specs/sums/tasks.md::1.1 RECOVERED*", "specs/sums/tasks.md::1.2 PASSED*"]
    )
    spec = (pytester.path / "specs" / "sums" / "tasks.md").read_text()
    assert "2. Repair the cause" in spec
    (prompt,) = (pytester.path / ".ralph" / "logs").rglob("*.prompt")
    assert "## How we work here" in prompt.read_text()
    assert "## What failed" in prompt.read_text()
