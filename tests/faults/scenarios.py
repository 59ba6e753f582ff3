"""Small projects, each of which takes the program down another way.

Executors are a line of shell: a run is quick.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from textwrap import dedent
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SPEC = "specs/demo/tasks.md"

ONE_TASK = """\
    # Tasks

    - [ ] 1.3 Add failure parser
      - **Do**: Add parsing logic
      - **Files**: `parser.txt`
      - **Done when**: Parser is there
      - **Verify**: `grep -q fixed parser.txt`
      - **Commit**: `feat: add parser`

    - [ ] 1.4 Next task
      - **Do**: Nothing
      - **Verify**: `test -d specs`
"""

STEPS = """\
    - [ ] 2.1 Take long
      - **Do**:
        1. Make one
        2. Make two
      - **Files**: `one.txt`, `two.txt`
      - **Verify**: `test -e two.txt || sleep 9`
      - **Timeout**: 0.3

    - [ ] 2.2 Next
      - **Verify**: `test -d specs`
"""

GROUP = "# Tasks\n\n" + "\n".join(
    (
        f"- [ ] 1.{n} [P] Part {n}\n  - **Files**: `part{n}.txt`\n"
        f"  - **Verify**: `grep -q fixed part{n}.txt`\n"
    )
    for n in range(1, 5)
)

WITH_ALL_AROUND = """\
    ---
    spec: demo
    total_tasks: 2
    ---
    # Tasks

    * [x] 1.1 Was done before
      * **Verify**: `true`

    * [ ] 1.2 To do
      * **Do**: it
      * **Verify**: `grep -q fixed parser.txt`

    ## Notes

    Written by a person.
"""

BUILD = """\
    - [ ] 1.1 It is there
      - **Verify**: `test -e build.sh`

    - [ ] 1.2 It builds
      - **Do**: Make it build
      - **Files**: `build.sh`, `parser.txt`
      - **Verify**: `sh build.sh && grep -q fixed parser.txt`
