"""The files of a spec during a run: read only when needed, written as little as possible."""

from __future__ import annotations

import itertools
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph import files as disk
from pytest_ralph.failure.failure import Failure
from pytest_ralph.healing.errors import SpecFilesError
from pytest_ralph.healing.spec_files import SpecFiles
from pytest_ralph.spec.document import Spec
from pytest_ralph.spec.order import plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pytest_ralph.spec.task import Task

TASKS = "# Tasks\n\n" + "\n".join(
    f"- [ ] 1.{n} Täsk {n} — ok\n  - **Verify**: `true`\n" for n in range(1, 6)
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "demo" / "tasks.md"
    file.parent.mkdir()
    file.write_text(TASKS, encoding="utf-8")
    return file


def open_spec_files(path: Path) -> SpecFiles:
    spec = Spec.load(path)
    made = SpecFiles(spec, plan(spec.tasks))
    made.start("demo")
    return made


@pytest.fixture
def steps() -> Iterator[list[str]]:
    """What was written, in order."""
    seen: list[str] = []
    disk.on_fault_point = lambda name: seen.append(name) if name.startswith("before") else None
    yield seen
    disk.on_fault_point = None


def fix_block(fix_id: str, task_id: str) -> str:
    return f"- [ ] {fix_id} [FIX {task_id}] Fix: it\n  - **Verify**: `true`"


def test_a_tick_is_one_byte_in_place(path: Path, steps: list[str]) -> None:
    work = open_spec_files(path)
    inode = path.stat().st_ino
    steps.clear()
    work.passed(work.spec["1.3"])

    assert path.read_text(encoding="utf-8") == TASKS.replace("- [ ] 1.3", "- [x] 1.3")
    assert path.stat().st_ino == inode
    assert [step for step in steps if "tasks.md" in step] == ["before write tasks.md"]


@pytest.mark.parametrize("box", ["[ ]", "[]", "[~]", "[-]"])
def test_every_sort_of_open_box_is_ticked(path: Path, box: str) -> None:
    path.write_text(TASKS.replace("- [ ] 1.2", f"- {box} 1.2"), encoding="utf-8")
    work = open_spec_files(path)
    for task_id in ("1.2", "1.5", "1.1"):
        work.passed(work.spec[task_id])

    done = [task.id for task in Spec.load(path).tasks if task.checked]
    assert done == ["1.1", "1.2", "1.5"]


@pytest.mark.parametrize(
    "heading", ["- [ ] 1.1 Read [x]", "### Task 1.1: Read [x] boxes", "### [ ] 1.1 Read [x]s"]
)
def test_a_box_in_a_title_stays(path: Path, heading: str) -> None:
    path.write_text(f"# Tasks\n\n{heading}\n\n  **Verify**: `true`\n", encoding="utf-8")
    before = path.read_text(encoding="utf-8")
    work = open_spec_files(path)
    (task,) = work.spec.tasks
    work.passed(task)
    assert work.is_checked(task)
    work.take_back(task)

    assert not work.is_checked(task)
    assert path.read_text(encoding="utf-8") == before


SOURCES = {
    "plain": TASKS,
    "total with one more digit": f"---\ntotal_tasks: 9\n---\n{TASKS}",
    "more bytes than characters": TASKS.replace("# Tasks", "# Aufgaben für später ✓"),
    "CRLF": TASKS.replace("\n", "\r\n"),
    "fix of a task to come": f"{TASKS}\n{fix_block('9.1', '1.1.1')}\n",
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_inserted_fixes_are_known_as_if_read_again(path: Path, source: str) -> None:
    path.write_bytes(source.encode())
    work = open_spec_files(path)
    for original in (*work.spec.tasks[:3], *work.spec.tasks[2:0:-1]):
        fix_id = work.next_id(original)
        fix = work.insert_fix(original, fix_id, fix_block(fix_id, original.id), "error")
        nested_id = work.next_id(fix)
        work.insert_fix(fix, nested_id, fix_block(nested_id, fix.id), "error")
        work.passed(original)

    read_again = open_spec_files(path)
    assert work.spec == Spec.load(path)
    for task in work.spec.tasks:
        assert work.owner_of(task) == read_again.owner_of(task)
        assert work.next_id(task) == read_again.next_id(task)


def test_a_document_nobody_else_wrote_is_not_read_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[object] = []
    load = Spec.load

    def noted(*args: Any, **options: Any) -> Spec:
        read.append(args)
        return load(*args, **options)

    monkeypatch.setattr(Spec, "load", noted)
    work = open_spec_files(path)
    read.clear()
    for task in work.spec.tasks:
        work.passed(task)

    # Once, because what is on disk may be another document than the one that was handed over.
    assert len(read) == 1
    assert all(task.checked for task in work.spec.tasks)
    assert work.state.number("taskIndex") == 5


def test_what_somebody_else_wrote_is_read_and_kept(path: Path) -> None:
    work = open_spec_files(path)
    work.passed(work.spec["1.1"])
    path.write_text("A note.\n\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    work.passed(work.spec["1.2"])

    assert path.read_text(encoding="utf-8").startswith("A note.\n\n# Tasks")
    assert [task.id for task in Spec.load(path).tasks if task.checked] == ["1.1", "1.2"]


def test_a_task_that_is_gone_is_not_ticked_in_the_place_of_another(path: Path) -> None:
    work = open_spec_files(path)
    gone = work.spec["1.1"]
    path.write_text(
        TASKS.replace("- [ ] 1.1 Täsk 1 — ok\n  - **Verify**: `true`\n\n", ""), encoding="utf-8"
    )
    work.passed(gone)

    assert not any(task.checked for task in Spec.load(path).tasks)


def test_a_fix_that_waits_is_used_again_and_one_that_was_carried_out_is_not(path: Path) -> None:
    work = open_spec_files(path)
    task = work.spec["1.2"]
    assert work.use_open_fix(task) is None
    fix = work.insert_fix(task, work.next_id(task), fix_block("1.2.1", "1.2"), "broken")
    assert work.use_open_fix(task) == fix
    assert work.fixes_of(task) == ()

    work.executed(fix)
    assert work.use_open_fix(task) is None
    assert work.fixes_of(task) == ("1.2.1",)
    assert work.next_id(task) == "1.2.2"


def test_an_open_fix_of_an_earlier_run_counts_once_it_is_used(path: Path) -> None:
    first = open_spec_files(path)
    task = first.spec["1.2"]
    for number in (1, 2):
        fix = first.insert_fix(task, f"1.2.{number}", fix_block(f"1.2.{number}", "1.2"), "broken")
    first.executed(fix)
    first.gave_up(task, "max limit")

    second = open_spec_files(path)
    assert second.state.fixes_attempted("1.2") == 0
    used = second.use_open_fix(task)
    assert used is not None
    assert used.id == "1.2.1"
    second.executed(used)
    assert second.fixes_of(task) == ("1.2.1",)
    assert second.next_id(task) == "1.2.3"


def test_parts_are_no_fixes(path: Path) -> None:
    work = open_spec_files(path)
    task = work.spec["1.2"]
    (part,) = work.insert_parts(task, {"1.2.1": "- [ ] 1.2.1 [SPLIT 1.2] One\n  - **Do**: one"})
    assert work.use_open_fix(task) is None
    assert work.open_parts(task) == (part,)
    work.executed(part)
    assert work.open_parts(task) == ()
    assert work.parts_of(task) == (part,)
    assert work.state.fix_ids("1.2") == ()
    assert work.next_id(task) == "1.2.2"

    work.passed(task)
    assert [one.id for one in Spec.load(path).tasks if one.checked] == ["1.2", "1.2.1"]


def test_a_part_that_is_done_does_not_make_the_fix_it_is_a_part_of_done(path: Path) -> None:
    work = open_spec_files(path)
    task = work.spec["1.2"]
    fix = work.insert_fix(task, "1.2.1", fix_block("1.2.1", "1.2"), "broken")
    parts = work.insert_parts(
        fix,
        {f"1.2.1.{n}": f"- [ ] 1.2.1.{n} [SPLIT 1.2.1] Part {n}\n  - **Do**: it" for n in (1, 2)},
    )

    work.executed(parts[0])

    assert [one.id for one in work.open_parts(fix)] == ["1.2.1.2"]
    assert work.use_open_fix(task) == fix


def test_a_fix_of_a_fix_that_was_carried_out_ends_both(path: Path) -> None:
    work = open_spec_files(path)
    task = work.spec["1.2"]
    fix = work.insert_fix(task, "1.2.1", fix_block("1.2.1", "1.2"), "broken")
    deeper = work.insert_fix(fix, "1.2.1.1", fix_block("1.2.1.1", "1.2.1"), "broken too")

    work.executed(deeper)

    assert work.use_open_fix(fix) is None
    assert work.use_open_fix(task) is None


def test_a_fix_with_a_verify_of_its_own_is_not_checked_off_with_its_original(path: Path) -> None:
    work = open_spec_files(path)
    task = work.spec["1.2"]
    work.insert_fix(
        task, "1.2.1", "- [ ] 1.2.1 [FIX 1.2] Fix: it\n  - **Verify**: `test -e other`", "broken"
    )
    work.passed(task)

    assert not Spec.load(path)["1.2.1"].checked


def test_the_total_of_the_front_matter_is_counted_on(path: Path) -> None:
    path.write_text(f"---\ntotal_tasks: 5\n---\n{TASKS}", encoding="utf-8")
    work = open_spec_files(path)
    work.insert_fix(work.spec["1.2"], "1.2.1", fix_block("1.2.1", "1.2"), "broken")

    assert path.read_text(encoding="utf-8").startswith("---\ntotal_tasks: 6\n---\n")
    assert json.loads((path.parent / ".ralph-state.json").read_text())["totalTasks"] == 6


def test_a_file_that_cannot_be_written_is_named_in_one_line(path: Path) -> None:
    work = open_spec_files(path)
    path.parent.rename(path.parent.parent / "elsewhere")

    with pytest.raises(
        SpecFilesError, match=r"^demo: tasks\.md cannot be read or written: No such file"
    ):
        work.passed(work.spec["1.1"])


def test_attempts_are_numbered_by_the_fixes_before_them(path: Path) -> None:
    work = open_spec_files(path)
    task = work.spec["1.2"]
    failure = Failure(kind="test_failure", error="no")
    work.attempt_failed(task, failure)
    fix = work.insert_fix(task, "1.2.1", fix_block("1.2.1", "1.2"), "no")
    # A run that is cut off here makes the same attempt again.
    work.attempt_failed(task, failure)
    assert work.state.data["taskResults"]["1.2"]["attempt"] == 1
    work.executed(fix)
    work.attempt_failed(task, failure)
    assert work.state.data["taskResults"]["1.2"]["attempt"] == 2


@pytest.fixture
def at_step() -> Iterator[dict[str, Callable[[], object]]]:
    """Functions to call, once each, when a write reaches the step of that name."""
    actions: dict[str, Callable[[], object]] = {}

    def act(name: str) -> None:
        actions.pop(name, lambda: None)()

    disk.on_fault_point = act
    yield actions
    disk.on_fault_point = None


def test_an_edit_saved_during_a_tick_is_kept(
    path: Path, at_step: dict[str, Callable[[], object]]
) -> None:
    work = open_spec_files(path)

    def save_a_note() -> None:
        source = path.read_text(encoding="utf-8")
        path.write_text(source.replace("# Tasks", "# Tasks\n\nA note."), encoding="utf-8")

    at_step["after write tasks.md"] = save_a_note
    work.passed(work.spec["1.1"])
    work.passed(work.spec["1.2"])

    assert "A note." in path.read_text(encoding="utf-8")
    assert [task.id for task in Spec.load(path).tasks if task.checked] == ["1.1", "1.2"]


def test_an_edit_saved_right_behind_a_tick_is_kept(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signature of the file that is read after the tick is already that of the edit."""
    work = open_spec_files(path)
    pwrite = os.pwrite

    def save_a_note(descriptor: int, data: bytes, offset: int) -> int:
        written = pwrite(descriptor, data, offset)
        with path.open("a", encoding="utf-8") as file:
            file.write("A note.\n")
        return written

    monkeypatch.setattr(os, "pwrite", save_a_note)
    work.passed(work.spec["1.1"])
    work.insert_fix(work.spec["1.2"], "1.2.1", fix_block("1.2.1", "1.2"), "broken")

    assert path.read_text(encoding="utf-8").endswith("A note.\n")
    assert Spec.load(path)["1.2.1"].fix_for == "1.2"


def test_a_file_replaced_during_a_tick_is_ticked(
    path: Path, at_step: dict[str, Callable[[], object]]
) -> None:
    work = open_spec_files(path)

    def replace_the_file() -> None:
        other = path.with_name("other")
        other.write_text(f"{TASKS}\nA note.\n", encoding="utf-8")
        other.replace(path)

    at_step["after write tasks.md"] = replace_the_file
    work.passed(work.spec["1.1"])

    assert path.read_text(encoding="utf-8").endswith("A note.\n")
    assert Spec.load(path)["1.1"].checked


def test_no_fix_is_inserted_for_a_removed_task(path: Path) -> None:
    work = open_spec_files(path)
    task = work.spec["1.2"]
    source = TASKS.replace("- [ ] 1.2 Täsk 2 — ok\n  - **Verify**: `true`\n", "")
    path.write_text(source, encoding="utf-8")

    with pytest.raises(SpecFilesError, match=r"^demo/tasks\.md: task 1\.2 was removed"):
        work.insert_fix(task, "1.2.1", fix_block("1.2.1", "1.2"), "broken")
    assert path.read_text(encoding="utf-8") == source


def test_a_fix_that_another_process_removes_at_once(
    path: Path, at_step: dict[str, Callable[[], object]]
) -> None:
    work = open_spec_files(path)
    at_step["between document and state"] = lambda: path.write_text(TASKS, encoding="utf-8")
    fix = work.insert_fix(work.spec["1.2"], "1.2.1", fix_block("1.2.1", "1.2"), "broken")

    assert fix.id == "1.2.1"
    work.executed(fix)
    work.passed(work.spec["1.2"])
    assert Spec.load(path)["1.2"].checked


def test_another_task_with_a_reused_id_is_left_alone(path: Path) -> None:
    path.write_text("- [ ] 1.1 A\n  - **Verify**: `a`\n- [ ] 1.2 B\n  - **Verify**: `b`\n")
    work = open_spec_files(path)
    task = work.spec["1.1"]
    renumbered = "- [ ] 1.1 B\n  - **Verify**: `b`\n"
    path.write_text(renumbered)

    work.passed(task)
    with pytest.raises(SpecFilesError, match="removed or renumbered"):
        work.insert_fix(task, "1.1.1", fix_block("1.1.1", "1.1"), "broken")
    assert path.read_text() == renumbered


def test_a_renumbered_task_is_ticked_by_its_content(path: Path) -> None:
    path.write_text("- [ ] 1.1 A\n  - **Verify**: `a`\n")
    work = open_spec_files(path)
    task = work.spec["1.1"]
    path.write_text("- [ ] 1.1 New\n  - **Verify**: `n`\n- [ ] 1.2 A\n  - **Verify**: `a`\n")

    work.passed(task)

    assert [(task.id, task.checked) for task in Spec.load(path).tasks] == [
        ("1.1", False),
        ("1.2", True),
    ]


def test_a_file_saved_without_pause_is_reported(path: Path) -> None:
    work = open_spec_files(path)
    saves = itertools.count()

    def save(name: str) -> None:
        if name == "before replace tasks.md":
            path.write_text(f"{TASKS}\n{next(saves)}\n", encoding="utf-8")

    disk.on_fault_point = save
    try:
        with pytest.raises(SpecFilesError, match="another process keeps saving the file"):
            work.insert_fix(work.spec["1.2"], "1.2.1", fix_block("1.2.1", "1.2"), "broken")
    finally:
        disk.on_fault_point = None
    assert "1.2.1" not in path.read_text(encoding="utf-8")


def test_foreign_edits_are_told_from_own_ones(path: Path) -> None:
    work = open_spec_files(path)
    before = work.foreign_edits()
    work.insert_fix(work.spec["1.1"], "1.1.1", fix_block("1.1.1", "1.1"), "failed")
    work.passed(work.spec["1.2"])
    assert work.foreign_edits() == before

    path.write_text(path.read_text(encoding="utf-8").replace("`true`", "`false`"), encoding="utf-8")
    after = work.foreign_edits()
    assert after is not None
    assert after != before
    path.unlink()
    assert work.foreign_edits() is None


def test_only_the_document_waits_for_the_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = open_spec_files(path)
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    task = work.spec["1.1"]
    failure = Failure(kind="test_failure", type="VERIFICATION_FAILED", error="failed")
    work.attempt_failed(task, failure)
    fix = work.insert_fix(task, "1.1.1", fix_block("1.1.1", "1.1"), "failed")
    work.executed(fix)
    work.passed(task)
    assert len(synced) == 1


def test_a_commit_has_the_fixes_in_their_order(path: Path) -> None:
    """Also those of an earlier run that was killed before it committed them."""
    in_head = path.read_bytes()
    earlier = open_spec_files(path)
    earlier.insert_fix(earlier.spec["1.1"], "1.1.1", fix_block("1.1.1", "1.1"), "failed")
    work = open_spec_files(path)
    work.insert_fix(work.spec["1.1"], "1.1.2", fix_block("1.1.2", "1.1"), "failed")

    # A person edits the plan meanwhile, which is not committed.
    plan_before = path.read_bytes()
    path.write_bytes(plan_before + b"A remark\n")

    assert work.own_version(in_head) == plan_before


@pytest.mark.parametrize("line", ["A remark", "- A remark", "  - **Note**: a remark"])
def test_a_line_below_a_new_fix_is_not_committed(path: Path, line: str) -> None:
    in_head = path.read_bytes()
    work = open_spec_files(path)
    fix = work.insert_fix(work.spec["1.1"], "1.1.1", fix_block("1.1.1", "1.1"), "failed")
    plan_before = path.read_bytes()
    add_below(path, fix, line)
    assert work.own_version(in_head) == plan_before


@pytest.mark.parametrize("line", ["A remark", "- A remark", "  - A remark"])
def test_a_line_below_an_earlier_fix_is_not_committed(path: Path, line: str) -> None:
    in_head = path.read_bytes()
    earlier = open_spec_files(path)
    fix = earlier.insert_fix(earlier.spec["1.1"], "1.1.1", fix_block("1.1.1", "1.1"), "failed")
    plan_before = path.read_bytes()
    add_below(path, fix, line)
    assert open_spec_files(path).own_version(in_head) == plan_before


def add_below(path: Path, task: Task, line: str) -> None:
    lines = path.read_text(encoding="utf-8").split("\n")
    lines.insert(task.end_line, line)
    path.write_text("\n".join(lines), encoding="utf-8")
