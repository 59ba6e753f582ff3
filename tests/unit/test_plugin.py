"""The entry module: the names of the hooks, and the imports at the start of a run."""

from __future__ import annotations

import gc
import sys
from importlib.machinery import SourceFileLoader
from typing import TYPE_CHECKING

import pytest_ralph
from pytest_ralph import hookspecs
from pytest_ralph.plugin import HOOKS, PlainImports

if TYPE_CHECKING:
    import pytest

    from tests.conftest import SpecMaker


def test_the_hooks_it_looks_for_are_those_of_the_specifications() -> None:
    assert [*HOOKS] == [name for name in vars(hookspecs) if name.startswith("pytest_ralph_")]


def test_modules_of_ours_are_imported_plainly() -> None:
    found = PlainImports.find_spec("pytest_ralph.results", pytest_ralph.__path__)
    assert found is not None
    assert isinstance(found.loader, SourceFileLoader)
    assert PlainImports.find_spec("json") is None


def test_imports_are_plain_only_during_a_run(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    make_spec(t1_1="test 1 = 1")
    seen = []

    def look() -> None:
        seen.append(PlainImports in sys.meta_path)

    class Watch:
        def pytest_addhooks(self, pluginmanager: pytest.PytestPluginManager) -> None:
            config = pluginmanager.getplugin("pytestconfig")
            # The first to be added is the last to be called.
            config.add_cleanup(look)

        def pytest_runtest_setup(self) -> None:
            look()

    pytester.inline_run("--ralph", "specs/demo", plugins=[Watch()])
    assert seen == [True, False]


def test_what_is_loaded_is_frozen_once(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(t1_1="test 1 = 1")
    gc.unfreeze()
    try:
        pytester.inline_run("specs/demo")
        assert gc.get_freeze_count() == 0
        pytester.inline_run("--ralph", "specs/demo")
        frozen = gc.get_freeze_count()
        assert frozen > 0
        pytester.inline_run("--ralph", "specs/demo")
        # What is no longer used is freed, nothing is added.
        assert gc.get_freeze_count() <= frozen
    finally:
        gc.unfreeze()


def test_what_python_has_frozen_does_not_count(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_spec(t1_1="test 1 = 1")
    calls = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 375)
    monkeypatch.setattr(gc, "freeze", lambda: calls.append("freeze"))
    pytester.inline_run("--ralph", "specs/demo")
    assert calls == ["freeze"]
