"""Scheduling: which worker gets what. A spec is never split; everything else spreads as `--dist` would have it."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Literal, Protocol

from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

# The tests of a scope, and which of them are done.
Unit = dict[str, bool]
Fate = Literal["told", "running", "waiting"]


class Witness(Protocol):
    """Knows of a test that a dead worker had: its result is told, it was running, or it waits for another worker."""

    def __call__(self, node: Any, nodeid: str) -> Fate: ...


class SpecScheduling(LoadScopeScheduling):
    """xdist's scheduling by scopes, which it makes to be inherited from. A spec is one scope."""

    def __init__(self, config: pytest.Config, log: Any, fate: Witness) -> None:
        super().__init__(config, log)
        self._fate = fate
        self._places: dict[str, int] = {}

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        if path.endswith(".md"):
            return path
        mode = self.config.getvalue("dist")
        if mode == "loadfile":
            return path
        if mode == "loadscope":
            return nodeid.rpartition("::")[0]
        if mode == "loadgroup" and "@" in nodeid.rpartition("::")[2]:
            return nodeid.rpartition("@")[2]
        return nodeid

    # Every test may be a scope of its own here: what is done is forgotten, and a place is looked up, not searched.

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        scope = self._split_scope(self.registered_collections[node][item_index])
        super().mark_test_complete(node, item_index, duration)
        if all(self.assigned_work[node][scope].values()):
            del self.assigned_work[node][scope]

    def _assign_work_unit(self, node: Any) -> None:
        if not self._places:
            self._places = {
                nodeid: place for place, nodeid in enumerate(self.registered_collections[node])
            }
        scope, unit = self.workqueue.popitem(last=False)
        self.assigned_work.setdefault(node, {})[scope] = unit
        node.send_runtest_some([self._places[nodeid] for nodeid, done in unit.items() if not done])

    # A worker died

    def remove_node(self, node: Any) -> str | None:
        """Give what the worker had left to others. The test it died in is not run again: it is told to have crashed."""
        workload: dict[str, Unit] = self.assigned_work.pop(node)
        crashed = self._crashed(node, workload)
        left = {scope: unit for scope, unit in workload.items() if not all(unit.values())}
        self.workqueue = OrderedDict({**left, **self.workqueue})
        if left:
            for other in self.assigned_work:
                self._reschedule(other)
        return crashed

    def _crashed(self, node: Any, workload: dict[str, Unit]) -> str | None:
        for unit, nodeid in _pending(workload):
            fate = self._fate(node, nodeid)
            if fate == "waiting":
                return None
            unit[nodeid] = True
            if fate == "running":
                return nodeid
        return None


def _pending(workload: dict[str, Unit]) -> Iterator[tuple[Unit, str]]:
    for unit in workload.values():
        yield from ((unit, nodeid) for nodeid, done in list(unit.items()) if not done)
