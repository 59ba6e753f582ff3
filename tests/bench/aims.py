"""The aims for speed, each with its figure: `python -m tests.bench.aims [--only WORD]`.

Ends with 1 if an aim is missed by more than noise. Figures are CPU time of commands and their
children, the best of several runs taken in turns, or ratios of such times. Bytecode is cached, as
it is for a user. The environments with and without the plugin are kept for the next time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.bench.speed import COLLECT, NOOP, PYTEST, SPAWNS, best, seconds, spec, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
# A figure may be this much above its aim.
NOISE = 1.05
# For what is compared in hundredths.
SMALL_NOISE = 1.01
PARAMETRIZED = """\
import subprocess, pytest
@pytest.mark.parametrize('i', range({n}))
def test_command(i):
    ended = subprocess.run(['bash', '-c', 'true'], capture_output=True, timeout=300)
    assert ended.returncode == 0
"""
FAILS_FIRST = (
    "- [ ] 1.{i} Task {i}\n  - **Files**: `parts/{i}`\n  - **Verify**: `test -e parts/{i}`\n"
)
HEAL = [
    *PYTEST,
    "--ralph-recovery",
    '--ralph-executor=mkdir -p parts && echo done > "parts/${RALPH_FIX_FOR#1.}"',
    "--ralph-budget=10000",
]


class Aim(NamedTuple):
    """One figure and the most that it should be."""

    name: str
    figure: float
    most: float
    unit: str = ""
    noise: float = NOISE

    @property
    def missed(self) -> bool:
        return self.figure > self.most * self.noise

    def __str__(self) -> str:
        verdict = "ok"
        if self.figure > self.most:
            verdict = "MISSED" if self.missed else "missed within noise"
        figures = f"{self.figure:9.3f}{self.unit:3} (at most {self.most:g}{self.unit})"
        return f"{self.name:62} {figures:32} {verdict}"


def unused(work: Path) -> Iterator[Aim]:
    write(work / "test_some.py", NOOP.format(n=100))
    commands = {"with": [*PYTEST, "--co"], "without": [*PYTEST, "--co", "-p", "no:ralph"]}
    found = best(commands, work, 25)
    ratio = found["with"] / found["without"]
    yield Aim("installed and unused, of -p no:ralph", ratio, 1.01, noise=SMALL_NOISE)


def installed(work: Path) -> Iterator[Aim]:
    write(work / "test_some.py", NOOP.format(n=100))
    commands = {
        "with": [_environment("with", "pytest", str(ROOT)), *PYTEST[1:], "--co"],
        "without": [_environment("without", "pytest"), *PYTEST[1:], "--co"],
    }
    found = best(commands, work, 25)
    ratio = found["with"] / found["without"]
    yield Aim("installed and unused, of not installed", ratio, 1.02, noise=SMALL_NOISE)


def _environment(name: str, *requirements: str) -> str:
    """Return the Python of an environment with these packages and what they need."""
    directory = Path(sys.prefix, "bench", name)
    python = str(directory / "bin" / "python")
    if not directory.exists():
        subprocess.run([sys.executable, "-m", "venv", directory], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", *requirements], check=True)
    return python


def start(work: Path) -> Iterator[Aim]:
    write(work / "test_one.py", "def test_one(): pass\n")
    spec(work / "specs" / "one", 1)
    commands = {
        "ralph": [*PYTEST, "--ralph", "specs/one"],
        "recovery": [*PYTEST, "--ralph-recovery", "specs/one"],
        "pytest": [*PYTEST, "test_one.py"],
    }
    found = best(commands, work, 15)
    for name in ("ralph", "recovery"):
        extra = (found[name] - found["pytest"]) * 1000
        yield Aim(f"one task with --{name}, more than one test", extra, 80, "ms")


def tasks(work: Path) -> Iterator[Aim]:
    count = 1_000
    write(work / "test_noop.py", NOOP.format(n=count))
    write(work / "test_parametrized.py", PARAMETRIZED.format(n=count))
    spec(work / "specs" / "big", count)
    commands = {
        "ralph": [*PYTEST, "--ralph", "specs/big"],
        "no-op": [*PYTEST, "test_noop.py"],
        "spawns": [sys.executable, "-c", SPAWNS.format(n=count)],
        "parametrized": [*PYTEST, "test_parametrized.py"],
    }
    found = best(commands, work, 5)
    floor = found["no-op"] + found["spawns"]
    yield Aim("1,000 tasks `true`, of no-op items and bare spawns", found["ralph"] / floor, 1.0)
    ratio = found["ralph"] / found["parametrized"]
    yield Aim("the same, of a parametrized subprocess.run", ratio, 0.90)


def healed(work: Path) -> Iterator[Aim]:
    times = {}
    for count in (1, 100, 1_000):
        lines = "\n".join(FAILS_FIRST.format(i=i) for i in range(count))
        directory = work / str(count)
        write(directory / "tasks.md", f"# Tasks\n\n{lines}")
        write(directory / "pytest.ini", "[pytest]\n")
        times[count] = seconds([*HEAL, "tasks.md"], directory)
    each = [times[100] - times[1], times[1_000] - times[1]]
    spawns = seconds([sys.executable, "-c", SPAWNS.format(n=3_000)], work)
    yield Aim("1,000 healed failures in one spec, of 100", each[1] / each[0], 11)
    # Two verifications and an executor are processes of their own.
    own = (each[1] - spawns) / 999 * 1000
    yield Aim("each of them, without three bare spawns", own, 12, "ms")


def collecting(work: Path) -> Iterator[Aim]:
    for count in (1, 10_000, 100_000):
        spec(work / f"specs/c{count}", count)
    commands = {str(count): [*COLLECT, f"specs/c{count}"] for count in (1, 10_000, 100_000)}
    found = best(commands, work, 1)
    growth = (found["100000"] - found["1"]) / (found["10000"] - found["1"])
    yield Aim("collecting 100,000 tasks, of 10,000", growth, 11)


def html(work: Path) -> Iterator[Aim]:
    spec(work / "specs" / "many", 5_000)
    seconds([*PYTEST, "--ralph", "--ralph-report=report.html", "specs/many"], work)
    size = (work / "report.html").stat().st_size / 1_000_000
    yield Aim("HTML report of 5,000 tasks", size, 3, "MB")


STEPS: tuple[Callable[[Path], Iterator[Aim]], ...] = (
    unused,
    installed,
    start,
    tasks,
    healed,
    collecting,
    html,
)


def main() -> int:
    """Return 1 if an aim is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", help="a word of the name of a step")
    given = parser.parse_args()
    # Without cached bytecode, every start would compile the package.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    missed = 0
    for step in STEPS:
        if given.only and given.only not in step.__name__:
            continue
        with tempfile.TemporaryDirectory(prefix="ralph-bench-") as name:
            write(Path(name, "pytest.ini"), "[pytest]\n")
            for aim in step(Path(name)):
                print(aim, flush=True)
                missed += aim.missed
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
