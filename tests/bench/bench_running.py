"""What running commands costs, as ratios of one run: `python tests/bench/bench_running.py`."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from pytest_ralph.running.runner import Runner
from pytest_ralph.running.strays import Mark, kill_marked, kill_younger
from pytest_ralph.text.secrets import Masker

if TYPE_CHECKING:
    from collections.abc import Callable

MIB = 1024 * 1024
LOG_LINE = (
    "2024-01-01 12:00:00 ERROR foo.bar: failed at src/x.py:12 key=value http://example.org/a?b=c\n"
)


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        runner = Runner(root=root, environ=os.environ, logs=root / "logs")
        try:
            one_gib(runner)
            spawning(runner)
            strays()
            parallel(runner)
            masking()
        finally:
            runner.close()


def tell(name: str, figure: str) -> None:
    print(f"{name:<58} {figure}")


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def spawning(runner: Runner, each: int = 200, rounds: int = 5) -> None:
    """Interleaved, so that whatever else the machine does falls on all alike."""
    works: dict[str, Callable[[], object]] = {
        "subprocess.run(['bash', '-c', 'true'])": lambda: subprocess.run(
            ["bash", "-c", "true"], check=True
        ),
        "the same, output captured": lambda: subprocess.run(
            ["bash", "-c", "true"], check=True, capture_output=True
        ),
        "ours: true": lambda: runner.run("true", timeout=60),
        "ours: by the shell": lambda: runner.run("true;", timeout=60),
        "ours: by the shell, with output": lambda: runner.run("echo x;", timeout=60),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(seconds(lambda work=work: [work() for _ in range(each)]) / each)  # type: ignore[misc]
    bare = median(next(iter(times.values())))
    for name, taken in times.items():
        tell(
            f"a command, {name}",
            f"{median(taken) * 1000:6.2f} ms   {median(taken) / bare:.2f} of bare",
        )


def strays(times: int = 500) -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as leader:
        started = time.perf_counter()
        for _ in range(times):
            kill_younger(Mark(1, 1), leader.pid)
        each = (time.perf_counter() - started) / times
        tell("a look for strays after a command that started nothing", f"{each * 1e6:6.0f} us")
        tell("a thorough look", f"{seconds(lambda: kill_marked(Mark(1, 1))) * 1000:6.2f} ms")
        leader.kill()


def parallel(runner: Runner) -> None:
    with ThreadPoolExecutor(16) as pool:
        taken = seconds(
            lambda: list(pool.map(lambda _: runner.run("sleep 0.2", timeout=60), range(64)))
        )
    tell("64 x sleep 0.2 on 16 threads", f"{taken:6.2f} s    {taken / 0.8:.2f} of ideal")


def one_gib(runner: Runner) -> None:
    runner.run("echo warm", timeout=60)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ended = runner.run(f"yes some line of output | head -c {1024 * MIB}", timeout=300)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    tell("1 GiB printed", f"{ended.duration:6.2f} s    {grown / 1024:.0f} MiB of memory")


def masking() -> None:
    text = LOG_LINE * (MIB // len(LOG_LINE))
    masker = Masker({"A_TOKEN": "xyzzy-plugh"})
    tell("secrets masked in 1 MiB", f"{seconds(lambda: masker.mask(text)) * 1000:6.1f} ms")


if __name__ == "__main__":
    main()
