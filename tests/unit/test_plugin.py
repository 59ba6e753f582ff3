"""pytest's door knows the names of what it does not import."""

from __future__ import annotations

from pytest_ralph import hookspecs
from pytest_ralph.plugin import HOOKS


def test_the_hooks_it_looks_for_are_those_of_the_specifications() -> None:
    assert [*HOOKS] == [name for name in vars(hookspecs) if name.startswith("pytest_ralph_")]
