"""Copies of the project on other machines: put back as they were, or removed, after a run.

A worker keeps the files of a spec as they were before its first task. At the end the controller has
a program run over there, through the gateways of its workers, that puts them back.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ralph.files import (
    RALPH_DIRECTORY,
    RUNS_NAME,
    backups_directory,
    lasting_directory,
    spec_key,
    write_atomically,
)
from pytest_ralph.fixing.change_log import undo_changes
from pytest_ralph.fixing.file_state import stored_state, write_state
from pytest_ralph.session.run_directory import NEW_NAME
from pytest_ralph.session.xdist.outbox import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ralph.session.run import Run

# In the run directory: the files of a spec as they were.
ORIGINALS_SUFFIX = ".originals"
# Seconds that another machine has to clean up.
TIME_LIMIT = 60

# Programs that run over there, in the directory of the worker.
LOOK = """
import os, platform
missing = [name for name in channel.receive() if not os.path.lexists(name)]
channel.send((platform.node(), os.getcwd(), missing))
"""
CLEAN_UP = """
from pytest_ralph.session.xdist.copies import clean_up
clean_up(*channel.receive())
"""


@dataclass
class RemoteDirectory:
    """A directory on another machine in which workers were started.

    new: The copies of the project that this run made in it.
    roots: Where workers that have run their last task found the project.
    channels: Each is closed when its worker has ended.
    """

    new: list[str]
    gateways: list[Any] = field(default_factory=list)
    roots: set[str] = field(default_factory=set)
    channels: list[Any] = field(default_factory=list)


class RemoteDirectories:
    """The directories of one run, by the host and the path of each.

    Knows which copies of the project the run itself has made, and removes those at the end.

    A copy that was there before stays, and is put back as it was.
    """

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._directories: dict[str, RemoteDirectory] = {}

    def add(self, gateway: Any, sources: Iterable[Path]) -> None:
        """Look, before xdist copies `sources`, which of them are not there yet."""
        names = [source.name for source in sources]
        channel = gateway.remote_exec(LOOK)
        channel.send(names)
        host, directory, missing = channel.receive(TIME_LIMIT)
        channel.waitclose(TIME_LIMIT)
        # A second worker in the same directory finds what was copied for the first one.
        remote = self._directories.setdefault(f"{host}:{directory}", RemoteDirectory(missing))
        remote.gateways.append(gateway)
        gateway.ralph_directory = remote

    def add_root(self, node: Any, root: str) -> None:
        """Record where a worker, which has run its last task, found the project."""
        remote: RemoteDirectory = node.gateway.ralph_directory
        remote.roots.add(root)
        remote.channels.append(node.channel)

    def clean_up(self) -> list[str]:
        """Put back and remove what the run left; return a line about each directory that failed."""
        lines = []
        for name, remote in self._directories.items():
            for channel in remote.channels:
                # Until then the worker may write files. Its errors are reported by xdist.
                with contextlib.suppress(Exception):
                    channel.waitclose(TIME_LIMIT)
            if not any(self._clean_up_through(gateway, remote) for gateway in remote.gateways):
                lines.append(f"{name} could not be cleaned up")
        return lines

    def _clean_up_through(self, gateway: Any, remote: RemoteDirectory) -> bool:
        # A worker that died took its gateway with it.
        with contextlib.suppress(Exception):
            channel = gateway.remote_exec(CLEAN_UP)
            channel.send((sorted(remote.roots), remote.new, self._run_id))
            channel.waitclose(TIME_LIMIT)
            return True
        return False


# On the other machine


def keep_originals(run: Run, files: Sequence[Path]) -> None:
    """Keep the files of a spec as they are before the first of its tasks."""
    originals = run.run_directory.path / f"{spec_key(files[0])}{ORIGINALS_SUFFIX}"
    if originals.exists():
        # By a worker that died.
        return
    paths = [os.path.relpath(file, run.root) for file in files]
    states = {path: pack(stored_state(run.root, path)) for path in paths}
    run.run_directory.create()
    write_atomically(originals, json.dumps(states))


def clean_up(roots: Sequence[str], new: Sequence[str], run_id: str) -> None:
    """Remove the `new` copies in this directory, and put back what a run changed in others."""
    copies = [Path.cwd() / name for name in new]
    for root in map(Path, roots):
        if root not in copies:
            _put_back(root, run_id)
    for copy in copies:
        shutil.rmtree(copy, ignore_errors=True)


def _put_back(root: Path, run_id: str) -> None:
    """Put back everything below `root` that the workers of a run changed there."""
    run_directory = lasting_directory(root, RUNS_NAME) / run_id
    backups = backups_directory(root) / run_id
    for originals in run_directory.glob(f"*{ORIGINALS_SUFFIX}"):
        states = json.loads(originals.read_text(encoding="utf-8"))
        for path, packed in states.items():
            write_state(root, path, unpack(packed, run_directory))
    undo_changes(root, backups)
    left_over = [run_directory, backups]
    if (run_directory / NEW_NAME).exists():
        left_over.append(root / RALPH_DIRECTORY)
    for path in left_over:
        shutil.rmtree(path, ignore_errors=True)
