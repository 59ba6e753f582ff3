"""What parallel work gains, relative to the ideal and to no workers.

Run it with `python tests/bench/parallel.py`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TASK = "- [ ] 1.{n} {marks}Task {n}\n  - **Do**: Sleep\n  - **Verify**: `sleep {seconds}`\n\n"
# Writes when the first task began and when the last was reported: what pytest itself takes to start
# is not of a group.
CLOCK = """
import json, time

began, ended = [], []

def pytest_runtest_logstart(nodeid):
    began.append(time.monotonic())

def pytest_runtest_logreport(report):
    ended.append(time.monotonic())

def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):
        with open("clock.json", "w") as file:
            json.dump(ended[-1] - began[0], file)
"""


def main() -> None:
    group(64, 0.2, jobs=16)
    workers(8, 6, 0.8, 4)


def group(tasks: int, seconds: float, *, jobs: int) -> None:
    """How long a [P] group takes on one machine, beside what the sleeping alone would take."""
    ideal = tasks / jobs * seconds
    with project(1, tasks, seconds, "[P] ") as root:
        taken = min(_run(root, f"--ralph-jobs={jobs}")[1] for _ in range(3))
    print(
        f"{tasks} tasks of {seconds} s, {jobs} jobs: {taken:.3f} s, ideal {ideal:.3f} s: "
        f"{taken / ideal:.3f} times"
    )


def workers(specs: int, tasks: int, seconds: float, count: int) -> None:
    """Whole runs, from the start of pytest to its end."""
    with project(specs, tasks, seconds, "") as root:
        alone = _run(root, "-n0")[0]
        together = min(_run(root, f"-n{count}")[0] for _ in range(3))
    said = (
        f"{specs} specs of {tasks} tasks of {seconds} s: {alone:.2f} s alone, {together:.2f} s "
        f"with {count} workers"
    )
    print(f"{said}: {alone / together:.2f} times as fast")


@contextmanager
def project(specs: int, tasks: int, seconds: float, marks: str) -> Iterator[Path]:
    """Specs of sleeping tasks."""
    with tempfile.TemporaryDirectory(prefix="ralph-bench-") as name:
        root = Path(name)
        (root / "pytest.ini").write_text("[pytest]\n")
        (root / "conftest.py").write_text(CLOCK)
        for spec in range(specs):
            directory = root / "specs" / f"s{spec}"
            directory.mkdir(parents=True)
            text = "".join(
                TASK.format(n=n, marks=marks, seconds=seconds) for n in range(1, tasks + 1)
            )
            (directory / "tasks.md").write_text(f"# Tasks\n\n{text}")
        yield root


def _run(root: Path, *arguments: str) -> tuple[float, float]:
    """Seconds of a whole run, and from its first task to its last."""
    started = time.monotonic()
    command = [sys.executable, "-m", "pytest", "--ralph", "-q", *arguments, "specs"]
    ended = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    taken = time.monotonic() - started
    assert re.search(r"\d+ passed", ended.stdout), ended.stdout + ended.stderr
    return taken, float((root / "clock.json").read_text())


if __name__ == "__main__":
    main()
