"""Scheduling: which worker runs what. A spec is never split; other tests follow `--dist`."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Literal, Protocol

from xdist.scheduler import LoadScopeScheduling

from pytest_ralph.session.discovery import is_markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

# The tests of a scope, by node id, and whether each is done.
WorkUnit = dict[str, bool]
Progress = Literal["reported", "running", "waiting"]


class ProgressOf(Protocol):
    """Returns how far a dead worker had come with a test.

    `reported`: its result has arrived; `running`: the worker died in it; `waiting`: it was not
    started, or can be started again.
    """

    def __call__(self, node: Any, nodeid: str) -> Progress: ...


class SpecScheduling(LoadScopeScheduling):
    """xdist's scheduling by scopes, with each spec as one scope.

    Other tests may be scopes of their own, so there can be many. Unlike the base class, this one
    forgets scopes that are done and looks up the index of a test in a dictionary.
    """

    def __init__(self, config: pytest.Config, log: Any, progress_of: ProgressOf) -> None:
        super().__init__(config, log)
        self._progress_of = progress_of
        self._indices: dict[str, int] = {}
        # The group of each spec that has one, by the path of the spec.
        self._groups: dict[str, str] = {}

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        if self.config.getvalue("dist") == "loadgroup" and not self._groups:
            self._groups = _groups_of_specs(collection)
        super().add_node_collection(node, collection)

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        if is_markdown(path):
            return self._groups.get(path, path)
        mode = self.config.getvalue("dist")
        if mode == "loadfile":
            return path
        if mode == "loadscope":
            return nodeid.rpartition("::")[0]
        if mode == "loadgroup" and "@" in nodeid.rpartition("::")[2]:
            return nodeid.rpartition("@")[2]
        return nodeid

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        super().mark_test_complete(node, item_index, duration)
        nodeid = self.registered_collections[node][item_index]
        scope = self._split_scope(nodeid)
        workload = self.assigned_work[node]
        if all(workload[scope].values()):
            del workload[scope]

    def _assign_work_unit(self, node: Any) -> None:
        if not self._indices:
            nodeids = self.registered_collections[node]
            self._indices = {nodeid: index for index, nodeid in enumerate(nodeids)}
        scope, unit = self.workqueue.popitem(last=False)
        workload = self.assigned_work.setdefault(node, {})
        workload[scope] = unit
        node.send_runtest_some([self._indices[nodeid] for nodeid in _undone(unit)])

    def remove_node(self, node: Any) -> str | None:
        """Give the work of a dead worker to others, and return the test that it died in.

        That test is not run again: xdist reports it as crashed.
        """
        workload: dict[str, WorkUnit] = self.assigned_work.pop(node)
        crashed = self._crashed_test(node, workload)
        remaining = {scope: unit for scope, unit in workload.items() if _undone(unit)}
        if remaining:
            self.workqueue = OrderedDict({**remaining, **self.workqueue})
            for other in self.assigned_work:
                self._reschedule(other)
        return crashed

    def _crashed_test(self, node: Any, workload: dict[str, WorkUnit]) -> str | None:
        for unit in workload.values():
            for nodeid in _undone(unit):
                progress = self._progress_of(node, nodeid)
                if progress == "waiting":
                    return None
                unit[nodeid] = True
                if progress == "running":
                    return nodeid
        return None


def _undone(unit: WorkUnit) -> list[str]:
    return [nodeid for nodeid, done in unit.items() if not done]


def _groups_of_specs(nodeids: Sequence[str]) -> dict[str, str]:
    """Return the `xdist_group` of each spec: the first that one of its tasks has.

    With `--dist=loadgroup`, workers append the group to the node id.
    """
    groups: dict[str, str] = {}
    for nodeid in nodeids:
        path, _, name = nodeid.partition("::")
        _, at, group = name.partition("@")
        if is_markdown(path) and at:
            groups.setdefault(path, group)
    return groups
