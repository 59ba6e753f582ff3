"""Hooks of other plugins that expect every item to be a Python function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from _pytest.runner import runtestprotocol

from pytest_ralph.session.items import TaskItem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# The columns that pytest-csv takes from the node id of a Python function.
CSV_COLUMNS = ("module", "class", "function", "name")


class OtherPlugins:
    """Makes tasks work with plugins that would otherwise fail on them or disturb them."""

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_timeout_set_timer(self, item: pytest.Item) -> bool | None:
        """Keep pytest-timeout's limit away from tasks: they have time limits of their own."""
        return True if isinstance(item, TaskItem) else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        """Run a task in this process although pytest-forked would fork for it.

        What a task leaves behind for the next ones would be lost with the forked process.
        """
        if not isinstance(item, TaskItem) or not item.config.getoption("forked", False):
            return None
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        runtestprotocol(item, nextitem=nextitem)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(optionalhook=True)
    def pytest_csv_register_columns(self, columns: dict[str, Any]) -> None:
        """Fill pytest-csv's columns: it cannot take them from the node id of a task."""
        for name in CSV_COLUMNS:
            columns[name] = _csv_column(name, columns[name])


def _csv_column(
    name: str, of_functions: Callable[[pytest.Item, pytest.TestReport], Iterator[Any]]
) -> Callable[[pytest.Item, pytest.TestReport], Iterator[Any]]:
    def column(item: pytest.Item, report: pytest.TestReport) -> Iterator[Any]:
        if not isinstance(item, TaskItem):
            yield from of_functions(item, report)
        elif name == "module":
            yield name, item.nodeid.partition("::")[0]
        elif name == "class":
            yield name, ""
        else:
            yield name, item.name

    return column