"""


@dataclass(frozen=True)
class Scenario:
    """A project, how it is run, and the tasks it has in the end."""

    name: str
    tasks: str = "1.3 1.3.1 1.4"
    spec: str = ONE_TASK
    executor: str = "echo fixed > parser.txt"
    options: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=lambda: {"parser.txt": "broken\n"})
    git: bool = False
    # Written after the commit.
    uncommitted: Mapping[str, str] = field(default_factory=dict)
    # Line ends of tasks.md.
    newline: str = "\n"

    @property
    def moves_files(self) -> bool:
        return "--ralph-rollback" in self.options

    @property
    def args(self) -> tuple[str, ...]:
        return ("--ralph-recovery", "--ralph-executor", self.executor, *self.options, "specs/demo")

    def make(self, directory: Path) -> None:
        texts = {
            SPEC: dedent(self.spec).replace("\n", self.newline),
            "pytest.ini": "[pytest]\n",
            **self.files,
        }
        _write(directory, texts)
        if self.git:
            _make_repository(directory)
        _write(directory, self.uncommitted)


def _write(directory: Path, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def _make_repository(directory: Path) -> None:
    for words in (
        ("init", "-q", "--template="),
        ("config", "user.name", "A Person"),
        ("config", "user.email", "person@example.org"),
        ("config", "gc.auto", "0"),
        ("add", "-A"),
        ("commit", "-q", "-m", "the beginning"),
    ):
        subprocess.run(["git", *words], cwd=directory, check=True, capture_output=True)


_EACH_PART = 'echo fixed > "part${RALPH_FIX_FOR#1.}.txt"'
SCENARIOS = (
    Scenario("first fix helps"),
    Scenario(
        "third fix helps",
        "1.3 1.3.1 1.3.2 1.3.3 1.4",
        executor=(
            'if [ "$RALPH_TASK_ID" = 1.3.3 ]; then echo fixed; else echo "$RALPH_TASK_ID"; fi > '
            "parser.txt"
        ),
    ),
    Scenario(
        "fix of a fix",
        "1.3 1.3.1 1.3.1.1 1.4",
        executor=(
            'if [ "$RALPH_TASK_ID" = 1.3.1 ]; then echo "Error: no idea"; exit 1; fi; '
            "echo fixed > parser.txt"
        ),
    ),
    Scenario(
        "fix of a fix, then another",
        "1.3 1.3.1 1.3.1.1 1.3.2 1.4",
        executor='case "$RALPH_TASK_ID" in 1.3.1) echo "Error: no idea"; exit 1;; '
        "1.3.2) echo fixed;; *) echo no;; esac"
        " > parser.txt",
    ),
    Scenario(
        "limit of fixes", "1.3 1.3.1 1.3.2 1.3.3 1.4", executor='echo "$RALPH_TASK_ID" > parser.txt'
    ),
    Scenario("limit of depth", "1.3 1.3.1 1.3.1.1 1.3.1.1.1 1.4", executor="echo no idea; exit 1"),
    Scenario("nobody to fix it", executor="none"),
    Scenario(
        "split into steps",
        "2.1 2.1.1 2.1.2 2.2",
        spec=STEPS,
        executor='case "$RALPH_TASK_ID" in *.1) touch one.txt;; *) touch two.txt;; esac',
        files={},
    ),
    Scenario(
        "group in parallel",
        "1.1 1.2 1.2.1 1.3 1.4 1.4.1",
        spec=GROUP,
        executor=_EACH_PART,
        options=("--ralph-jobs", "4"),
        files={
            "part1.txt": "fixed\n",
            "part2.txt": "no\n",
            "part3.txt": "fixed\n",
            "part4.txt": "no\n",
        },
    ),
    Scenario("commits", options=("--ralph-commit", "auto"), git=True),
    Scenario(
        "candidates",
        options=("--ralph-isolate", "worktree", "--ralph-candidates", "2"),
        git=True,
    ),
    Scenario(
        "worktrees and commits",
        options=("--ralph-isolate", "worktree", "--ralph-commit", "auto"),
        uncommitted={"notes.txt": "not to be lost\n"},
        git=True,
    ),
    Scenario("commit messages", options=("--ralph-commit", "message-only"), git=True),
    Scenario(
        "rollback",
        "1.1 1.2 1.2.1",
        spec=BUILD,
        options=("--ralph-rollback",),
        files={"parser.txt": "broken\n", "build.sh": "true\n"},
        uncommitted={"build.sh": "echo one\nif then fi (\n", "new.txt": "not to be lost\n"},
        git=True,
    ),
    Scenario(
        "repair",
        "1.1 1.1.1",
        spec="- [ ] 1.1 Run it\n  - **Files**: `run.sh`\n  - **Verify**: `./run.sh`\n",
        executor="repair",
        files={"run.sh": "#!/bin/sh\nexit 0\n"},
    ),
    Scenario(
        "whole loop",
        spec=ONE_TASK,
        executor='if [ -n "$RALPH_FIX_FOR" ]; then echo fixed > parser.txt; fi',
        options=("--ralph-execute",),
    ),
    Scenario(
        "files of others",
        "1.1 1.2 1.2.1",
        spec=WITH_ALL_AROUND,
        newline="\r\n",
        files={
            "parser.txt": "broken\n",
            "specs/demo/.ralph-state.json": (
                '{"source": "spec", "theirs": {"kept": [1, 2.50]}, "recoveryMode": true}\n'
            ),
            "specs/demo/.progress.md": "# Progress\n\nTheirs.\n\n## Learnings\n\n- Tea helps\n",
        },
        options=("--ralph-report", "report.html", "--junitxml", "junit.xml"),
    ),
    Scenario(
        "start over",
        options=("--ralph-fresh",),
        files={
            "parser.txt": "broken\n",
            "specs/demo/.ralph-state.json": (
                '{"source": "spec", "recoveryMode": true, "taskIndex": 1}\n'
            ),
        },
    ),
)
