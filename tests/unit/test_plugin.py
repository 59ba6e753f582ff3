"""The entry module: the names of the hooks, and the imports at the start of a run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from pytest_ralph import hookspecs, plugin
from pytest_ralph.plugin import HOOKS

if TYPE_CHECKING:
    import pytest


def test_the_hooks_it_looks_for_are_those_of_the_specifications() -> None:
    assert [*HOOKS] == [name for name in vars(hookspecs) if name.startswith("pytest_ralph_")]


def test_imports_at_the_start_are_plain(pytestconfig: pytest.Config) -> None:
    hook: Any = pytestconfig.pluginmanager.rewrite_hook
    before = list(sys.meta_path)
    assert hook in before
    with plugin._plain_imports(hook):
        assert hook not in sys.meta_path

    assert sys.meta_path == before
