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

    def __init__(self, root: Path = Path()) -> None:
        self.spec_files = SimpleNamespace(spec=SimpleNamespace(path=Path("tasks.md"), name="s"))
        self.services = SimpleNamespace(root=root)
        self.verified: list[str] = []

    def work_on(self, task: Any) -> dict[str, FileState | None]:
        path = f"src/{task.name}"
        return {path: snapshot.state_of(self.services.root / path)}

    def heal(self, task: Any, *_: str) -> None:
        self.verified.append(task.name)


def work_on(
    known: Regressions, spec_run: Any, name: str, begun: int, changed: tuple[str, ...] = ()
) -> None:
    task: Any = SimpleNamespace(name=name, id=name, files=(f"src/{name}",))
    attempt = Attempt(what="fix", changed=(*task.files, *changed))
    result = TaskResult(name, outcome="recovered", attempts=(attempt,))
    known.heal_after(spec_run, task, result, begun)
    known.add_pass(spec_run, task, result, begun)


@pytest.mark.parametrize("together", [False, True])
def test_only_concurrent_work_can_be_overwritten(
    monkeypatch: pytest.MonkeyPatch, together: bool
) -> None:
    compared: list[str] = []

    def is_same_now(file: str, _state: FileState | None) -> bool:
        compared.append(file.removeprefix("./"))
        return True

    monkeypatch.setattr(snapshot, "is_same_now", is_same_now)
    known = Regressions()
    spec_run = FakeSpecRun()
    for name in "123":
        work_on(known, spec_run, name, 0 if together else known.position)

    assert compared == (["src/1", "src/1", "src/2"] if together else [])


@pytest.mark.parametrize("is_changed", [False, True])
def test_a_file_as_it_was_breaks_nothing(tmp_path: Path, is_changed: bool) -> None:
    known = Regressions()
    spec_run = FakeSpecRun(tmp_path)
    file = tmp_path / "src/1"
    file.parent.mkdir()
    file.write_text("done")
    work_on(known, spec_run, "1", 0)
    if is_changed:
        file.write_text("not done any more")
    # Its executor ran at the same time, so the file changed under its eyes, too.
    work_on(known, spec_run, "2", 0, ("src/1",))

    assert spec_run.verified == (["1"] if is_changed else [])
