"""Which tasks that passed are verified again after later work."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.fixing import snapshot
from pytest_ralph.healing.regressions import Regressions, is_affected
from pytest_ralph.results import Attempt, TaskResult

if TYPE_CHECKING:
    from pytest_ralph.fixing.snapshot import FileState


@pytest.mark.parametrize(
    ("files", "changed", "affected"),
    [
        ((), ("a.py",), True),
        (("a.py",), ("a.py",), True),
        (("a.py",), ("b.py", "src/a.py"), False),
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
    assert is_affected(files, changed) is affected


class FakeSpecRun:
    """Stands for a spec without files, whose tasks all still pass."""

    def __init__(self) -> None:
        self.spec_files = SimpleNamespace(spec=SimpleNamespace(path=Path("tasks.md"), name="s"))
        self.services = SimpleNamespace(root=Path())

    def work_on(self, task: Any) -> dict[str, FileState | None]:
        return {f"src/{task.name}": None}


def work_on(known: Regressions, spec_run: Any, name: str, begun: int) -> None:
    task: Any = SimpleNamespace(name=name, id=name, files=(f"src/{name}",))
    attempt = Attempt(what="fix", changed=task.files)
    result = TaskResult(name, outcome="recovered", attempts=(attempt,))
    known.heal_after(spec_run, task, result, begun)
    known.add_pass(spec_run, task, result, begun)


@pytest.mark.parametrize("together", [False, True])
def test_only_concurrent_work_can_be_overwritten(
    monkeypatch: pytest.MonkeyPatch, together: bool
) -> None:
    compared: list[str] = []

    def is_same_now(file: Path, _state: FileState | None) -> bool:
        compared.append(file.as_posix())
        return True

    monkeypatch.setattr(snapshot, "is_same_now", is_same_now)
    known = Regressions()
    spec_run = FakeSpecRun()
    for name in "123":
        work_on(known, spec_run, name, 0 if together else known.position)

    assert compared == (["src/1", "src/1", "src/2"] if together else [])
