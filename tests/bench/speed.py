"""Speed, as ratios within one run: an unused plugin, a task, and how collecting grows.

    python tests/bench/speed.py [--repeat N] [--tasks N]

Each figure is the best of N runs, taken in turns, so that a noisy machine is noisy for all of them,
and is CPU time of the command and its children unless `--wall` is given: others on the machine cost
no CPU time of ours. bats, cram and prysk are reported beside where they are installed.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

WALL = "--wall"
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
SPAWNS = "import subprocess\nfor _ in range({n}): subprocess.run(['bash', '-c', 'true'])"
NOOP = "import pytest\n@pytest.mark.parametrize('i', range({n}))\ndef test_noop(i): pass\n"
PARAMETRIZED = """\
import subprocess, pytest
@pytest.mark.parametrize('i', range({n}))
def test_command(i): assert subprocess.run(['bash', '-c', 'true']).returncode == 0
"""
TASK = (
    "- [ ] 1.{i} Task {i}\n  - **Do**: Something\n  - **Files**: `src/f{i}.py`\n"
    "  - **Verify**: `true`\n"
)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def spec(directory: Path, tasks: int) -> Path:
    return write(
        directory / "tasks.md", "# Tasks\n\n" + "\n".join(TASK.format(i=i) for i in range(tasks))
    )


def now() -> float:
    if WALL in sys.argv:
        return time.perf_counter()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds(command: list[str], cwd: Path) -> float:
    started = now()
    ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    taken = now() - started
    if ended.returncode not in (0, 5):
        sys.exit(f"{command} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
    return taken


def best(commands: dict[str, list[str]], cwd: Path, repeat: int) -> dict[str, float]:
    """The shortest time of each, taken in turns, after a first run that fills the caches."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for command in commands.values():
        seconds(command, cwd)
    for _ in range(repeat):
        for name, command in commands.items():
            times[name].append(seconds(command, cwd))
    return {name: min(taken) for name, taken in times.items()}


def unused(work: Path, repeat: int) -> None:
    write(work / "test_some.py", NOOP.format(n=100))
    commands = {"with": [*PYTEST, "--co"], "without": [*PYTEST, "--co", "-p", "no:ralph"]}
    found = best(commands, work, repeat * 5)
    print(f"unused: pytest --co {found['with']:.3f} s, without the plugin {found['without']:.3f} s")
    print(f"  ratio {found['with'] / found['without']:.3f} (at most 1.02)")


def tasks(work: Path, count: int, repeat: int) -> None:
    write(work / "test_noop.py", NOOP.format(n=count))
    write(work / "test_parametrized.py", PARAMETRIZED.format(n=count))
    spec(work / "specs" / "big", count)
    commands = {
        "ralph": [*PYTEST, "--ralph", "specs/big"],
        "no-op items": [*PYTEST, "test_noop.py"],
        "bare spawns": [sys.executable, "-c", SPAWNS.format(n=count)],
        "parametrized subprocess.run": [*PYTEST, "test_parametrized.py"],
        **others(work, count),
    }
    found = best(commands, work, repeat)
    print(f"{count} tasks with Verify `true`:")
    for name, taken in found.items():
        print(f"  {name:30} {taken:7.2f} s   ralph is {found['ralph'] / taken:.2f} of it")
    ratio = found["ralph"] / (found["no-op items"] + found["bare spawns"])
    print(f"  ratio to no-op items + bare spawns {ratio:.2f} (at most 1.25)")


def others(work: Path, count: int) -> dict[str, list[str]]:
    write(
        work / "tests.bats",
        "".join(f'@test "task {i}" {{\n  bash -c true\n}}\n' for i in range(count)),
    )
    write(work / "tests.t", "".join("  $ bash -c true\n\n" for _ in range(count)))
    known = {"bats": ["tests.bats"], "cram": ["-q", "tests.t"], "prysk": ["-q", "tests.t"]}
    found = {
        name: shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
        for name in known
    }
    return {name: [program, *known[name]] for name, program in found.items() if program}


def collecting(work: Path, repeat: int) -> None:
    commands = {}
    for count in (1_000, 10_000):
        spec(work / f"specs/c{count}", count)
        commands[str(count)] = [*COLLECT, f"specs/c{count}"]
    spec(work / "specs/c1", 1)
    found = best({"1": [*COLLECT, "specs/c1"], **commands}, work, repeat)
    small, large = found["1000"] - found["1"], found["10000"] - found["1"]
    print(
        f"collecting: 1,000 tasks {small:.2f} s, 10,000 tasks {large:.2f} s (start of pytest "
        "taken off)"
    )
    print(f"  ratio {large / small:.1f} (at most 11)")


# Without the terminal: what is measured is the reading, not the printing of ten thousand lines.
COLLECT = [
    sys.executable,
    "-m",
    "pytest",
    "--co",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:terminal",
    "--ralph",
]
MEMORY = """\
import resource, sys, pytest
class Hold:
    def pytest_collection_finish(self, session):
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
options = ["--co", "-p", "no:cacheprovider", "-p", "no:terminal", "-s", "--ralph"]
pytest.main([*options, sys.argv[1]], plugins=[Hold()])
"""


def memory(work: Path) -> None:
    used = {}
    for count in (1_000, 5_000, 10_000):
        spec(work / f"specs/m{count}", count)
        command = [sys.executable, "-c", MEMORY, str(work / f"specs/m{count}")]
        ended = subprocess.run(command, cwd=work, capture_output=True, text=True, check=True)
        used[count] = int(ended.stdout.split()[0])
    first = (used[5_000] - used[1_000]) / 4_000
    second = (used[10_000] - used[5_000]) / 5_000
    print(
        f"memory per collected task: {first:.1f} KiB up to 5,000, {second:.1f} KiB up to "
        "10,000 (flat if equal)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=1_000)
    parser.add_argument(WALL, action="store_true", help="measure time on the clock")
    given = parser.parse_args()
    steps: list[Callable[[Path], None]] = [
        lambda work: unused(work, given.repeat),
        lambda work: tasks(work, given.tasks, given.repeat),
        lambda work: collecting(work, given.repeat * 2),
        memory,
    ]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for step in steps:
        with tempfile.TemporaryDirectory(prefix="ralph-bench-") as directory:
            write(Path(directory, "pytest.ini"), "[pytest]\n")
            step(Path(directory))


if __name__ == "__main__":
    main()
