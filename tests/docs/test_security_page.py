"""The security page names what is installed, the licences, and a test for each claim."""

from __future__ import annotations

import re
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.docs.literal import DOCS, ROOT
from tests.docs.tables import code, rows

RELIED_ON = (
    (ROOT / "README.md")
    .read_text(encoding="utf-8")
    .partition("## What you can rely on")[2]
    .partition("\n## ")[0]
)
LISTED: dict[str, str] = {
    canonicalize_name(code(cells[0])[0]): cells[1]
    for cells in rows(DOCS / "security.md", "package")
}


def required(name: str) -> set[str]:
    """What the installed distribution needs here, and what that needs."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        needs = map(Requirement, metadata.requires(waiting.pop()) or [])
        new = {
            canonicalize_name(each.name)
            for each in needs
            if not each.marker or each.marker.evaluate({"extra": ""})
        }
        waiting += sorted(new - found)
        found |= new
    return found


def licence(name: str) -> str:
    """The licence of a distribution: an SPDX expression, its classifier, or its file's text."""
    told = metadata.metadata(name)
    classified = [
        line.rpartition(" :: ")[2]
        for line in told.get_all("Classifier") or []
        if line.startswith("License")
    ]
    words = (
        (told.get_all("License-Expression") or []) + (told.get_all("License") or []) + classified
    )
    return next(filter(None, words), "") or _first_line_of_its_file(name)


def _first_line_of_its_file(name: str) -> str:
    files = (
        path
        for path in metadata.files(name) or []
        if re.fullmatch(r"LICEN[CS]E(\.\w+)?", path.name)
    )
    return next((path.read_text().strip().partition("\n")[0] for path in files), "")


def is_kind_of(listed: str, told: str) -> bool:
    """Words say less than an expression: a `BSD License` is any of its kind."""
    return told == listed or told.removesuffix(" License") == listed.partition("-")[0]


@pytest.mark.parametrize("name", sorted(required("pytest-ralph")))
def test_what_comes_with_the_wheel_is_listed_with_its_licence(name: str) -> None:
    assert name in LISTED
    assert is_kind_of(LISTED[name], licence(name)), licence(name)


def test_what_is_listed_is_needed_on_some_python() -> None:
    only_on_the_oldest = {"tomli", "exceptiongroup"}
    assert set(LISTED) - required("pytest-ralph") <= only_on_the_oldest


def test_each_dependency_has_a_lower_bound_and_no_upper_one() -> None:
    for line in metadata.requires("pytest-ralph") or []:
        requirement = Requirement(line)
        assert [bound.operator for bound in requirement.specifier] == [">="], line


@pytest.mark.parametrize(
    "claim", RELIED_ON.split("\n- ")[1:], ids=lambda claim: " ".join(claim.split()[:4])
)
def test_each_claim_of_the_readme_links_to_what_shows_it(claim: str) -> None:
    assert re.search(r"\]\(tests/[^)]+\)", claim)


@pytest.mark.parametrize(
    "cells", list(rows(DOCS / "security.md", "risk")), ids=lambda cells: cells[0][:40]
)
def test_what_is_done_about_a_risk_is_shown_by_a_test_or_told_on_a_page(cells: list[str]) -> None:
    assert re.search(r"\]\((?:\.\./tests/|\w+\.md)", cells[2])
