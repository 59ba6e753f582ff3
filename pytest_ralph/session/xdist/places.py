"""The directories of workers on other machines: what is to be removed there after the run."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# Seconds that another machine has to clean up.
TIME_LIMIT = 60

# Programs that run over there, in the directory of the worker.
LOOK = """
import os, platform
missing = [name for name in channel.receive() if not os.path.lexists(name)]
channel.send((platform.node(), os.getcwd(), missing))
"""
CLEAN_UP = """
from pytest_ralph.session.xdist.outbox import clean_up
clean_up(*channel.receive())
"""


class Place(NamedTuple):
    """A directory in which workers were started, and the copies that this run made in it."""

    host: str
    directory: str


class Places:
    """Knows which copies of the project the run itself has made, and removes those at the end.

    A copy that was there before stays, and is put back as it was.
    """

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._new: dict[Place, list[str]] = {}
        self._gateways: dict[Place, list[Any]] = {}
        self._roots: dict[Place, set[str]] = {}
        # Each is closed when its worker has ended.
        self._channels: dict[Place, list[Any]] = {}

    def add(self, gateway: Any, sources: Iterable[Path]) -> None:
        """Look, before xdist copies `sources`, which of them are not there yet."""
        names = [source.name for source in sources]
        channel = gateway.remote_exec(LOOK)
        channel.send(names)
        host, directory, missing = channel.receive(TIME_LIMIT)
        channel.waitclose(TIME_LIMIT)
        place = Place(host, directory)
        # A second worker in the same place finds what was copied for the first one.
        self._new.setdefault(place, missing)
        self._gateways.setdefault(place, []).append(gateway)
        gateway.ralph_place = place

    def add_root(self, node: Any, root: str) -> None:
        """Record where a worker, which has run its last task, found the project."""
        place = node.gateway.ralph_place
        self._roots.setdefault(place, set()).add(root)
        self._channels.setdefault(place, []).append(node.channel)

    def clean_up(self) -> list[str]:
        """Put back and remove what the run left; return a line about each place that failed."""
        lines = []
        for place, gateways in self._gateways.items():
            for channel in self._channels.get(place, ()):
                # Until then the worker may write files. Its errors are reported by xdist.
                with contextlib.suppress(Exception):
                    channel.waitclose(TIME_LIMIT)
            if not any(self._clean_up_through(gateway, place) for gateway in gateways):
                lines.append(f"{place.host}:{place.directory} could not be cleaned up")
        return lines

    def _clean_up_through(self, gateway: Any, place: Place) -> bool:
        # A worker that died took its gateway with it.
        with contextlib.suppress(Exception):
            channel = gateway.remote_exec(CLEAN_UP)
            roots = sorted(self._roots.get(place, ()))
            channel.send((roots, self._new[place], self._run_id))
            channel.waitclose(TIME_LIMIT)
            return True
        return False
