"""With commits, each newly passing task is one commit of its changes; without, none is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project

SPEC = """\
    # Tasks

    - [x] 1.1 Done before
      - **Files**: `old.txt`
      - **Verify**: `test -d specs`

    - [ ] 1.2 Write it
      - **Files**: `new.txt`
      - **Verify**: `grep -q fixed new.txt`
      - **Commit**: feat: write it
"""


@pytest.fixture
def repository(project: Project) -> Project:
    project.spec(SPEC)
    project.write("new.txt", "broken\n")
    project.repository()
    return project


def subjects(project: Project) -> list[str]:
    return project.git("log", "--format=%s").splitlines()


def test_what_newly_passes_is_committed_and_noted_with_its_commit(repository: Project) -> None:
    result = repository.run(
        "--ralph-commit=auto", executor=repository.shell("echo fixed > new.txt")
    )

    assert result.ret == 0
    assert subjects(repository) == ["feat: write it", "the beginning"]
    assert "new.txt" in repository.git("show", "--format=", "--name-only", "HEAD").split()
    commit = repository.git("rev-parse", "HEAD")[:12]
    assert f"- [x] 1.2 Write it - {commit}" in repository.progress
    assert "1.1" not in repository.progress


def test_a_run_with_nothing_new_commits_nothing(repository: Project) -> None:
    repository.run("--ralph-commit=auto", executor=repository.shell("echo fixed > new.txt"))
    before = subjects(repository)
    result = repository.run("--ralph-commit=auto")

    assert result.ret == 0
    assert subjects(repository) == before


def test_messages_alone_are_a_script_for_a_person(repository: Project) -> None:
    repository.run("--ralph-commit=message-only", executor=repository.shell("echo fixed > new.txt"))

    assert subjects(repository) == ["the beginning"]
    script = (repository.root / ".ralph" / "commits-demo.sh").read_text()
    assert "feat: write it" in script
    assert "new.txt" in script


def test_by_default_nothing_is_committed(repository: Project) -> None:
    result = repository.run(executor=repository.shell("echo fixed > new.txt"))

    assert result.ret == 0
    assert subjects(repository) == ["the beginning"]
    assert not (repository.root / ".ralph" / "commits-demo.sh").exists()
    assert "- [x] 1.2 Write it\n" in repository.progress


def committed_files(project: Project) -> set[str]:
    return {*project.git("show", "--format=", "--name-only", "HEAD").split("\n")}


def test_unrelated_edits_are_not_committed(repository: Project) -> None:
    repository.write("mine.txt", "before the run\n")
    body = "echo fixed > new.txt; echo helper > helper.txt"
    executor = repository.shell(body)
    result = repository.run("--ralph-commit=auto", executor=executor)

    assert result.ret == 0
    files = committed_files(repository)
    assert {"new.txt", "helper.txt"} <= files
    assert "mine.txt" not in files
    assert "executor.sh" not in files


def test_edits_made_while_verify_runs_are_not_committed(project: Project) -> None:
    project.spec("""\
        - [ ] 1.2 Write it
          - **Files**: `new.txt`
          - **Verify**: `echo user > mine.txt; grep -q fixed new.txt`
    """)
    project.write("new.txt", "broken\n")
    project.repository()
    project.run("--ralph-commit=auto", executor=project.shell("echo fixed > new.txt"))

    assert "new.txt" in committed_files(project)
    assert "mine.txt" not in committed_files(project)


def test_fix_of_tests_alone_is_not_committed(project: Project) -> None:
    project.spec("""\
        - [ ] 1.2 Write it
          - **Files**: `src.txt`
          - **Verify**: `grep -q fixed tests/test_it.txt`
    """)
    project.write("tests/test_it.txt", "broken\n")
    project.write("calls.txt", "")
    project.write(".gitignore", "calls.txt\nprompt.*\n")
    project.repository()
    executor = project.shell("echo fixed > tests/test_it.txt")
    result = project.run("--ralph-commit=auto", executor=executor)

    assert subjects(project) == ["the beginning"]
    result.stdout.fnmatch_lines(["*no commit for 1.2: the fix only changed tests or checks*"])


def test_commit_field_may_ask_for_none(project: Project) -> None:
    project.spec(SPEC.replace("feat: write it", "None (checkpoint)"))
    project.write("new.txt", "broken\n")
    project.repository()
    project.run("--ralph-commit=auto", executor=project.shell("echo fixed > new.txt"))

    assert subjects(project) == ["the beginning"]


def test_refused_commit_is_made_by_the_next_run(repository: Project) -> None:
    hook = repository.write(".git/hooks/pre-commit", "#!/bin/sh\ntest -e allowed\n")
    hook.chmod(0o755)
    executor = repository.shell("echo fixed > new.txt; echo helper > helper.txt")
    repository.run("--ralph-commit=auto", executor=executor)
    assert subjects(repository) == ["the beginning"]

    repository.write("allowed", "")
    repository.run("--ralph-commit=auto", executor=executor)
    assert subjects(repository) == ["feat: write it", "the beginning"]
    assert {"new.txt", "helper.txt"} <= committed_files(repository)


def test_work_of_earlier_runs_is_not_committed_again(repository: Project) -> None:
    executor = repository.shell(
        "test -e helper.txt || echo helper > helper.txt; echo fixed > new.txt"
    )
    repository.run("--ralph-commit=auto", executor=executor)
    assert "helper.txt" in committed_files(repository)

    repository.tasks.write_text(repository.tasks.read_text().replace("[x] 1.2 ", "[ ] 1.2 "))
    repository.write("new.txt", "broken\n")
    repository.write("helper.txt", "an edit of the user\n")
    repository.run("--ralph-commit=auto", executor=executor)
    assert "helper.txt" not in committed_files(repository)
