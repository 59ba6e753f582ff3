"""Every point of a scenario, hit by SIGKILL, and the run after it."""

from __future__ import annotations

import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from tests.faults.forkserver import ForkServer, Job, Ran
from tests.faults.remains import Remains, check_nothing_gone, check_whole, demand, is_kept, look

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tests.faults.scenarios import Scenario

T = TypeVar("T")


@dataclass(frozen=True)
class Baseline:
    """A scenario without a fault: its points, how it ends, and how a second run ends."""

    template: Path
    ran: Ran
    once: Remains
    twice: Remains


@dataclass(frozen=True)
class Hit:
    """One point, and what came of a fault there; nothing `broken` is as it should be."""

    scenario: str
    at: int
    point: str
    broken: str = ""

    def __str__(self) -> str:
        return f"{self.scenario}, at point {self.at} ({self.point}): {self.broken or 'fine'}"


def memory() -> str | None:
    """A directory in memory if there is one: a kill loses no more there than on a disk."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _readable(directory: str) -> Path:
    """For whoever a run becomes."""
    Path(directory).chmod(0o755)
    return Path(directory)


def spread(points: int, most: int) -> list[int]:
    """At most so many of the points 1, 2, …, evenly, the last among them."""
    return sorted(
        {points - at * points // most for at in range(most)}
        if points > most
        else range(1, points + 1)
    )


class Killing:
    """Runs scenarios and cuts them off, on as many cores as there are servers."""

    def __init__(self, servers: int | None = None) -> None:
        count = servers or os.cpu_count() or 1
        self._top = tempfile.TemporaryDirectory(dir=memory(), prefix="ralph-faults-")
        self._directory = _readable(self._top.name)
        self._all = [ForkServer() for _ in range(count)]
        self._free: SimpleQueue[ForkServer] = SimpleQueue()
        for server in self._all:
            self._free.put(server)
        self._pool = ThreadPoolExecutor(count)

    def close(self) -> None:
        self._pool.shutdown()
        for server in self._all:
            server.close()
        self._top.cleanup()

    def run(self, job: Job) -> Ran:
        server = self._free.get()
        try:
            return server.run(job)
        finally:
            self._free.put(server)

    @contextmanager
    def copy(self, template: Path) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(dir=self._directory) as top:
            # One name for all copies: where paths are shown, all runs show the same.
            project = _readable(top) / "project"
            shutil.copytree(template, project, symlinks=True)
            yield project

    def baseline(self, scenario: Scenario, name: str = "") -> Baseline:
        template = self._directory / (name or scenario.name)
        scenario.make(template)
        with self.copy(template) as project:
            ran = self.run(Job(str(project), scenario.args))
            once = check_whole(project, template)
            demand(
                " ".join(once.boxes) == scenario.tasks,
                f"{scenario.name}: {' '.join(once.boxes)}\n{ran.output}",
            )
            demand(not once.leftovers, f"nothing half-written lies about: {once.leftovers}")
            self.run(Job(str(project), scenario.args))
            return Baseline(template, ran, once, look(project))

    def each(self, do: Callable[[T], Hit], things: Iterable[T]) -> list[Hit]:
        return list(self._pool.map(do, things))

    def hit(self, scenario: Scenario, baseline: Baseline, points: Iterable[int]) -> list[Hit]:
        return self.each(lambda at: self._hit(scenario, baseline, at), points)

    def _hit(self, scenario: Scenario, baseline: Baseline, at: int) -> Hit:
        with self.copy(baseline.template) as project:
            ran = self.run(Job(str(project), scenario.args, at=at))
            point = ran.points[-1] if ran.points else "-"
            try:
                # Threads may come past fewer points in another run.
                demand(
                    ran.killed or len(ran.points) < at, f"ended with {ran.status}:\n{ran.output}"
                )
                self._go_on(scenario, baseline, project)
            except Exception as error:
                return Hit(scenario.name, at, point, f"{type(error).__name__}: {error}")
        return Hit(scenario.name, at, point)

    def _go_on(self, scenario: Scenario, baseline: Baseline, project: Path) -> None:
        """What the kill left, and the run after it."""
        before = check_whole(project, baseline.template)
        again = self.run(Job(str(project), scenario.args))
        after = check_whole(project, baseline.template)
        check_nothing_gone(before, after)
        demand(
            again.status == baseline.ran.status,
            f"the next run ends with {again.status}:\n{again.output}",
        )
        # A run that had already given up has ended; the next one is a second run, with counters of
        # its own.
        wanted = baseline.twice if before.any_failed else baseline.once
        if scenario.executor == "repair" and not after.fixes:
            # A repair is made before its fix task is written, because one that changes nothing
            # gets none. Killed in between, the next run finds the task repaired.
            demand(all(after.boxes.values()), f"not all tasks are done: {after.boxes}")
            return
        demand(after.boxes == wanted.boxes, f"other tasks are done: {after.boxes}")
        # Once files were rolled back, what fails next fails for another reason.
        demand(
            after.tasks == wanted.tasks or scenario.moves_files,
            f"tasks.md is another one:\n{after.tasks}",
        )
        for text in scenario.uncommitted.values():
            demand(is_kept(project, text), f"uncommitted work is gone: {text!r}")
        demand(after.fixes == wanted.fixes, f"other fixes are known: {after.fixes}")
        # At the next run fixes are items of their own, whose fixes are told of too.
        committed = {*wanted.uncommitted.splitlines(), *baseline.twice.uncommitted.splitlines()}
        demand(
            committed.issuperset(after.uncommitted.splitlines()),
            f"not committed:\n{after.uncommitted}",
        )
        known = after.log in (wanted.log, baseline.twice.log)
        demand(known or scenario.moves_files, f".progress.md is another one:\n{after.progress}")
