"""Built-in repairs: made once, counted as the fix, shown, undoable, only where allowed."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.files import backups_directory

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project


@pytest.fixture(autouse=True)
def _tools_beside_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def script(project: Project) -> Project:
    """A task that fails for want of a right to execute."""
    project.spec("- [ ] 1.1 Run it\n  - **Files**: `run.sh`\n  - **Verify**: `./run.sh`\n")
    project.write("run.sh", "#!/bin/sh\nexit 0\n").chmod(0o644)
    return project


def test_a_script_gets_its_right_to_be_executed(script: Project) -> None:
    result = script.run("-v")

    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*repair chmod: *", "*undo: *", "*1.1: a built-in repair applies: chmod"]
    )
    assert script.boxes == {"1.1": True, "1.1.1": True}
    assert script.state["fixTaskMap"]["1.1"]["attempts"] == 1
    assert "- Task 1.1: 1 fix attempted (1.1.1) - Final: PASS" in script.progress
    assert script.history("fix, executor, outcome", "what = 'repair'") == [
        ("1.1.1", "repair:chmod", "passed")
    ]


@pytest.mark.parametrize(
    "option",
    [("--ralph-repair", "none"), ("--ralph-repair", "format,lint"), ("--ralph-executor", "none")],
)
def test_what_may_not_be_repaired_is_not(script: Project, option: tuple[str, str]) -> None:
    result = script.run(*option)

    assert result.ret == 1
    assert (script.root / "run.sh").stat().st_mode & 0o111 == 0


def test_a_repair_comes_before_an_agent(script: Project) -> None:
    result = script.run(executor=script.shell("chmod +x run.sh"))

    assert result.ret == 0
    assert script.calls == []


def test_code_is_formatted(project: Project) -> None:
    project.spec("- [ ] 1.1 Format\n  - **Verify**: `ruff format --check --no-cache app.py`\n")
    project.write("app.py", "x = {  'a':1 }\n")
    project.write("other.py", "y = {  'b':2 }\n")
    result = project.run()

    assert result.ret == 0, result.stdout.str()
    assert (project.root / "app.py").read_text() == 'x = {"a": 1}\n'
    assert (project.root / "other.py").read_text() == "y = {  'b':2 }\n"
    backups = [path.read_text() for path in backups_directory(project.root).rglob("*.saved")]
    assert sorted(backups) == ["x = {  'a':1 }\n", 'x = {"a": 1}\n']


def test_lint_is_repaired_once_and_what_remains_is_for_somebody_else(project: Project) -> None:
    project.spec("- [ ] 1.1 Lint\n  - **Verify**: `ruff check --no-cache --select F app.py`\n")
    project.write("app.py", "import os\nprint(undefined)\n")
    result = project.run()

    assert result.ret == 1
    assert (project.root / "app.py").read_text() == "print(undefined)\n"
    assert project.history("executor", "what = 'repair'") == ["repair:lint"]
    result.stdout.fnmatch_lines(["  Do task 1.1.2 (*) in specs/*"])
    assert project.boxes == {"1.1": False, "1.1.1": False, "1.1.2": False}


def test_what_a_repair_leaves_is_fixed_by_an_agent_who_is_told(project: Project) -> None:
    project.spec("- [ ] 1.1 Lint\n  - **Verify**: `ruff check --no-cache --select F app.py`\n")
    project.write("app.py", "import os\nprint(undefined)\n")
    result = project.run(executor=project.shell("echo 'print(1)' > app.py"))

    assert result.ret == 0
    assert project.calls == ["1.1.2"]
    assert "- 1.1.1: " in project.prompt(1)


def test_what_the_project_declares_is_installed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project whose `pip` only notes what it is asked for, with no other installer."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    project.spec("- [ ] 1.1 Import\n  - **Verify**: `.venv/bin/python -c 'import rightpad_demo'`\n")
    project.write("requirements.txt", "rightpad_demo\n")
    project.write(
        ".venv/bin/python",
        f"""\
        #!/bin/sh
        case "$*" in
            *" install "*)
                echo "$@" >> installed.txt
                mkdir -p .venv/lib
                touch .venv/lib/rightpad_demo.py
                exit 0;;
            *pip*) exit 0;;
        esac
        export PYTHONPATH=.venv/lib
        exec {shlex.quote(sys.executable)} "$@"
        """,
    ).chmod(0o755)
    project.write(".venv/pyvenv.cfg", "home = /usr\n")
    project.write(".venv/lib/python3/site-packages/pip/__init__.py", "")
    result = project.run()

    assert result.ret == 0, result.stdout.str()
    assert (project.root / "installed.txt").read_text().split()[-2:] == ["-r", "requirements.txt"]
    assert project.history("executor", "what = 'repair'") == ["repair:install"]


def test_what_the_project_does_not_declare_is_not_installed(project: Project) -> None:
    project.spec("- [ ] 1.1 Import\n  - **Verify**: `python -c 'import rightpad_of_nobody'`\n")
    result = project.run()

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*given up: missing package (rightpad_of_nobody): trying again cannot help"]
    )


def test_a_repair_that_changes_nothing_counts_not(project: Project) -> None:
    project.spec("- [ ] 1.1 Lint\n  - **Verify**: `ruff check --no-cache --select F app.py`\n")
    project.write("app.py", "print(undefined)\n")
    project.write(".gitignore", "calls.txt\nprompt.*\n")
    project.shell("echo 'print(1)' > app.py")
    project.repository()
    result = project.run(executor="sh executor.sh")

    assert result.ret == 0
    assert project.calls == ["1.1.1"]
    assert project.boxes == {"1.1": True, "1.1.1": True}
    assert project.state["fixTaskMap"]["1.1"]["attempts"] == 1


BROKEN_BY_LINT = """\
    - [ ] 1.1 Lint
      - **Verify**: `ruff check --no-cache --select F401 app.py && python -c 'import app; app.os'`
