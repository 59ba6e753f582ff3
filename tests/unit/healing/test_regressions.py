"""Which changes matter to a task, and when it is verified again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_ralph.healing.regressions import PassedTask, Regressions, Work, is_named
from pytest_ralph.results import Attempt, TaskResult
from pytest_ralph.spec.task import Task

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.healing.spec_run import SpecRun


@pytest.mark.parametrize(
    ("files", "changed", "affected"),
    [
        ((), ("a.py",), False),
        (("a.py",), ("a.py",), True),
        (("a.py",), ("b.py", "src/a.py"), False),
        (("./a.py",), ("a.py",), True),
        (("./src/",), ("src/a.py",), True),
        (("src/../a.py",), ("a.py",), True),
        (("src/**/*.py",), ("src/a.py",), True),
        (("src/**/*.py",), ("src/b/a.py",), True),
        (("src/",), ("src/a.py",), True),
        (("src",), ("src/deep/a.py",), True),
        (("src",), ("srcs/a.py",), False),
        (("src/*.py",), ("src/a.py",), True),
        (("src/?.py", "[ab].txt"), ("b.txt",), True),
        (("src/*.py",), ("doc/a.py",), False),
        (("[id].tsx",), ("[id].tsx",), True),
    ],
)
def test_files_of_a_task(files: tuple[str, ...], changed: tuple[str, ...], affected: bool) -> None:
    assert any(is_named(files, path) for path in changed) is affected


class FakeSpecRun:
    """Stands for a spec without files, whose tasks all still pass."""

    def __init__(self) -> None:
        self.verified: list[str] = []

    def heal(self, task: Any, *_: str) -> None:
        self.verified.append(task.name)


@pytest.mark.parametrize(("verified", "again"), [(60, []), (-60, ["1"])])
def test_only_files_changed_since_verify_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verified: float, again: list[str]
) -> None:
    monkeypatch.setattr("pytest_ralph.healing.regressions.CLOCK_TICK", 0)
    spec_run: Any = FakeSpecRun()
    regressions = Regressions(tmp_path)
    (tmp_path / "1.txt").touch()
    for name in "123":
        task = Task(name, "Write", name=name, files=(f"{name}.txt",))
        # The executors worked at the same time, so each saw the changes of the first.
        fix = Attempt(what="fix", started=time.time(), changed=("1.txt", f"{name}.txt"))
        check = Attempt(what="verify", started=time.time() + verified)
        result = TaskResult(name, name=name, outcome="recovered", attempts=(fix, check))
        regressions.heal_after(spec_run, task, result, 0)

    # Verified again after the second task, and not once more after the third.
    assert [name for name in spec_run.verified if name == "1"] == again


def passed_task(files: tuple[str, ...], changed: tuple[str, ...]) -> PassedTask:
    verified = Attempt(started=10.0, duration=1.0)
    work = Attempt(what="fix", fix_id="1.1.1", started=5.0, changed=changed)
    result = TaskResult("1.1", spec_path="a", name="1.1", attempts=(work, verified))
    return PassedTask(result, Task("1.1", "One", files=files), lambda: cast("SpecRun", None))


@pytest.mark.parametrize(
    ("files", "changed", "expected"),
    [
        ((), (), (True, False)),
        # Without a Files field, what its fix has changed is not all that matters to it.
        ((), ("b.py",), (True, False)),
        (("b.py",), (), (False, False)),
        (("a.py",), (), (True, True)),
        ((), ("a.py",), (True, True)),
    ],
)
def test_work_that_may_break_a_task(
    files: tuple[str, ...], changed: tuple[str, ...], expected: tuple[bool, bool], tmp_path: Path
) -> None:
    passed = passed_task(files, changed)
    attempt = Attempt(what="fix", started=20.0, changed=("a.py",))
    work = Work.of(TaskResult("1.2", spec_path="a", name="1.2", attempts=(attempt,)))

    assert work is not None
    found = passed.may_be_broken_by(work, tmp_path), passed.is_touched_by(work, tmp_path)
    assert found == expected
