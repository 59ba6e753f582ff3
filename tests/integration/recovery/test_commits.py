"""With commits, each task that newly passes is one commit of what is new; without, git is left alone."""

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
