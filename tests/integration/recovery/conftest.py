"""Recovery tests: a spec, and executors that are real scripts which edit real files."""

from __future__ import annotations

import json
import shlex
import sqlite3
import subprocess
import sys
from contextlib import closing
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path


class Project:
    """A project with one spec, and what a run left of it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.root = pytester.path
        self.directory = pytester.path / "specs" / "demo"
        self.directory.mkdir(parents=True)

    @property
    def tasks(self) -> Path:
        return self.directory / "tasks.md"

    def spec(self, text: str, newline: str = "\n") -> None:
        self.tasks.write_bytes(dedent(text).replace("\n", newline).encode())

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    def executor(self, body: str, name: str = "executor.py") -> str:
        """The command line of a Python script that notes each call in calls.txt and runs `body`."""
        head = """\
            import os, sys
            from pathlib import Path
            task, fixes = os.environ["RALPH_TASK_ID"], os.environ["RALPH_FIX_FOR"]
            prompt = sys.stdin.read()
            with open("calls.txt", "a") as calls:
                calls.write(task + "\\n")
        """
        (self.root / name).write_text(dedent(head) + dedent(body), encoding="utf-8")
        return f"{shlex.quote(sys.executable)} {name}"

    def shell(self, body: str) -> str:
        """The same as a script for sh, which starts faster.

        It knows `$task`, and `$call`, the number of the call.
        """
        head = """\
            task=$RALPH_TASK_ID
            echo "$task" >> calls.txt
            call=$(($(wc -l < calls.txt)))
            cat > prompt.$call
        """
        (self.root / "executor.sh").write_text(dedent(head) + dedent(body), encoding="utf-8")
        return "sh executor.sh"

    def run(self, *args: str, executor: str | None = None) -> pytest.RunResult:
        return self.pytester.runpytest(
            "--ralph-recovery", *self._given(executor), *args, "specs/demo"
        )

    def verify(self, *args: str, executor: str | None = None) -> pytest.RunResult:
        """Without recovery, unless the state file has it."""
        return self.pytester.runpytest("--ralph", *self._given(executor), *args, "specs/demo")

    def _given(self, executor: str | None) -> tuple[str, ...]:
        return ("--ralph-executor", executor) if executor else ()

    @property
    def calls(self) -> list[str]:
        path = self.root / "calls.txt"
        return path.read_text().split() if path.exists() else []

    def prompt(self, call: int) -> str:
        return (self.root / f"prompt.{call}").read_text(encoding="utf-8")

    @property
    def boxes(self) -> dict[str, bool]:
        """Task id → whether it is checked, in file order."""
        lines = (
            line.split(maxsplit=3)
            for line in self.tasks.read_text().splitlines()
            if line.startswith("- [")
        )
        return {
            words[3].split()[0] if words[1] == "[" else words[2]: words[1] == "[x]"
            for words in lines
        }

    @property
    def state_path(self) -> Path:
        return self.directory / ".ralph-state.json"

    @property
    def state(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.state_path.read_text())
        return data

    @property
    def progress(self) -> str:
        return (self.directory / ".progress.md").read_text(encoding="utf-8")

    def history(self, columns: str, where: str = "1") -> list[Any]:
        """What the history has of it, oldest first; one column as plain values."""
        with closing(sqlite3.connect(self.root / ".ralph" / "history.db")) as database:
            rows = database.execute(
                f"SELECT {columns} FROM attempts WHERE {where} ORDER BY id"
            ).fetchall()
        return [row[0] if len(row) == 1 else row for row in rows]

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.root, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def repository(self) -> None:
        """Everything that is there becomes the first commit."""
        self.git("init", "-q", "--template=", "-b", "main")
        self.git("config", "user.name", "A Person")
        self.git("config", "user.email", "person@example.org")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "the beginning")


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
    (project.root / "parser.txt").write_text("broken\n")
    project.spec(ONE_TASK)
    return project
