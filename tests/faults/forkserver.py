"""Runs of pytest for the price of a fork: pytest and the package are imported only once.

A run can be cut off, or have something happen to it, at its nth point. Points are what the program
itself names (`disk.on_fault_point`) and what Python sees it do to the disk and to processes (audit
events): none is guessed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Job:
    """One run of pytest in `directory`.

    `fault` (see `faults`) happens at point `at`, counted from 1; 0 is never.
    """

    directory: str
    args: tuple[str, ...]
    at: int = 0
    fault: str = "kill"
    # Applied before pytest starts: resource limits by name, a user to become.
    limits: dict[str, int] = field(default_factory=dict)
    user: int | None = None


@dataclass(frozen=True)
class Ran:
    """How it ended: an exit status, or minus the signal. `points` are those it came past."""

    status: int
    points: tuple[str, ...]
    output: str

    @property
    def killed(self) -> bool:
        return self.status == -9


class ForkServer:
    """The process that forks. One run at a time; have one for each core."""

    def __init__(self) -> None:
        environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTEST", "RALPH", "COV"))
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.child"],
            cwd=ROOT,
            env={**environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def run(self, job: Job) -> Ran:
        told = self._ask(asdict(job))
        return Ran(told["status"], tuple(told["points"]), told["output"])

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        _say(stdin, question)
        answer: dict[str, Any] = json.loads(stdout.readline())
        return answer

    def close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.wait()


def _say(stream: IO[bytes], message: object) -> None:
    stream.write(json.dumps(message).encode() + b"\n")
    stream.flush()
