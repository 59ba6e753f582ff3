"""An executor replaces a directory by a link, or a link by a directory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project

SPEC = """\
    # Tasks

    - [ ] 1.1 Move it
      - **Files**: `lib/one.txt`
      - **Verify**: `grep -q fixed lib/one.txt`
      - **Commit**: feat: move it
"""
BREAKING_SPEC = """\
    # Tasks

    - [ ] 1.1 Move it
      - **Files**: `lib/one.txt`
      - **Verify**: `sh build.sh && grep -q fixed lib/one.txt`
"""
TO_LINK = "mv lib impl; ln -s impl lib; echo fixed > impl/one.txt"
TO_DIRECTORY = "rm alias; mkdir alias; echo fixed > alias/new.txt; echo fixed > lib/one.txt"
ISOLATED = "--ralph-isolate=worktree"


@pytest.fixture
def linked(project: Project) -> Project:
    """A repository with a directory, and a link to another directory."""
    project.spec(SPEC)
    project.write("lib/one.txt", "to do\n")
    project.write("lib/two.txt", "two\n")
    project.write("other/three.txt", "three\n")
    (project.root / "alias").symlink_to("other")
    project.repository()
    return project


def committed(project: Project) -> list[str]:
    listed = project.git("show", "--format=", "--name-status", "--no-renames", "HEAD")
    return [line.replace("\t", " ") for line in listed.splitlines() if "specs/" not in line]


@pytest.mark.parametrize("mode", ["--ralph-isolate=none", ISOLATED])
def test_directory_that_becomes_a_link(linked: Project, mode: str) -> None:
    result = linked.run("--ralph-commit=auto", mode, executor=linked.shell(TO_LINK))

    assert result.ret == 0
    assert (linked.root / "lib").readlink() == Path("impl")
    moved = ["A impl/one.txt", "A impl/two.txt", "A lib", "D lib/one.txt", "D lib/two.txt"]
    assert set(moved) <= set(committed(linked))
    assert linked.git("status", "--short", "--", "lib", "impl") == ""


@pytest.mark.parametrize("mode", ["--ralph-isolate=none", ISOLATED])
def test_link_that_becomes_a_directory(linked: Project, mode: str) -> None:
    result = linked.run("--ralph-commit=auto", mode, executor=linked.shell(TO_DIRECTORY))

    assert result.ret == 0
    assert (linked.root / "alias/new.txt").read_text() == "fixed\n"
    assert {"D alias", "A alias/new.txt", "M lib/one.txt"} <= set(committed(linked))
    assert linked.git("status", "--short", "--", "lib", "alias", "other") == ""


@pytest.mark.parametrize("change", [TO_LINK, TO_DIRECTORY])
@pytest.mark.parametrize("mode", ["--ralph-isolate=none", ISOLATED])
def test_undo_brings_it_back(linked: Project, mode: str, change: str) -> None:
    linked.run(mode, executor=linked.shell(change))
    result = linked.pytester.runpytest("--ralph-undo")

    assert result.ret == 0
    assert linked.git("status", "--short", "--", "lib", "impl", "alias", "other") == ""


@pytest.mark.parametrize("change", [TO_LINK, TO_DIRECTORY])
def test_rollback_brings_it_back(linked: Project, change: str) -> None:
    linked.spec(BREAKING_SPEC)
    linked.write("build.sh", "true\n")
    linked.git("add", "-A")
    linked.git("commit", "-qm", "build")
    breaks = f"{change}; echo 'if then fi (' > build.sh"
    once = f"[ -e .git/once ] || {{ {breaks}; touch .git/once; }}"
    result = linked.run("--ralph-rollback", "--ralph-max-fixes=2", executor=linked.shell(once))

    assert "went back" in result.stdout.str()
    assert linked.git("status", "--short", "--", "lib", "impl", "alias", "other", "build.sh") == ""


def test_files_of_the_user_in_the_directory_stay(linked: Project) -> None:
    """An ignored file is not in the worktree, where the directory became a link."""
    linked.write(".git/info/exclude", "lib/local.conf\n")
    local = linked.write("lib/local.conf", "mine\n")
    result = linked.run(ISOLATED, executor=linked.shell(TO_LINK))

    assert result.ret == 1
    assert local.read_text() == "mine\n"
    result.stdout.fnmatch_lines(["*conflict with other changes*: lib*"])