"""


def test_a_repair_that_breaks_another_step_is_undone(project: Project) -> None:
    project.spec(BROKEN_BY_LINT)
    project.write("app.py", "import os\n\nprint(1)\n")
    result = project.run("-vv")

    assert result.ret == 1
    assert (project.root / "app.py").read_text() == "import os\n\nprint(1)\n"
    result.stdout.fnmatch_lines(["*repair lint was undone: Verify now fails in another step"])


def test_an_undone_repair_can_be_made_again(project: Project) -> None:
    project.spec(BROKEN_BY_LINT.replace("app.os", "app.name"))
    project.write("app.py", "import os\n\nprint(1)\n")
    result = project.run(executor=project.shell("echo 'name = 1' >> app.py"))

    assert result.ret == 0
    assert (project.root / "app.py").read_text() == "\nprint(1)\nname = 1\n"
    assert project.calls == ["1.1.2"]


def test_a_repair_stays_while_another_step_gets_more_time(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 Format
          - **Timeout**: 0.8
          - **Verify**: `ruff format --no-cache --check app.py && sleep 1`
    """)
    project.write("app.py", "x  =  1\n")
    result = project.run("--ralph-max-fixes=1")

    assert result.ret == 0
    assert list(project.boxes) == ["1.1", "1.1.1"]


def test_the_fix_task_of_a_repair_stays_without_an_executor(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 Run it
          - **Do**:
            1. First this
            2. Then that
          - **Timeout**: 0.3
          - **Verify**: `./run.sh`
    """)
    project.write("run.sh", "#!/bin/sh\nsleep 30\n")
    project.run(executor=project.shell("echo 'API Error: 529 Overloaded'"))

    assert list(project.boxes) == ["1.1", "1.1.1", "1.1.2", "1.1.3"]
    assert project.state["fixTaskMap"]["1.1"]["fixTaskIds"] == ["1.1.1"]


def test_packages_are_installed_for_the_python_of_verify(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.spec("- [ ] 1.1 Import it\n  - **Verify**: `python -c 'import absent_package'`\n")
    project.write("requirements.txt", "--no-index\nabsent-package\n")
    # An environment that is activated, while an IDE starts pytest from another one.
    project.write("bin/python", "#!/bin/sh\ntouch called\nexit 1\n").chmod(0o755)
    monkeypatch.setenv("PATH", f"{project.root}/bin{os.pathsep}{os.environ['PATH']}")

    project.run("--ralph-repair", "install")

    assert not (project.root / "called").exists()
    assert project.history("executor, outcome", "what = 'repair'") == [("repair:install", "failed")]
