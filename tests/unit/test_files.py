"""Files written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ralph import files as disk
from pytest_ralph.files import FileLock
from pytest_ralph.fixing.file_state import Change, FileState, put_back, state_of

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("data", "stored"),
    [
        (b"bytes\xff", b"bytes\xff"),
        ("text é\r\n", "text é\r\n".encode()),
        ("not utf-8: \udcff", b"not utf-8: \xff"),
        ("", b""),
    ],
)
def test_what_is_written_is_there_byte_for_byte(
    tmp_path: Path, data: bytes | str, stored: bytes
) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    disk.write_atomically(path, data)
    assert path.read_bytes() == stored
    assert list(tmp_path.iterdir()) == [path]


def test_permissions_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o640)
    disk.write_atomically(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="only root can give a file away"
)
def test_a_file_of_somebody_else_stays_theirs(tmp_path: Path) -> None:
    """In a container, root often works on the files of the user outside."""
    path = tmp_path / "file"
    path.write_text("old")
    os.chown(path, 1234, 5678)
    disk.write_atomically(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 5678)

    after = state_of(path)
    (tmp_path / "copy").write_text("old")
    assert after is not None
    before = after._replace(size=3, copy=str(tmp_path / "copy"))
    assert put_back(tmp_path, [Change("file", before, after)]) == ()
    assert path.read_text() == "old"
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 5678)


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    disk.write_atomically(tmp_path / "new", "x")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    disk.write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_cut_off_at_any_step_the_file_is_the_old_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    steps: list[str] = []
    monkeypatch.setattr(disk, "on_fault_point", steps.append)
    disk.write_atomically(path, "old")
    assert steps == ["before write file", "before replace file", "after write file"]
    for wanted, content in zip(steps, ["old", "old", "new"], strict=True):

        def cut_off(name: str, wanted: str = wanted) -> None:
            if name == wanted:
                raise KeyboardInterrupt

        path.write_text("old")
        monkeypatch.setattr(disk, "on_fault_point", cut_off)
        with pytest.raises(KeyboardInterrupt):
            disk.write_atomically(path, "new")
        assert path.read_text() == content
        assert list(tmp_path.iterdir()) == [path]


def test_where_it_cannot_be_written_the_old_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        disk.write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_run_left_beside_the_file_is_swept_away(tmp_path: Path) -> None:
    dead = subprocess.run(
        ["sh", "-c", "echo $$"], capture_output=True, text=True, check=True
    ).stdout.strip()
    left = tmp_path / f".file.{dead}-0a1b2c.tmp"
    others = [
        tmp_path / f".file.{os.getpid()}-0a1b2c.tmp",
        tmp_path / f".other.{dead}-0a1b2c.tmp",
        tmp_path / ".file.tmp",
    ]
    for path in (left, *others):
        path.write_text("half")
    disk.write_atomically(tmp_path / "file", "new")
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "file", *others])


def test_an_error_names_the_file_and_not_the_temporary_one(tmp_path: Path) -> None:
    place = tmp_path / "place"
    with (
        pytest.raises(FileNotFoundError) as caught,
        disk.open_directory(tmp_path) as directory,
        disk.replacing(place, directory) as temporary,
    ):
        os.open(temporary, os.O_RDONLY, dir_fd=directory)
    assert caught.value.filename == str(place)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="read from /proc")
def test_a_process_for_which_nobody_waited_is_not_running() -> None:
    with subprocess.Popen(["true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert not disk.is_process_running(ended.pid)
    assert disk.is_process_running(os.getpid())


def test_a_file_that_somebody_wrote_meanwhile_stays_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    seen = disk.file_signature(path)

    def they_save(name: str) -> None:
        if name == "before replace file":
            path.write_text("theirs, longer")

    monkeypatch.setattr(disk, "on_fault_point", they_save)
    assert disk.replace_if_unchanged(path, "ours", seen) is None
    assert path.read_text() == "theirs, longer"
    monkeypatch.setattr(disk, "on_fault_point", None)
    assert disk.replace_if_unchanged(
        path, "ours", disk.file_signature(path)
    ) == disk.file_signature(path)
    assert path.read_text() == "ours"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_was_not_there_is_made_unless_somebody_made_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert disk.file_signature(path) is None
    assert disk.replace_if_unchanged(path, "ours", None)
    assert not disk.replace_if_unchanged(path, "again", None)
    assert path.read_text() == "ours"


def test_a_byte_is_written_only_where_the_whole_line_still_stands(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"ab\n- [ ] 1.1\n- [ ] 1.2\n")
    assert disk.write_at(path, 3, b"- [ ] 1.1", b"- [x] 1.1")
    assert not disk.write_at(path, 3, b"- [ ] 1.1", b"- [x] 1.1")
    assert not disk.write_at(path, 2, b"- [ ] 1.2", b"- [x] 1.2")
    assert path.read_bytes() == b"ab\n- [x] 1.1\n- [ ] 1.2\n"


def test_pipes_and_devices_are_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "zero").symlink_to("/dev/zero")
    for path in (pipe, tmp_path / "zero"):
        with pytest.raises(OSError, match="not a regular file"):
            disk.read_regular(path)
    (tmp_path / "plain").write_bytes(b"content")
    assert disk.read_regular(tmp_path / "plain") == b"content"


def _tick(place: Path) -> None:
    disk.write_at(place, 0, b"- [ ] 1.1", b"- [x] 1.1")


def _save(place: Path) -> None:
    disk.replace_if_unchanged(place, "ours", disk.file_signature(place))


def _put_back(place: Path) -> None:
    before = FileState(stat.S_IFREG | 0o644, 4, 0, 0, 0, copy=str(place.parents[2] / "copy"))
    put_back(place.parents[2], [Change("project/spec/file", before, state_of(place))])


@pytest.mark.parametrize("write", [_tick, _save, _put_back])
@pytest.mark.parametrize("linked", ["file", "spec", "project"])
def test_a_link_put_there_meanwhile_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None], linked: str
) -> None:
    (tmp_path / "copy").write_text("ours")
    place = tmp_path / "project" / "spec" / "file"
    outside = tmp_path / "outside" / "spec" / "file"
    for file in (place, outside):
        file.parent.mkdir(parents=True)
        file.write_text("- [ ] 1.1\n")
    paths = {"file": place, "spec": place.parent, "project": place.parents[1]}
    targets = {"file": outside, "spec": outside.parent, "project": outside.parents[1]}

    def swap(*_: object) -> None:
        monkeypatch.undo()
        paths[linked].rename(tmp_path / "moved")
        paths[linked].symlink_to(targets[linked])

    monkeypatch.setattr(disk, "on_fault_point", swap)
    # Put back has no fault point of its own before it opens the directory.
    monkeypatch.setattr(Path, "is_dir", swap)
    with contextlib.suppress(OSError):
        write(place)

    assert [path.name for path in outside.parent.iterdir()] == ["file"]
    assert outside.read_text() == "- [ ] 1.1\n"


class TestFileLock:
    def test_another_holder_is_waited_for_only_so_long(self, tmp_path: Path) -> None:
        path = tmp_path / "some.lock"
        with FileLock(path), pytest.raises(TimeoutError, match=r"some\.lock"):
            FileLock(path, timeout=0).acquire()
        with FileLock(path, timeout=0):
            pass

    def test_its_holder_can_take_it_again(self, tmp_path: Path) -> None:
        lock = FileLock(tmp_path / "some.lock")
        with lock:
            with lock:
                pass
            with pytest.raises(TimeoutError):
                FileLock(lock.path, timeout=0).acquire()
        with FileLock(lock.path, timeout=0):
            pass

    def test_a_lock_on_a_removed_file_does_not_count(self, tmp_path: Path) -> None:
        lock = FileLock(tmp_path / "some.lock")
        waiting = FileLock(lock.path)
        lock.acquire()
        thread = threading.Thread(target=waiting.acquire, daemon=True)
        thread.start()
        lock.path.unlink()
        lock.release()
        thread.join()
        assert lock.path.exists()
        with pytest.raises(TimeoutError):
            FileLock(lock.path, timeout=0).acquire()
        waiting.release()

    def test_a_link_is_not_followed(self, tmp_path: Path) -> None:
        (tmp_path / "some.lock").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(OSError, match=r"some\.lock"):
            FileLock(tmp_path / "some.lock").acquire()
        assert not (tmp_path / "elsewhere").exists()


def test_a_long_name_of_long_characters(tmp_path: Path) -> None:
    path = tmp_path / ("\u5b57" * 80 + ".md")
    disk.write_atomically(path, "text")
    killed = tmp_path / f".{path.name[:33]}.999999999-abc.tmp"
    killed.touch()
    disk.sweep(path)

    assert path.read_text() == "text"
    assert not killed.exists()


def test_projects_far_below_the_repository_have_directories(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").touch()
    deep = tmp_path / "/".join(["directory"] * 40)
    places = {disk.lasting_directory(deep / name, "backups") for name in ("one", "two")}
    assert len(places) == 2
    for place in places:
        place.mkdir(parents=True)
        assert place.parent == tmp_path / ".git/ralph"


def test_a_refused_directory_leaves_no_descriptor_open(tmp_path: Path) -> None:
    before = len(list(Path("/dev/fd").iterdir()))

    for _ in range(3):
        with pytest.raises(IsADirectoryError):
            disk.read_regular(tmp_path)

    assert len(list(Path("/dev/fd").iterdir())) == before


def test_directories_may_be_created_by_several_at_once(tmp_path: Path) -> None:
    inner = tmp_path / "a/b"
    real = os.mkdir

    def created_by_another_before(path: str, *args: int, **given: int) -> None:
        real(path, *args, **given)
        real(path, *args, **given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "mkdir", created_by_another_before)
        with disk.open_directory(inner, create=True):
            pass

    assert inner.is_dir()
