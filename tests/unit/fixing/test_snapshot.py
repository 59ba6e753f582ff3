"""Snapshots: what changed between two moments, and putting it back byte for byte."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pytest_ralph.fixing import snapshot
from pytest_ralph.fixing.file_state import Change, put_back
from pytest_ralph.fixing.snapshot import Snapshots
from pytest_ralph.running import project_files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_bytes(b"one\r\ntwo\n")
    (root / "secret").write_text("x")
    (root / "secret").chmod(0o600)
    (root / "link").symlink_to("src/a.py")
    return root


@pytest.fixture
def snapshots(tmp_path: Path, root: Path) -> Snapshots:
    return Snapshots(root, tmp_path / "copies")


def test_added_modified_and_deleted_are_found(root: Path, snapshots: Snapshots) -> None:
    before = snapshots.take()
    (root / "src/a.py").write_bytes(b"one\r\nTWO\n")
    (root / "new/b.py").parent.mkdir()
    (root / "new/b.py").touch()
    (root / "secret").unlink()
    changes = snapshots.changes(before, snapshots.take())
    assert [change.path for change in changes] == ["new/b.py", "secret", "src/a.py"]
    assert [change.added for change in changes] == [True, False, False]
    assert [change.deleted for change in changes] == [False, True, False]


def test_same_content_is_no_change(root: Path, snapshots: Snapshots) -> None:
    before = snapshots.take()
    (root / "src/a.py").write_bytes((root / "src/a.py").read_bytes())
    assert snapshots.changes(before, snapshots.take()) == ()


@pytest.mark.skipif(sys.platform != "linux", reason="open files are looked up in /proc")
def test_logs_of_the_run_are_no_change(root: Path, snapshots: Snapshots) -> None:
    writers = []
    for name, own_session in (("tee.log", False), ("server.log", True)):
        with (root / name).open("w") as log:
            command = ["sleep", "60"]
            writers.append(subprocess.Popen(command, stdout=log, start_new_session=own_session))
    with (root / "out.txt").open("w") as out:
        before = snapshots.take()
        out.write("line\n")
        (root / "tee.log").write_text("line\n")
        (root / "server.log").write_text("line\n")
        out.flush()
        changes = snapshots.changes(before, snapshots.take())
    for writer in writers:
        writer.kill()
        writer.wait()

    assert [change.path for change in changes] == ["server.log"]


def test_waiting_threads_share_one_snapshot(root: Path, tmp_path: Path) -> None:
    listed = 0

    def list_files() -> list[str]:
        nonlocal listed
        listed += 1
        if listed == 1:
            for thread in threads:
                thread.start()
            while not all(is_waiting(thread) for thread in threads):
                time.sleep(0.001)
            (root / "late").write_text("by an executor")
        return ["late", "secret"]

    def is_waiting(thread: threading.Thread) -> bool:
        frame = sys._current_frames().get(thread.ident or 0)
        return frame is not None and "asked" in frame.f_locals

    taken = []
    snapshots = Snapshots(root, tmp_path / "copies", list_files)
    threads = [threading.Thread(target=lambda: taken.append(snapshots.take())) for _ in range(4)]
    snapshots.take()
    for thread in threads:
        thread.join()

    assert listed == 2
    assert all(snapshot.keys() == {"late", "secret"} for snapshot in taken)


def test_restored_times_do_not_hide_a_change(root: Path, snapshots: Snapshots) -> None:
    before = snapshots.take()
    old = (root / "src/a.py").stat()
    (root / "src/a.py").write_bytes(b"ONE\r\ntwo\n")
    os.utime(root / "src/a.py", ns=(old.st_atime_ns, old.st_mtime_ns))
    changes = snapshots.changes(before, snapshots.take())
    assert [change.path for change in changes] == ["src/a.py"]


def test_a_link_comes_back_as_it_was_written(root: Path, snapshots: Snapshots) -> None:
    (root / "link").unlink()
    (root / "link").symlink_to("./src//a.py")
    os.symlink("./src/", root / "directory")  # noqa: PTH211 - a Path would write "src"
    before = snapshots.take()
    (root / "link").unlink()
    (root / "directory").unlink()
    assert put_back(root, snapshots.changes(before, snapshots.take())) == ()
    assert os.readlink(root / "directory") == "./src/"  # noqa: PTH115 - as above


def test_everything_is_put_back(root: Path, snapshots: Snapshots) -> None:
    before = snapshots.take()
    modified = (root / "src/a.py").stat().st_mtime_ns
    (root / "src/a.py").unlink()
    (root / "src").rmdir()
    (root / "secret").write_text("other")
    (root / "secret").chmod(0o644)
    (root / "link").unlink()
    (root / "new").mkdir()
    (root / "new/b.py").touch()

    assert put_back(root, snapshots.changes(before, snapshots.take())) == ()

    assert (root / "src/a.py").read_bytes() == b"one\r\ntwo\n"
    assert (root / "src/a.py").stat().st_mtime_ns == modified
    assert (root / "secret").read_text() == "x"
    assert stat.S_IMODE((root / "secret").stat().st_mode) == 0o600
    assert str((root / "link").readlink()) == "src/a.py"
    assert not (root / "new").exists()


def test_a_file_saved_meanwhile_is_left(root: Path, snapshots: Snapshots) -> None:
    before = snapshots.take()
    (root / "src/a.py").write_bytes(b"by an executor\n")
    (root / "secret").unlink()
    changes = snapshots.changes(before, snapshots.take())
    (root / "src/a.py").write_bytes(b"saved by the user\n")

    assert put_back(root, changes) == ("src/a.py",)
    assert (root / "src/a.py").read_bytes() == b"saved by the user\n"
    assert (root / "secret").read_text() == "x"


def test_changed_mode_is_a_change(root: Path, snapshots: Snapshots) -> None:
    before = snapshots.take()
    (root / "src/a.py").chmod(0o755)
    changes = snapshots.changes(before, snapshots.take())
    assert put_back(root, changes) == ()
    assert not (root / "src/a.py").stat().st_mode & 0o111


def test_unchanged_files_are_copied_once(root: Path, snapshots: Snapshots) -> None:
    snapshots.take()
    copies = len([*snapshots.directory.iterdir()])
    snapshots.take()
    assert len([*snapshots.directory.iterdir()]) == copies == 2


def test_large_files_are_noticed_but_left(
    root: Path, snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "MAX_FILE_SIZE", 4)
    before = snapshots.take()
    (root / "src/a.py").write_bytes(b"another content")
    changes = snapshots.changes(before, snapshots.take())
    assert [change.path for change in changes] == ["src/a.py"]
    assert put_back(root, changes) == ("src/a.py",)
    assert (root / "src/a.py").read_bytes() == b"another content"


def test_small_files_of_a_large_project_are_copied(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "MAX_TOTAL_SIZE", 1000)
    (root / "data").write_bytes(b"x" * 995)
    snapshots = Snapshots(root, tmp_path / "copies", lambda: ["data", "src/a.py"])
    before = snapshots.take()
    for path in ("data", "src/a.py"):
        (root / path).write_bytes(b"y" * 400)
    changes = snapshots.changes(before, snapshots.take())

    assert put_back(root, changes) == ("data",)
    assert (root / "src/a.py").read_bytes() == b"one\r\ntwo\n"
    # There is room left for what changes later.
    assert all(change.after and change.after.can_be_put_back for change in changes)


def test_nothing_is_written_through_a_link(
    root: Path, snapshots: Snapshots, tmp_path: Path
) -> None:
    before = snapshots.take()
    (root / "src/a.py").unlink()
    (root / "src").rmdir()
    (tmp_path / "elsewhere").mkdir()
    (root / "src").symlink_to(tmp_path / "elsewhere")
    changes = snapshots.changes(before, snapshots.take())
    assert "src/a.py" in put_back(root, [change for change in changes if change.before])
    assert [*(tmp_path / "elsewhere").iterdir()] == []


def test_directory_that_became_a_link_comes_back(root: Path, tmp_path: Path) -> None:
    # As git lists them: a tracked file, also below a link.
    snapshots = Snapshots(root, tmp_path / "copies", lambda: ["src", "src/a.py"])
    before = snapshots.take()
    (root / "src").rename(tmp_path / "elsewhere")
    (tmp_path / "elsewhere/a.py").write_text("of somebody else")
    (root / "src").symlink_to(tmp_path / "elsewhere")
    changes = snapshots.changes(before, snapshots.take())

    assert [(change.path, change.deleted) for change in changes] == [
        ("src", False),
        ("src/a.py", True),
    ]
    assert put_back(root, changes) == ()
    assert (root / "src/a.py").read_bytes() == b"one\r\ntwo\n"
    assert not (root / "src").is_symlink()
    redo = [Change(change.path, change.after, change.before) for change in changes]
    assert put_back(root, redo) == ()
    assert (root / "src").is_symlink()
    assert (tmp_path / "elsewhere/a.py").read_text() == "of somebody else"


def test_removed_copies_are_made_again(root: Path, snapshots: Snapshots) -> None:
    (root / "a.txt").write_text("old")
    before = snapshots.take()
    shutil.rmtree(snapshots.directory)
    (root / "a.txt").write_text("newer")

    after = snapshots.take()
    assert [change.path for change in snapshots.changes(before, after)] == ["a.txt"]
    assert Path(after["a.txt"].copy).read_text() == "newer"
    assert snapshots.losses == 1


def test_only_kept_copies_outlive_the_run(root: Path, snapshots: Snapshots) -> None:
    before = snapshots.take()
    (root / "secret").write_text("other")
    changes = snapshots.changes(before, snapshots.take())
    snapshots.keep(changes)
    snapshots.close()
    # The changed file before and after; not those of other files.
    assert len([*snapshots.directory.iterdir()]) == 2
    assert put_back(root, changes) == ()
    assert (root / "secret").read_text() == "x"


def test_own_file_is_not_copied(root: Path, snapshots: Snapshots) -> None:
    plan = root / "tasks.md"
    plan.write_text("one\n")
    before = snapshots.take(own="tasks.md")
    plan.write_text("two\n")
    after = snapshots.take(own="tasks.md")
    assert [one.path for one in snapshots.changes(before, after)] == ["tasks.md"]
    assert before["tasks.md"].copy == after["tasks.md"].copy == ""

    # For another spec it is a file like any other.
    before = snapshots.take()
    plan.unlink()
    assert put_back(root, snapshots.changes(before, snapshots.take())) == ()
    assert plan.read_text() == "two\n"


def test_no_file_comes_or_goes_with_the_limit_on_files(
    root: Path, snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        (root / f"{number}.txt").write_text("x")
        os.utime(root / f"{number}.txt", (0, 0))
    time.sleep(0.05)
    monkeypatch.setattr(project_files, "MAX_FILES", 4)
    first = snapshots.take()
    (root / "1.txt").unlink()
    second = snapshots.take()
    (root / "00.txt").write_text("new")
    third = snapshots.take()

    assert [change.path for change in snapshots.changes(first, second)] == ["1.txt"]
    assert [change.path for change in snapshots.changes(second, third)] == ["00.txt"]
