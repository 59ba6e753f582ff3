"""Recovery tests: a spec, and executors that are real scripts which edit real files."""

from __future__ import annotations

import json
import shlex
import sys
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path


class Project:
    """A project with one spec, and what a run left of it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.directory = pytester.path / "specs" / "demo"
        self.directory.mkdir(parents=True)

    @property
    def tasks(self) -> Path:
        return self.directory / "tasks.md"

    def spec(self, text: str) -> None:
        self.tasks.write_text(dedent(text), encoding="utf-8")

    def executor(self, body: str, name: str = "executor.py") -> str:
        """A Python script that notes each call in calls.txt and then does `body`; the command line that runs it."""
        head = """\
            import os, sys
            from pathlib import Path
            task, fixes = os.environ["RALPH_TASK_ID"], os.environ["RALPH_FIX_FOR"]
            prompt = sys.stdin.read()
            with open("calls.txt", "a") as calls:
                calls.write(task + "\\n")
        """
        script = self.pytester.path / name
        script.write_text(dedent(head) + dedent(body), encoding="utf-8")
        return f"{shlex.quote(sys.executable)} {name}"

    def run(self, *args: str, executor: str | None = None) -> pytest.RunResult:
        given = ("--ralph-executor", executor) if executor else ()
        return self.pytester.runpytest("--ralph-recovery", *given, *args, "specs/demo")

    @property
    def calls(self) -> list[str]:
        path = self.pytester.path / "calls.txt"
        return path.read_text().split() if path.exists() else []

    @property
    def boxes(self) -> dict[str, bool]:
        """Task id → whether it is checked, in file order."""
        lines = (line.split(maxsplit=3) for line in self.tasks.read_text().splitlines() if line.startswith("- ["))
        return {words[3].split()[0] if words[1] == "[" else words[2]: words[1] == "[x]" for words in lines}

    @property
    def state(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads((self.directory / ".ralph-state.json").read_text())
        return data

    @property
    def progress(self) -> str:
        return (self.directory / ".progress.md").read_text(encoding="utf-8")


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    return Project(pytester)


ONE_TASK = """\
    # Tasks

    - [ ] 1.3 Add failure parser
      - **Do**: Add parsing logic
      - **Files**: `parser.txt`
      - **Done when**: Parser is there
      - **Verify**: `grep -q fixed parser.txt`
      - **Commit**: feat: add parser

    - [ ] 1.4 Next task
      - **Do**: Nothing
      - **Verify**: `test -d specs`
"""


@pytest.fixture
def one_task(project: Project) -> Project:
    """Task 1.3 fails until parser.txt says `fixed`; 1.4 passes."""
    (project.pytester.path / "parser.txt").write_text("broken\n")
    project.spec(ONE_TASK)
    return project
