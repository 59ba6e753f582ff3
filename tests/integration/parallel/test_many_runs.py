"""Many runs at once: one works on a spec, the others name it; other specs are undisturbed."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.files import LOCKS_NAME, lasting_directory
from pytest_ralph.session.locks import SpecLocked, SpecLocks
from tests.integration.blocks import spec, task
from tests.integration.processes import start, wait_for

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import SpecMaker

EIGHT = range(1, 9)


def test_of_eight_runs_on_one_spec_one_works_and_the_others_name_it(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    """The one that works goes on until it has seen all the others end."""
    last = "until [ $(ls refused.* 2>/dev/null | wc -l) -eq 7 ]; do sleep 0.05; done"
    path = make_spec(spec(task("1.1 A", "echo ran >> ran.txt"), task("1.2 B", last)))
    runs = [start(pytester.path, "--ralph-recovery", "-q", "specs") for _ in EIGHT]
    ended: dict[int, tuple[int, str]] = {}
    while len(ended) < 8:
        for run in runs:
            if run.pid not in ended and run.poll() is not None:
                ended[run.pid] = run.returncode, run.communicate()[0]
                (pytester.path / f"refused.{run.pid}").touch()
        time.sleep(0.02)

    (worker,) = (pid for pid, (code, _) in ended.items() if code == 0)
    for pid, (code, output) in ended.items():
        if pid != worker:
            assert code == 4
            wanted = (
                r"ERROR: specs/demo/tasks\.md is being worked on by another run "
                rf"\(pid {worker}, since [\d:]+\)"
            )
            assert re.search(wanted, output), output
            assert "Traceback" not in output
    assert (pytester.path / "ran.txt").read_text() == "ran\n"
    assert path.read_text().count("- [x]") == 2


def test_runs_on_different_specs_share_one_history_and_one_repository(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    for n in EIGHT:
        tasks = (task(f"1.{m} T", f"grep -q ok s{n}.{m}", files=f"`s{n}.{m}`") for m in (1, 2))
        make_spec(spec(*tasks), name=f"s{n}")
    (pytester.path / "fix.sh").write_text(
        "for m in 1 2; do echo ok > $(basename $RALPH_SPEC_PATH).$m; done\n"
    )
    for command in (
        "init -q",
        "config user.name T",
        "config user.email t@example.com",
        "add -A",
        "commit -qm start",
    ):
        subprocess.run(["git", *command.split()], cwd=pytester.path, check=True)
    arguments = ("--ralph-recovery", "--ralph-executor=sh fix.sh", "--ralph-commit=auto", "-q")

    runs = [start(pytester.path, *arguments, f"specs/s{n}") for n in EIGHT]
    outputs = [run.communicate(timeout=120)[0] for run in runs]

    assert [run.returncode for run in runs] == [0] * 8, outputs
    with sqlite3.connect(pytester.path / ".ralph/history.db") as history:
        verified = history.execute("select count(*) from attempts where what = 'verify'").fetchone()
    history.close()
    assert verified == (8 * 3,)
    for n in EIGHT:
        assert (pytester.path / f"specs/s{n}/tasks.md").read_text().count("- [x]") == 3
    log = subprocess.run(
        ["git", "log", "--format=%s"], cwd=pytester.path, capture_output=True, text=True, check=True
    )
    assert len(log.stdout.splitlines()) >= 1 + 8
    subprocess.run(["git", "fsck", "--strict"], cwd=pytester.path, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("has_git", "remove"), [(True, "git clean -fdxq"), (False, "rm -rf .ralph")]
)
def test_a_run_keeps_others_out_whatever_its_executor_removes(
    pytester: pytest.Pytester, make_spec: SpecMaker, has_git: bool, remove: str
) -> None:
    make_spec(spec(task("1.1 A", "test -e end")))
    for command in ("init -q", "add -A") if has_git else ():
        subprocess.run(["git", *command.split()], cwd=pytester.path, check=True)
    executor = f"{remove}; touch begun; until test -e end; do sleep 0.05; done"
    first = start(pytester.path, "--ralph-recovery", f"--ralph-executor={executor}")
    wait_for((pytester.path / "begun").exists)

    second = start(pytester.path, "--ralph-recovery", "--ralph-executor=touch end")
    refused, _ = second.communicate(timeout=90)
    (pytester.path / "end").touch()
    output, _ = first.communicate(timeout=90)

    assert second.returncode == 4, refused
    reason = "another run is at work in the directory of specs/demo/tasks.md"
    if has_git:
        reason = f"specs/demo/tasks.md is being worked on by another run (pid {first.pid}, "
    assert reason in refused
    assert first.returncode == 0, output


def test_a_run_with_another_root_directory_is_kept_out(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    wait = "touch ../../begun; until test -e ../../end; do sleep 0.05; done"
    make_spec(spec(task("1.1 A", wait)))
    subprocess.run(["git", "init", "-q"], cwd=pytester.path, check=True)
    directory = pytester.path / "specs/demo"
    first = start(directory, "--rootdir=.", "--ralph-recovery", ".")
    wait_for((pytester.path / "begun").exists)

    second = start(pytester.path, "--ralph-recovery", "specs")
    refused, _ = second.communicate(timeout=90)
    (pytester.path / "end").touch()
    output, _ = first.communicate(timeout=90)

    assert second.returncode == 4, refused
    assert "another run is at work in the directory of specs/demo/tasks.md" in refused
    assert first.returncode == 0, output


@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_a_spec_outside_the_root_directory_is_locked(
    pytester: pytest.Pytester, make_spec: SpecMaker, workers: tuple[str, ...]
) -> None:
    if workers:
        pytest.importorskip("xdist")
    path = make_spec(spec(task("1.1 A", "true")))
    root = pytester.mkdir("root")
    locks = SpecLocks(lasting_directory(root, LOCKS_NAME))
    locks.take(path, "tasks.md")

    run = start(root, "--rootdir=.", "--ralph", *workers, "../specs")
    refused, _ = run.communicate(timeout=90)
    locks.release()

    assert run.returncode == 4, refused
    assert f"{path} is being worked on by another run (pid {os.getpid()}, " in refused


def test_specs_outside_the_root_directory_have_node_ids_of_their_own(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    paths = [make_spec(spec(task("1.1 A", "true")), name=name) for name in ("a", "b")]
    root = pytester.mkdir("root")
    run = start(root, "--rootdir=.", "--ralph", "--collect-only", "-q", *map(str, paths))
    output, _ = run.communicate(timeout=90)

    for path in paths:
        assert f"{path}::1.1" in output


def test_specs_in_one_directory_are_locked_at_once(tmp_path: Path) -> None:
    locks = SpecLocks(tmp_path / "locks")
    for name in ("a.md", "b.md"):
        locks.take(tmp_path / name, name)
    shutil.rmtree(tmp_path / "locks")

    other = SpecLocks(tmp_path / "locks")
    with pytest.raises(SpecLocked, match=r"at work in the directory of b\.md"):
        other.take(tmp_path / "b.md", "b.md")
    locks.release()
    other.take(tmp_path / "b.md", "b.md")
    other.release()


HOLDER = """
import sys, time
from pathlib import Path
from pytest_ralph.files import FileLock
from pytest_ralph.session import locks
lock = FileLock(Path(sys.argv[1]))
lock.acquire()
print("held", flush=True)
time.sleep(0.5)
holder = {"pid": locks.os.getpid(), "host": locks.platform.node(), "since": 0}
locks.write_atomically(Path(sys.argv[2]), locks.json.dumps(holder))
time.sleep(60)
"""


def test_a_holder_slow_to_say_so_is_still_named_and_a_dead_one_never(tmp_path: Path) -> None:
    path = tmp_path / "tasks.md"
    earlier = SpecLocks(tmp_path / "locks")
    earlier.take(path, "tasks.md")
    (lock,) = (tmp_path / "locks").glob("*.lock")
    said = lock.with_suffix(".json").read_text()
    earlier.release()
    assert not lock.with_suffix(".json").exists()
    # What a run leaves that was killed: a process id which nobody has.
    lock.with_suffix(".json").write_text(said.replace(str(os.getpid()), "4194305"))

    command = [sys.executable, "-c", HOLDER, str(lock), str(lock.with_suffix(".json"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(SpecLocked, match=rf"\(pid {holder.pid}, since "):
            SpecLocks(tmp_path / "locks").take(path, "tasks.md")
        holder.kill()
