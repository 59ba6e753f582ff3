"""Count the function calls and modules that one task takes through pytest_ralph.

Runs a spec in recovery mode and counts from the start of `TaskItem.runtest` to its end, for a task
that passes and for one that a fix heals. A task before them pays for what a run does only once.
Calls of functions count, the execution of modules, class bodies and comprehensions does not::

    python scripts/trace_task.py              # the counts
    python scripts/trace_task.py --calls      # and the functions in the order of their first call
"""

from __future__ import annotations

import argparse
import inspect
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import pytest_ralph

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType

PACKAGE = Path(pytest_ralph.__file__).parent
SPEC = """\
# Tasks

- [ ] 1.1 Warm up
  - **Verify**: `true`

- [ ] 1.2 Pass
  - **Verify**: `true`

- [ ] 1.3 Heal
  - **Verify**: `test -f healed`
"""
TASKS = {"1.2": "passing", "1.3": "healed"}
OPTIONS = (
    "--ralph-recovery",
    "--ralph-executor=touch healed; echo TASK_COMPLETE",
    "-q",
    "-p",
    "no:cacheprovider",
)


class Trace(NamedTuple):
    """The calls of one task, in order, as `module:qualified name`."""

    calls: list[str]

    @property
    def modules(self) -> list[str]:
        return list(dict.fromkeys(call.partition(":")[0] for call in self.calls))

    @property
    def functions(self) -> list[str]:
        """Each function once, in the order of its first call."""
        return list(dict.fromkeys(self.calls))


class Tracer:
    """A pytest plugin that records the calls inside `pytest_runtest_call` of each task."""

    def __init__(self) -> None:
        self.traces: dict[str, Trace] = {}

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        calls: list[str] = []

        def record(frame: FrameType, event: str, _: object) -> None:
            if event == "call" and _is_ours(frame):
                path = Path(frame.f_code.co_filename).relative_to(PACKAGE)
                calls.append(f"{path.with_suffix('').as_posix()}:{_name(frame)}")

        threading.setprofile(record)
        sys.setprofile(record)
        try:
            return (yield)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
            self.traces[item.name] = Trace(calls)


def _is_ours(frame: FrameType) -> bool:
    """Whether the frame is a call of a function in the package."""
    code = frame.f_code
    # Only the code of functions is optimized; Python 3.12 runs comprehensions without a call.
    is_function = bool(code.co_flags & inspect.CO_OPTIMIZED) and not code.co_name.startswith("<")
    return is_function and code.co_filename.startswith(f"{PACKAGE}{os.sep}")


def _name(frame: FrameType) -> str:
    # Python 3.10 has no co_qualname.
    return getattr(frame.f_code, "co_qualname", frame.f_code.co_name)


def trace() -> dict[str, Trace]:
    """The traces of the passing and of the healed task, by these two words."""
    tracer = Tracer()
    with tempfile.TemporaryDirectory() as directory:
        spec = Path(directory) / "specs" / "demo"
        spec.mkdir(parents=True)
        (spec / "tasks.md").write_text(SPEC, encoding="utf-8")
        (Path(directory) / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        status = pytest.main([*OPTIONS, f"--rootdir={directory}", str(spec)], plugins=[tracer])
    if status != pytest.ExitCode.OK:
        raise SystemExit(f"the traced run ended with exit status {int(status)}")
    return {word: tracer.traces[task] for task, word in TASKS.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", action="store_true", help="also list the functions")
    arguments = parser.parse_args()
    for word, traced in trace().items():
        print(f"{word} task: {len(traced.calls)} calls through {len(traced.modules)} modules")
        if arguments.calls:
            for function in traced.functions:
                print(f"  {function}")


if __name__ == "__main__":
    main()
