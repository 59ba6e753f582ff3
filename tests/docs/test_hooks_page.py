"""The examples of hooks, each in a project where it has something to do."""

from __future__ import annotations

import json
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from pytest_ralph import hookspecs
from tests.docs.literal import DOCS, blocks

if TYPE_CHECKING:
    from pathlib import Path

PAGE = DOCS / "hooks.md"
EXAMPLES = [block.text for block in blocks(PAGE) if block.title == "conftest.py"]
SPEC = """\
    - [ ] 1.1 Make it so
      - **Do**: Whatever it takes
      - **Files**: {files}
      - **Verify**: `./check.sh`
    """
LINT = "app.py:1:1: F401 `os` imported but unused"
LICENCE = "licence header missing"


def example(hook: str) -> str:
    return next(text for text in EXAMPLES if f"def {hook}(" in text)


@pytest.fixture
def project(pytester: pytest.Pytester) -> Path:
    """One task, whose check passes when there is a file `fixed`."""
    write_spec(pytester.path, "`app.py`")
    write_check(pytester.path, LICENCE)
    return pytester.path


def write_spec(root: Path, files: str) -> None:
    (root / "specs" / "demo").mkdir(parents=True, exist_ok=True)
    (root / "specs" / "demo" / "tasks.md").write_text(dedent(SPEC).format(files=files))


def write_check(root: Path, complaint: str) -> None:
    check = root / "check.sh"
    check.write_text(f"#!/bin/sh\ntest -e fixed && exit 0\necho '{complaint}'\nexit 1\n")
    check.chmod(0o755)


def heal(pytester: pytest.Pytester, hook: str, executor: str = "repair") -> str:
    pytester.makeconftest(example(hook))
    return pytester.runpytest_subprocess(
        "--ralph-recovery", "--ralph-executor", executor, "specs"
    ).stdout.str()


def test_classify(pytester: pytest.Pytester, project: Path) -> None:
    output = heal(pytester, "pytest_ralph_classify")

    assert "licence error: app.py has no licence header" in output.splitlines()
    state = json.loads((project / "specs" / "demo" / ".ralph-state.json").read_text())
    assert '"type": "licence_error"' in json.dumps(state)


def test_decide(pytester: pytest.Pytester, project: Path) -> None:
    write_spec(project, "`migrations/001.sql`")

    assert "given up: migrations are for a person" in heal(pytester, "pytest_ralph_decide")


def test_fix_task(pytester: pytest.Pytester, project: Path) -> None:
    write_check(project, LINT)

    heal(pytester, "pytest_ralph_fix_task")

    assert "- [ ] 1.1.1 [FIX 1.1] Tidy up" in (project / "specs" / "demo" / "tasks.md").read_text()


def test_prompt(pytester: pytest.Pytester, project: Path) -> None:
    write_check(project, "FAILED tests/test_app.py::test_total - assert 1 == 2")

    heal(pytester, "pytest_ralph_prompt", "cat >> prompts.txt")

    assert "Think about the design, not about this line." in (project / "prompts.txt").read_text()


def test_execute(pytester: pytest.Pytester, project: Path) -> None:
    (project / "LICENSE.header").write_text("# Free to use.\n")
    (project / "app.py").write_text("import os\n")
    (project / "check.sh").write_text(
        f"#!/bin/sh\ngrep -q Free app.py && exit 0\necho '{LICENCE}'\nexit 1\n"
    )

    assert "1 recovered" in heal(pytester, "pytest_ralph_execute")


def test_told(pytester: pytest.Pytester, project: Path) -> None:
    heal(pytester, "pytest_ralph_failed")
    heal(pytester, "pytest_ralph_failed", "touch fixed")

    told = (project / "events.txt").read_text()
    for line in (
        "1.1 failed, attempt 1: ",
        "1.1.1 was written for 1.1",
        "1.1 needs a person: ",
        "demo: 1 failed, 0 blocked",
        "1.1 recovered by 1.1.1",
    ):
        assert line in told


def test_every_hook_has_an_example() -> None:
    hooks = [name for name in vars(hookspecs) if name.startswith("pytest_ralph_")]

    assert [name for name in hooks if not any(f"def {name}(" in text for text in EXAMPLES)] == []
