"""The whole loop: an agent builds a project of four tasks from an empty directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.integration.executors.model_server import ModelServer
from tests.integration.executors.scenarios import check_always, run_pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.integration.executors.model_server import Turn
    from tests.integration.executors.scenarios import Project

TASKS = """# Greeter

## Phase 1: Make it work

- [ ] 1.1 Greet by name
  - **Do**: Write greet(name) in greet.py
  - **Files**: `greet.py`
  - **Done when**: greet("Ada") returns "Hello, Ada!"
  - **Verify**: `python3 -c "import greet; assert greet.greet('Ada') == 'Hello, Ada!'"`
  - **Commit**: `feat: greet by name`

- [ ] 1.2 Test the greeting
  - **Do**: Write a test of greet() in test_greet.py
  - **Files**: `test_greet.py`
  - **Done when**: The test passes
  - **Verify**: `python3 -m unittest -q test_greet`
  - **Commit**: `test: test the greeting`

- [ ] 1.3 Greet on the command line
  - **Do**: Write a program cli.py that greets its first argument
  - **Files**: `cli.py`
  - **Done when**: It prints the greeting
  - **Verify**: `python3 cli.py Ada` prints `Hello, Ada!`
  - **Commit**: `feat: greet on the command line`

- [ ] 1.4 Explain it
  - **Do**: Describe in README.md how to run cli.py
  - **Files**: `README.md`
  - **Done when**: README.md names the command
  - **Verify**: `grep -q 'python3 cli.py' README.md`
  - **Commit**: `docs: explain how to greet`
"""
GREET = 'def greet(name):\n    return f"Hello, {name}!"\n'
TEST = """import unittest

from greet import greet


class TestGreet(unittest.TestCase):
    def test_name(self):
        self.assertEqual(greet("Ada"), "Hello, Ada!")
"""
CLI = "import sys\n\nfrom greet import greet\n\nprint(greet(sys.argv[0]))\n"
COMMITS = [
    "feat: greet by name",
    "test: test the greeting",
    "feat: greet on the command line",
    "docs: explain how to greet",
]
FILES = ("greet.py", "test_greet.py", "cli.py", "README.md")
README = "# Greeter\n\nRun `python3 cli.py Ada`.\n"


def build(project: Project) -> str:
    """Have all tasks carried out; one of them needs a fix. Return the cell of the table."""
    root = project.root
    project.tasks.parent.mkdir(parents=True)
    project.tasks.write_text(TASKS)
    (root / ".gitignore").write_text("__pycache__/\n.ralph/\npytest.ini\n")
    project.git("init", "-q", "-b", "main")
    project.git("config", "user.name", "t")
    project.git("config", "user.email", "t@example.org")
    project.git("add", "-A")
    project.git("commit", "-qm", "start")

    options = ["--ralph-execute", "--ralph-commit=auto"]
    with ModelServer(*scripts(project), current_run=project.runs_so_far) as server:
        result = run_pytest(project, server, options)

    try:
        assert result.status == 0
        assert "ALL_TASKS_COMPLETE" in result.terminal
        assert result.runs == 5
        assert result.tasks.count("- [x] ") == 5
        commits = project.git("log", "--format=%s", "--reverse").splitlines()[1:]
        assert [subject for subject in commits if subject in COMMITS] == COMMITS
        uncommitted = project.git("status", "--porcelain", *FILES)
        assert not uncommitted
        check_always(result)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{result.terminal}\n{result.tasks}") from None
    return f"4 tasks, {len(result.fixes)} fix, {len(commits)} commits"


def scripts(project: Project) -> Sequence[Sequence[Turn]]:
    """The turns of each run; the third task is wrong at first."""
    agent = project.agent
    root = project.root
    cli = root / "cli.py"
    return [
        agent.script(agent.write(root / "greet.py", GREET)),
        agent.script(agent.write(root / "test_greet.py", TEST)),
        agent.script(agent.write(cli, CLI)),
        agent.script(
            agent.edit(cli, "print(greet(sys.argv[0]))", "print(greet(sys.argv[1]))"),
            last="Approach: greet the argument, not the program\nTASK_COMPLETE",
        ),
        agent.script(agent.write(root / "README.md", README)),
    ]
