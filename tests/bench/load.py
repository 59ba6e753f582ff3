"""What much of everything costs, and how it grows: `python -m tests.bench.load [--only WORD]`.

Each load is carried ten times smaller too, in the same run; the growth is that of CPU time, ours
and our children's, with what the load takes when there is next to nothing of it subtracted from
both: 10 is linear. Memory is the most that the pytest process held.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.history.store import History
from tests.records import record_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_ralph.history.record import Record

MIB = 1024 * 1024
# Tells what pytest itself held at most: nobody else can tell it apart from what its children held.
TELLS_MEMORY = """\
import atexit, pathlib, resource, sys

@atexit.register
def tell():
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pathlib.Path("memory").write_text(str(peak * unit))
"""
TASK = (
    "- [ ] 1.{n} {mark}Task {n}\n  - **Do**: Something\n  - **Files**: `parts/{n}`\n"
    "  - **Verify**: `{verify}`\n\n"
)
HEALS = 'mkdir -p parts && echo done > "parts/${RALPH_FIX_FOR#1.}"'
ROW = "{:<50} {:>9} {:>9} {:>10} {:>8}  {}"


class Taken(NamedTuple):
    """By one run of pytest."""

    cpu: float
    wall: float
    memory: int
    said: str


class Load(NamedTuple):
    name: str
    least: int
    most: int
    carry: Callable[[Path, int], Taken]


def tasks(root: Path, count: int) -> Taken:
    write_spec(root, count, "true")
    return run(root)


def failures(root: Path, count: int) -> Taken:
    write_spec(root, count, "test -e parts/{n}")
    return run(root)


def recoveries(root: Path, count: int) -> Taken:
    write_spec(root, count, "test -e parts/{n}")
    taken = run(root, "--ralph-recovery", "--ralph-executor", HEALS, f"--ralph-budget={count}")
    assert f"{count} recovered" in taken.said, taken.said
    return taken


def specs(root: Path, count: int) -> Taken:
    for number in range(count):
        write_spec(root, 10, "true", name=f"s{number}")
    return run(root)


def attempts_then_run(root: Path, count: int) -> Taken:
    remember(root, count)
    write_spec(root, 100, "test -e parts/{n}")
    return run(root)


def attempts_then_recovery(root: Path, count: int) -> Taken:
    remember(root, count)
    write_spec(root, 20, "test -e parts/{n}")
    return run(root, "--ralph-recovery", "--ralph-executor", HEALS)


def attempts_then_statistics(root: Path, count: int) -> Taken:
    remember(root, count)
    return run(root, "--ralph-stats")


def output(root: Path, mebibytes: int) -> Taken:
    each = mebibytes * MIB // 10
    write_spec(root, 10, f"yes a line of some output | head -c {each}", mark="[P] ")
    taken = run(root, "--ralph-jobs=10")
    kept = sum(path.stat().st_size for path in (root / ".ralph").rglob("*") if path.is_file())
    return taken._replace(said=f"{taken.said}; {kept / MIB:.1f} MiB on disk")


LOADS = (
    Load("tasks that pass", 1_000, 10_000, tasks),
    Load("tasks that fail", 100, 1_000, failures),
    Load("tasks that fail and are healed", 100, 1_000, recoveries),
    Load("specs of 10 tasks", 20, 200, specs),
    Load("attempts in the history, 100 fail on top", 10_000, 100_000, attempts_then_run),
    Load("attempts in the history, 20 healed on top", 10_000, 100_000, attempts_then_recovery),
    Load("attempts in the history, statistics", 10_000, 100_000, attempts_then_statistics),
    Load("MiB printed by ten tasks at once", 102, 1_024, output),
)


def write_spec(root: Path, count: int, verify: str, *, mark: str = "", name: str = "demo") -> None:
    path = root / "specs" / name / "tasks.md"
    path.parent.mkdir(parents=True)
    each = (TASK.format(n=n, mark=mark, verify=verify.format(n=n)) for n in range(1, count + 1))
    path.write_text("# Tasks\n\n" + "".join(each))


def remember(root: Path, count: int) -> None:
    """A typical history: of ten attempts two fail, two are fixes (one helps), and six pass."""
    with History(root / ".ralph" / "history.db") as history:
        for number in range(count):
            history.record(_attempt(number, time.time() - count + number))
            if number % 5_000 == 0:
                history.flush()


def _attempt(number: int, moment: float) -> Record:
    turn, task = number % 10, f"1.{number // 10 % 200}"
    about = {
        "run": f"run{number // 500}",
        "time": moment,
        "spec": f"specs/s{number // 50 % 20}",
        "task": task,
    }
    if turn >= 4:
        return record_of(**about, duration=0.1)  # type: ignore[arg-type]
    failed = {
        "kind": "test_failure",
        "type": "VERIFICATION_FAILED",
        "error": f"assert {task}",
        "fingerprint": task,
    }
    if turn < 2:
        return record_of(**about, **failed, outcome="failed")  # type: ignore[arg-type]
    remedy = {
        "what": "fix",
        "fix_id": f"{task}.1",
        "executor": "claude",
        "approach": f"changed {number % 97}",
    }
    return record_of(**about, **failed, **remedy, outcome=("failed", "passed")[turn - 2])  # type: ignore[arg-type]


def run(root: Path, *options: str) -> Taken:
    (root / "conftest.py").write_text(TELLS_MEMORY)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--tb=no",
        "-p",
        "no:cacheprovider",
        "--ralph",
        *options,
        "specs",
    ]
    with (root / "said").open("w+") as said:
        started = time.monotonic()
        process = subprocess.Popen(command, cwd=root, stdout=said, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        lines = (root / "said").read_text().splitlines()
    assert process.returncode in (0, 1), lines
    last = lines[-1].strip("= ").partition(" in ")[0]
    return Taken(used.ru_utime + used.ru_stime, wall, int((root / "memory").read_text()), last)


@contextmanager
def project() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ralph-load-") as name:
        Path(name, "pytest.ini").write_text("[pytest]\n")
        Path(name, "specs").mkdir()
        yield Path(name)


def carried(load: Load, count: int) -> Taken:
    with project() as root:
        return load.carry(root, count)


def tell(load: Load) -> None:
    # What is small is soon disturbed: the best of three.
    start, small = (
        min((carried(load, count) for _ in range(3)), key=cpu) for count in (1, load.least)
    )
    large = carried(load, load.most)
    for count, taken, grown in (
        (load.least, small, ""),
        (load.most, large, growth(start.cpu, small.cpu, large.cpu)),
    ):
        figures = (
            f"{taken.cpu:.2f} s",
            f"{taken.wall:.2f} s",
            f"{taken.memory / MIB:.0f} MiB",
            grown,
        )
        print(ROW.format(f"{count:,} {load.name}", *figures, taken.said), flush=True)


def cpu(taken: Taken) -> float:
    return taken.cpu


def growth(start: float, small: float, large: float) -> str:
    """How many times as much; what is hardly more for ten times the load does not grow with it."""
    return "none" if large < 1.2 * small else f"{(large - start) / (small - start):.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="loads with this in their name")
    given = parser.parse_args()
    print(ROW.format("", "CPU", "clock", "memory", "growth", ""))
    for load in LOADS:
        if given.only in load.name:
            tell(load)


if __name__ == "__main__":
    main()
