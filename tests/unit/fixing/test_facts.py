"""A quick look at a project finds what an executor would ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.fixing.facts import collect_facts

if TYPE_CHECKING:
    from pathlib import Path


def make(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()


def test_sources_configuration_and_tests_are_found(tmp_path: Path) -> None:
    make(
        tmp_path,
        "src/pkg/zeta.py",
        "src/pkg/cli.py",
        "app.py",
        "tests/test_app.py",
        "pyproject.toml",
        "README.md",
        "test_loose.py",
        "node_modules/x/index.js",
        ".venv/lib/main.py",
        "docs/guide.md",
    )

    facts = collect_facts(tmp_path)

    assert facts.main_files == ("app.py", "src/pkg/cli.py", "src/pkg/zeta.py")
    assert facts.configuration == ("pyproject.toml", "README.md")
    assert facts.test_directory == "tests"


def test_an_empty_project_has_only_its_root(tmp_path: Path) -> None:
    facts = collect_facts(tmp_path)

    assert (facts.main_files, facts.configuration, facts.test_directory) == ((), (), "")


def test_the_look_is_bounded(tmp_path: Path) -> None:
    make(tmp_path, *(f"pkg/module{number}.py" for number in range(100)))

    assert len(collect_facts(tmp_path).main_files) == 20


def test_the_look_does_not_go_deep(tmp_path: Path) -> None:
    make(tmp_path, "a/b/c/near.py", "a/b/c/d/deep.py")

    assert collect_facts(tmp_path).main_files == ("a/b/c/near.py",)
