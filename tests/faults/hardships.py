"""What else can happen to a run: no space, rights or processes, files removed or rewritten."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from tests.faults.forkserver import Job, Ran
from tests.faults.killing import Baseline, Hit, Killing
from tests.faults.remains import Remains, check_nothing_gone, check_whole, demand, look
from tests.faults.scenarios import SPEC, Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

NOBODY = 65534


@cache
def others_can_run_pytest() -> bool:
    """Skip if only the owner can read the environment: below a home, or from a private cache."""
    script = (
        f"import os; os.setuid({NOBODY}); import importlib.metadata as m, pytest, pytest_ralph; "
        "m.version('pluggy')"
    )
    return (
        subprocess.run([sys.executable, "-c", script], capture_output=True, check=False).returncode
        == 0
    )


@dataclass(frozen=True)
class Hardship:
    """A fault at a point, or a condition of the whole run: limits, or a user without rights."""

    name: str
    fault: str = "kill"
    limits: dict[str, int] = field(default_factory=dict)
    as_nobody: bool = False
    # A directory of the project that may not be written to.
    closed: str = ""

    @property
    def why_not(self) -> str:
        """Why it cannot be suffered here; empty where it can."""
        if not self.as_nobody:
            return ""
        if os.geteuid() != 0:
            return "only root can become another user"
        return (
            ""
            if others_can_run_pytest()
            else "the packages of this environment are closed to other users"
        )

    @property
    def has_points(self) -> bool:
        return self.fault != "kill"


HARDSHIPS = (
    Hardship("the disk is full from then on", "disk full"),
    Hardship("the disk is full for a moment", "disk full for a moment"),
    Hardship("files may not grow beyond 512 bytes", limits={"RLIMIT_FSIZE": 512}),
    Hardship("files may not grow beyond 4 KiB", limits={"RLIMIT_FSIZE": 4096}),
    Hardship("the file system becomes read-only", "read-only"),
    Hardship("the directory of the spec is closed", as_nobody=True, closed="specs/demo"),
    Hardship("the root of the project is closed", as_nobody=True, closed="."),
    Hardship("no process can be started from then on", "no process"),
    Hardship("no process can be started at all", as_nobody=True, limits={"RLIMIT_NPROC": 0}),
    Hardship("no file can be opened from then on", "no descriptor"),
    Hardship("tasks.md vanishes", "tasks.md vanishes"),
    Hardship("the state vanishes", "state vanishes"),
    Hardship("the progress log vanishes", "progress vanishes"),
    Hardship("the history vanishes", "history vanishes"),
    Hardship("another editor saves tasks.md", "another editor"),
    Hardship("another program saves the state", "another program"),
    Hardship("the clock goes back a day", "clock goes back"),
    Hardship("the file system is slow", "slow"),
)


def suffer(
    killing: Killing, scenario: Scenario, baseline: Baseline, hardship: Hardship, at: int
) -> Hit:
    """The run under the hardship, and the run after it."""
    with killing.copy(baseline.template) as project:
        job = Job(
            str(project),
            scenario.args,
            at=at if hardship.has_points else 0,
            fault=hardship.fault,
            limits=hardship.limits,
            user=NOBODY if hardship.as_nobody else None,
        )
        _close(project, hardship)
        ran = killing.run(job)
        _open(project, hardship)
        point = ran.points[at - 1] if 0 < at <= len(ran.points) else "-"
        try:
            _check(killing, scenario, baseline, project, hardship, ran)
        except Exception as error:
            return Hit(hardship.name, at, point, f"{type(error).__name__}: {error}")
    return Hit(hardship.name, at, point)


def _close(project: Path, hardship: Hardship) -> None:
    if hardship.as_nobody:
        for path in (project.parent, project, *project.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
    if hardship.closed:
        (project / hardship.closed).chmod(0o555)


def _open(project: Path, hardship: Hardship) -> None:
    if hardship.closed:
        (project / hardship.closed).chmod(0o755)


def _check(
    killing: Killing,
    scenario: Scenario,
    baseline: Baseline,
    project: Path,
    hardship: Hardship,
    ran: Ran,
) -> None:
    trouble = next(
        (word for word in ("INTERNALERROR", "Traceback", "Error: [Errno") if word in ran.output), ""
    )
    demand(not trouble, f"{trouble} is shown:\n{ran.output}")
    demand(ran.status in (0, 1, 4), f"ended with {ran.status}:\n{ran.output}")
    if hardship.fault == "tasks.md vanishes":
        shutil.copyfile(baseline.template / SPEC, project / SPEC)
    before = _whole(project, baseline, hardship)
    again = killing.run(Job(str(project), scenario.args))
    demand(again.status == 0, f"the next run ends with {again.status}:\n{again.output}")
    after = _whole(project, baseline, hardship)
    if "vanishes" not in hardship.fault:
        check_nothing_gone(before, after)
    demand(all(after.boxes.values()), f"not all is done: {after.boxes}")


def _whole(project: Path, baseline: Baseline, hardship: Hardship) -> Remains:
    """Check as after a kill; what another process wrote is there once, the rest is unchanged."""
    if hardship.fault == "another program" and (state := look(project).state):
        demand(state.get("theirs", 1) == 1, "what another program wrote into the state stays")
    theirs = b"<!-- theirs -->\n"
    text = (project / SPEC).read_bytes()
    if hardship.fault != "another editor" or theirs not in text:
        return check_whole(project, baseline.template)
    demand(text.startswith(theirs), "what another editor wrote at the beginning stays")
    demand(text.count(b"9.9 theirs\n") == 1, "what another editor wrote at the end stays")
    found = look(project)
    original = (baseline.template / SPEC).read_bytes().decode().replace("[ ]", "[x]").split("\n")
    rest = iter(text.decode().replace("[ ]", "[x]").split("\n"))
    demand(all(line in rest for line in original), "every line of tasks.md stays")
    return found


def suffer_all(
    killing: Killing, scenario: Scenario, baseline: Baseline, points: Iterable[int]
) -> list[Hit]:
    chosen = list(points)
    each = [
        (hardship, at)
        for hardship in HARDSHIPS
        if not hardship.why_not
        for at in (chosen if hardship.has_points else chosen[:1])
    ]
    return killing.each(lambda pair: suffer(killing, scenario, baseline, *pair), each)
