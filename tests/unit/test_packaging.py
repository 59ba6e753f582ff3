"""What the package declares about itself: Python versions, extras, and its description."""

from __future__ import annotations

import re
from importlib.metadata import metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_declared_python_is_tested() -> None:
    classifiers = metadata("pytest-ralph").get_all("Classifier") or []
    declared = re.findall(r"Python :: 3\.(\d+)$", "\n".join(classifiers), re.MULTILINE)
    tox = (ROOT / "tox.ini").read_text(encoding="utf-8")
    environments = tox.partition("env_list =")[2].partition("skip_missing")[0]
    lowest = tox.partition("[testenv:lowest]")[2].partition("\n[")[0]
    tested = re.findall(r"\b3(\d\d)\b", environments) + re.findall(
        r"base_python = py3(\d+)", lowest
    )
    assert "14" in declared
    assert sorted(declared) == sorted(tested)


def test_only_cpython_is_declared() -> None:
    classifiers = metadata("pytest-ralph").get_all("Classifier") or []
    stated = [name for name in classifiers if "Implementation" in name]
    assert stated == ["Programming Language :: Python :: Implementation :: CPython"]


def test_workers_are_an_extra() -> None:
    assert metadata("pytest-ralph").get_all("Provides-Extra") == ["xdist"]


def test_the_description_has_no_relative_links() -> None:
    package = metadata("pytest-ralph")
    description = package["Description"]
    assert "pytest --ralph" in description
    links = re.findall(r"\]\(([^)]*)\)|src=\"([^\"]*)\"", description)
    targets = [markdown or html for markdown, html in links]
    assert [target for target in targets if not target.startswith("https://")] == []


def test_the_tutorial_names_uvx() -> None:
    tutorial = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    assert "uvx --from pytest --with" in tutorial
