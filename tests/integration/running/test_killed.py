"""SIGKILL of pytest ends the commands and executors that it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.integration.processes import left_in, start, wait_for

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import SpecMaker

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX only")

WAYS = {
    "plain": "echo $$ > pid; exec sleep 600",
    "session": "setsid sh -c 'echo $$ > pid; exec sleep 600' & wait",
    "no environment": "env -i PATH=$PATH setsid sh -c 'echo $$ > pid; exec sleep 600' & wait",
}


def _is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize("way", WAYS)
def test_killed_pytest_ends_its_executor(
    pytester: pytest.Pytester, make_spec: SpecMaker, way: str
) -> None:
    if way == "no environment" and sys.platform != "linux":
        pytest.skip("only Linux has a mark that survives")
    make_spec(t1_1="test -e missing")
    (pytester.path / "agent.sh").write_text(WAYS[way])
    process = start(pytester.path, "--ralph-recovery", "--ralph-executor", "sh agent.sh")

    _kill_when_started(process.pid, pytester.path / "pid")
    process.communicate(timeout=60)

    pid = int((pytester.path / "pid").read_text())
    wait_for(lambda: _is_gone(pid))


def test_killed_pytest_ends_its_command(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    make_spec(t1_1=WAYS["plain"])
    process = start(pytester.path, "--ralph")

    _kill_when_started(process.pid, pytester.path / "pid")
    process.communicate(timeout=60)

    pid = int((pytester.path / "pid").read_text())
    wait_for(lambda: _is_gone(pid))


def test_the_next_run_ends_what_a_killed_one_left(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    """Its watcher is killed, too."""
    plan = make_spec(t1_1="echo $$ > pid; exec sleep 600")
    process = start(pytester.path, "--ralph")
    _, pid = _worker_when_started(pytester.path / "pid")
    for child in psutil.Process(process.pid).children():
        if child.pid != pid:
            child.kill()
    process.kill()
    process.communicate(timeout=60)
    plan.write_text("# Tasks\n\n- [ ] 1.1\n  - **Verify**: `true`\n")
    assert not _is_gone(pid)

    start(pytester.path, "--ralph").communicate(timeout=60)

    wait_for(lambda: _is_gone(pid))


@pytest.mark.slow
def test_killed_controller_ends_executors(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    pytest.importorskip("xdist")
    make_spec(t1_1="test -e missing")
    (pytester.path / "agent.sh").write_text(WAYS["session"])
    process = start(pytester.path, "--ralph-recovery", "--ralph-executor", "sh agent.sh", "-n1")

    _kill_when_started(process.pid, pytester.path / "pid")
    process.communicate(timeout=60)

    pid = int((pytester.path / "pid").read_text())
    wait_for(lambda: _is_gone(pid), timeout=3)


@pytest.mark.slow
def test_killed_controller_ends_workers_and_their_commands(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    pytest.importorskip("xdist")
    make_spec(t1_1="echo $$ > pid; exec sleep 600")
    process = start(pytester.path, "--ralph", "-n1")
    worker, command = _worker_when_started(pytester.path / "pid")

    process.kill()

    # pytest-xdist itself would let them go on for five seconds.
    wait_for(lambda: _is_gone(worker) and _is_gone(command), timeout=3)
    process.communicate(timeout=60)

    runs = pytester.path / ".ralph/runs"
    assert len(list(runs.iterdir())) == 1
    start(pytester.path, "--ralph", "--ralph-timeout=1").communicate(timeout=60)
    assert list(runs.iterdir()) == []


@pytest.mark.slow
def test_the_next_run_waits_for_workers_of_a_killed_one(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    pytest.importorskip("xdist")
    make_spec(t1_1="echo $$ > pid; exec sleep 600")
    killed = start(pytester.path, "--ralph", "-n1")
    worker, _ = _worker_when_started(pytester.path / "pid")
    # It cannot look for its controller now.
    os.kill(worker, signal.SIGSTOP)
    killed.kill()

    refused = start(pytester.path, "--ralph")
    output, _ = refused.communicate(timeout=60)
    assert refused.returncode == 4
    assert "still being worked on by workers of a run that was killed" in output

    os.kill(worker, signal.SIGKILL)
    killed.communicate(timeout=60)
    (pytester.path / "specs/demo/tasks.md").write_text(
        "# Tasks\n\n- [ ] 1.1\n  - **Verify**: `true`\n"
    )
    going_on = start(pytester.path, "--ralph")
    output, _ = going_on.communicate(timeout=60)
    assert going_on.returncode == 0, output


HOOK = """\
#!/bin/sh
echo $$ > pid
trap 'touch interrupted; exit 1' INT
sleep 600 & wait
"""


def test_killed_pytest_ends_a_commit_and_its_hook(
    pytester: pytest.Pytester, make_spec: SpecMaker
) -> None:
    """git would go on without its index, which the next run removes, and commit no file."""
    make_spec("- [ ] 1.1 A\n  - **Verify**: `test -e new`\n  - **Files**: new\n  - **Commit**: new")
    for words in ("init -q --template=", "config user.name A", "config user.email a@b", "add -A"):
        subprocess.run(["git", *words.split()], cwd=pytester.path, check=True)
    subprocess.run(["git", "commit", "-qm", "begin"], cwd=pytester.path, check=True)
    hook = pytester.path / ".git/hooks/pre-commit"
    hook.parent.mkdir()
    hook.write_text(HOOK)
    hook.chmod(0o755)
    recovery = ("--ralph-recovery", "--ralph-executor=touch new", "--ralph-commit=auto")
    process = start(pytester.path, *recovery)

    _kill_when_started(process.pid, pytester.path / "pid")
    process.communicate(timeout=60)

    wait_for(lambda: not left_in(pytester.path), timeout=10)
    assert (pytester.path / "interrupted").exists()
    assert list(pytester.path.glob(".git/ralph-*"))
    hook.unlink()
    going_on = start(pytester.path, *recovery)
    output, _ = going_on.communicate(timeout=60)
    assert going_on.returncode == 0, output
    assert not list(pytester.path.glob(".git/ralph-*"))
    log = ["git", "log", "--format=%s", "--name-status", "--no-renames", "--", "new"]
    shown = subprocess.run(log, cwd=pytester.path, check=True, capture_output=True)
    assert shown.stdout.decode().split() == ["new", "A", "new"]
    assert not subprocess.run(
        ["git", "log", "--diff-filter=D", "--format=%s"],
        cwd=pytester.path,
        check=True,
        capture_output=True,
    ).stdout


def _worker_when_started(file: Path) -> tuple[int, int]:
    """Return the process ids of a worker and of its command, which has written `file`."""
    wait_for(lambda: file.exists() and file.read_text().strip())
    command = int(file.read_text())
    worker = psutil.Process(command).ppid()
    return worker, command


def _kill_when_started(pid: int, file: Path) -> None:
    wait_for(lambda: file.exists() and file.read_text().strip())
    os.kill(pid, signal.SIGKILL)
