"""What isolated executors cost, on a project of 10,000 files.

Run it with `python tests/bench/isolation.py`, alone or with the names of measurements. Seconds of
the clock depend on what else the machine does, so the seconds of the processor stand beside them:
those of pytest and of the processes that it starts.
Bytecode is cached, as on the machine of a user.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES = 10_000
JOBS = 16
TASK = """\
- [ ] 1.{n} {marks}Task {n}
  - **Do**: Fix part {n}
  - **Files**: `part{n}.txt`
  - **Verify**: `grep -q fixed part{n}.txt`

"""
EXECUTOR = "{sleep}; n=${{RALPH_FIX_FOR#1.}}; echo fixed > part${{n%%.*}}.txt"
# Prints how long the tasks took, without the start of pytest and its end.
CLOCK = """\
import time

times = []

def pytest_runtest_logstart(nodeid):
    times.append(time.monotonic())

def pytest_runtest_logreport(report):
    times.append(time.monotonic())

def pytest_unconfigure(config):
    print(f"tasks: {times[-1] - times[0]:.2f}")
"""


def main() -> None:
    chosen = sys.argv[1:] or ["create", "healed", "floor", "group"]
    with tempfile.TemporaryDirectory(prefix="ralph-bytecode-") as bytecode:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = bytecode
        # Other plugins take time of their own, hypothesis a fifth of a second.
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        with project(1, 1) as root:
            _heal(root, 1, "true", "--ralph-isolate=worktree")
        for name in chosen:
            {"create": create, "healed": healed, "floor": floor, "group": group}[name]()


def create() -> None:
    """One worktree: created, looked at, and removed."""
    from pytest_ralph.fixing.isolation.worktrees import Worktrees

    with project(FILES, tasks=1) as root:
        worktrees = Worktrees(root, root / ".ralph")
        for number in range(3):
            (root / "src/0/file0.txt").write_text(f"changed {number}\n")
            with measured("create a worktree"):
                worktree = worktrees.create()
            with measured("find what changed"):
                worktree.changes()
            with measured("remove the worktree"):
                worktrees.remove(worktree)
        worktrees.close()


def healed() -> None:
    """Runs that heal eight tasks one after the other, with and without isolation."""
    tasks = 8
    seconds = {}
    for mode in ("none", "worktree"):
        times = []
        for _ in range(3):
            with project(FILES, tasks) as root:
                times.append(_heal(root, tasks, "true", f"--ralph-isolate={mode}"))
        seconds[mode] = min(times)
    overhead = (seconds["worktree"] - seconds["none"]) / tasks
    print(f"a healed task: {overhead:.3f} s more with isolation")


def floor() -> None:
    """The processes of the group alone: each executor, and Verify before and twice after it."""
    tasks = 64
    what = f"the processes of {tasks} tasks"
    with project(64, tasks) as root, measured(what), ThreadPoolExecutor(JOBS) as pool:
        for number in range(1, tasks + 1):
            pool.submit(_run_processes, root, number)


def _run_processes(root: Path, number: int) -> None:
    verify = f"grep -q fixed part{number}.txt"
    executor = EXECUTOR.format(sleep="sleep 1")
    environ = {**os.environ, "RALPH_FIX_FOR": f"1.{number}"}
    for command in (verify, executor, verify, verify):
        subprocess.run(command, shell=True, cwd=root, env=environ, check=False)


def group() -> None:
    """64 tasks of a [P] group that all fail, each with an executor of one second."""
    tasks = 64
    ideal = tasks / JOBS
    for mode in ("none", "worktree"):
        with project(64, tasks, "[P] ") as root:
            (root / "conftest.py").write_text(CLOCK)
            options = (f"--ralph-jobs={JOBS}", "--ralph-budget=100", f"--ralph-isolate={mode}")
            taken = _heal(root, tasks, "sleep 1", *options)
        print(f"{tasks} tasks, {JOBS} jobs, isolate={mode}: {taken:.2f} s, ideal {ideal:.1f} s")


@contextmanager
def project(files: int, tasks: int, marks: str = "") -> Iterator[Path]:
    """A repository with many files and a spec whose tasks all fail."""
    with tempfile.TemporaryDirectory(prefix="ralph-bench-") as name:
        root = Path(name)
        (root / "pytest.ini").write_text("[pytest]\n")
        for number in range(files):
            path = root / "src" / str(number // 100) / f"file{number}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"line of file {number}\n" * 40)
        for number in range(1, tasks + 1):
            (root / f"part{number}.txt").write_text("broken\n")
        directory = root / "specs" / "s"
        directory.mkdir(parents=True)
        text = "".join(TASK.format(n=n, marks=marks) for n in range(1, tasks + 1))
        (directory / "tasks.md").write_text(f"# Tasks\n\n{text}")
        for words in (
            ("init", "-q"),
            # Ten thousand new objects would start a collection in the background.
            ("config", "gc.auto", "0"),
            ("add", "-A"),
            ("-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "-m", "begin"),
        ):
            subprocess.run(["git", *words], cwd=root, check=True)
        yield root


@contextmanager
def measured(what: str) -> Iterator[None]:
    before = _processor_time()
    began = time.monotonic()
    yield
    taken = time.monotonic() - began
    print(f"{what}: {taken:.3f} s, {_processor_time() - before:.3f} s of the processor")


def _processor_time() -> float:
    own = os.times()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.user + own.system + children.ru_utime + children.ru_stime


def _heal(root: Path, tasks: int, sleep: str, *options: str) -> float:
    """Seconds of a run that recovers all tasks."""
    executor = EXECUTOR.format(sleep=sleep)
    command = [sys.executable, "-m", "pytest", "-p", "ralph", "-q", "-p", "no:cacheprovider"]
    command += ["--ralph-recovery", f"--ralph-executor={executor}", *options, "specs"]
    before = _processor_time()
    began = time.monotonic()
    ended = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    taken = time.monotonic() - began
    assert f"{tasks} recovered" in ended.stdout, ended.stdout + ended.stderr
    print(f"    {taken:.2f} s, {_processor_time() - before:.2f} s of the processor")
    for line in ended.stdout.splitlines():
        if line.startswith("tasks: "):
            print(f"    {line.removeprefix('tasks: ')} s without the start and end of pytest")
    return taken


if __name__ == "__main__":
    main()
