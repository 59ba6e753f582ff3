"""Nothing that a command started lives on, however it tried and however the command ended."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from pytest_ralph.fixing.git.command import GitCommand
from pytest_ralph.running import process as process_module
from pytest_ralph.running import spawn, strays
from pytest_ralph.running import watcher as watcher_module
from pytest_ralph.running.strays import LINUX, VARIABLE, Mark, kill_marked, kill_younger, read_ps
from pytest_ralph.running.watcher import Watcher, kill_run

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ralph.running.runner import Runner
    from pytest_ralph.running.spawn import Child

DAEMON = """
import os, sys
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.chdir("/")
os.closerange(0, 64)
os.execve("/bin/sleep", ["sleep", sys.argv[1]], {env})
"""

WAYS = {
    "in the background": "sleep {nap} &",
    "in the background without output": "sleep {nap} >/dev/null 2>&1 &",
    "with nohup": "nohup sleep {nap} >/dev/null 2>&1 &",
    "ignoring signals": "(trap '' TERM INT HUP; sleep {nap}) >/dev/null 2>&1 &",
    "in a group of its own": "set -m; sleep {nap} >/dev/null 2>&1 &",
    "in a session of its own": "setsid sleep {nap} >/dev/null 2>&1 &",
    "in a session of its own, forked twice": (
        "(setsid sh -c 'sleep {nap} & sleep {nap}' >/dev/null 2>&1 &)"
    ),
    "as a daemon": "{python} {daemon} {nap}",
    "as a daemon without environment": "{python} {clean_daemon} {nap}",
    "starting itself again and again": (
        "(setsid sh -c 'while :; do sleep {nap} & sleep 0.01; kill $!; done' &) 2>&-"
    ),
}
ENDS = {
    "pass": "; sleep 0.02; true",
    "failure": "; sleep 0.02; false",
    "timeout": "; sleep {nap}",
    "ctrl-c": "; sleep {nap}",
}


@pytest.fixture
def commands(project: Path, nap: str) -> Callable[[str, str], str]:
    (project / "daemon.py").write_text(DAEMON.format(env="os.environ"))
    (project / "clean.py").write_text(DAEMON.format(env="{}"))

    def command(way: str, end: str) -> str:
        names = {
            "nap": nap,
            "python": sys.executable,
            "daemon": "daemon.py",
            "clean_daemon": "clean.py",
        }
        return f"{WAYS[way].format(**names)}\n{ENDS[end].format(**names).removeprefix('; ')}"

    return command


@pytest.mark.skipif(not LINUX, reason="what leaves the group is only found at once on Linux")
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("way", WAYS)
def test_nothing_lives_on(
    runner: Runner,
    commands: Callable[[str, str], str],
    all_gone: Callable[[], bool],
    way: str,
    end: str,
) -> None:
    if end == "ctrl-c":
        threading.Timer(0.15, runner.stop).start()
    ended = runner.run(commands(way, end), timeout=0.15 if end == "timeout" else 30)
    assert (ended.timed_out, ended.interrupted) == (end == "timeout", end == "ctrl-c")
    assert all_gone()


def test_commands_beside_it_are_left_alone(runner: Runner, nap: str) -> None:
    slow: list[int | None] = []
    thread = threading.Thread(
        target=lambda: slow.append(
            runner.run("setsid sleep 0.6 & wait; exit 5", timeout=20).exit_code
        )
    )
    thread.start()
    time.sleep(0.1)
    for _ in range(5):
        runner.run(f"setsid sleep {nap} >/dev/null 2>&1 &", timeout=20)
        runner.run("sleep 5", timeout=0.05)
    thread.join()
    assert slow == [5]


@pytest.mark.skipif(not LINUX, reason="limits are only inherited on Linux")
def test_git_of_another_thread_is_not_marked(project: Path) -> None:
    mark = Mark(5, 3)
    git = GitCommand.at(project)
    with ThreadPoolExecutor(1) as pool:
        with mark.inherited():
            limits = pool.submit(git.run, "-c", "alias.limits=!cat /proc/self/limits", "limits")
            # Long enough for git to start if it did not wait.
            time.sleep(0.1)
        assert str(mark.limit) not in limits.result().stdout


@pytest.fixture
def watcher_starts(monkeypatch: pytest.MonkeyPatch) -> list[Child]:
    """Have every second start of a watcher succeed, and return the processes."""
    children: list[Child] = []
    tries: list[object] = []

    def spawn_second(*arguments: Any) -> Child:
        tries.append(arguments)
        if len(tries) % 2:
            raise BlockingIOError("no process left")
        children.append(spawn.spawn(*arguments))
        return children[-1]

    monkeypatch.setattr(watcher_module, "spawn", spawn_second)
    return children


def test_a_watcher_that_could_not_be_started_is_tried_again(watcher_starts: list[Child]) -> None:
    watcher = Watcher(5)
    for expected in (0, 1, 1):
        watcher.start()
        assert len(watcher_starts) == expected
    watcher.close()


@pytest.mark.skipif(not LINUX, reason="limits are only inherited on Linux")
def test_a_watcher_does_not_carry_the_mark_of_a_command(watcher_starts: list[Child]) -> None:
    mark = Mark(5, 3)
    watcher = Watcher(5)
    watcher.start()
    with ThreadPoolExecutor(1) as pool:
        with mark.inherited():
            started = pool.submit(watcher.start)
            # Long enough for it to start if it did not wait.
            time.sleep(0.1)
        started.result()
    assert not mark.is_on(watcher_starts[0].pid)
    watcher.close()


@pytest.mark.skipif(not LINUX, reason="limits are only inherited on Linux")
def test_a_command_is_marked_from_its_first_moment(
    runner: Runner, all_gone: Callable[[], bool], nap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under load, its first children run before pytest is scheduled again."""
    start = spawn.spawn

    def slow_spawn(*arguments: Any) -> Child:
        child = start(*arguments)
        time.sleep(0.3)
        return child

    monkeypatch.setattr(process_module, "spawn", slow_spawn)
    runner.run(f"env -i setsid sleep {nap} >/dev/null 2>&1 & sleep 0.1", timeout=20, keep=True)
    kill_run(runner.mark.run)
    assert all_gone()


@pytest.mark.skipif(not LINUX, reason="limits are only read on Linux")
def test_pytest_itself_carries_no_mark_between_commands(runner: Runner) -> None:
    runner.run("true; true", timeout=20)
    assert not runner.mark.is_on(os.getpid(), whole_run=True)


@pytest.mark.skipif(not LINUX, reason="what cleared its environment is only found on Linux")
def test_after_a_timeout_all_is_found_even_if_ids_ran_round(
    runner: Runner,
    commands: Callable[[str, str], str],
    all_gone: Callable[[], bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(strays, "last_pid", lambda: None)
    assert runner.run(commands("as a daemon", "timeout"), timeout=0.3).timed_out
    assert all_gone()


def test_processes_of_others_are_left_alone(runner: Runner, nap: str) -> None:
    others: list[psutil.Popen] = []

    def start(_: str = "") -> None:
        others.append(psutil.Popen(["sleep", nap], start_new_session=True))

    start()
    runner.run("echo x; sleep 0.6; setsid true", timeout=20, on_output=start)
    runner.run(f"setsid sleep {nap} >/dev/null 2>&1 & sleep 60", timeout=0.2)
    runner.close()
    assert [other.poll() for other in others] == [None, None]
    for other in others:
        other.kill()
        other.wait()


class TestWhatIsKept:
    Find = Callable[[], list[psutil.Process]]

    def test_lives_until_it_is_released(
        self, runner: Runner, nap: str, sleepers: Find, all_gone: Callable[[], bool]
    ) -> None:
        ended = runner.run(
            f"sleep {nap} & setsid sleep {nap} & echo started", timeout=20, keep=True, label="VE1"
        )
        assert (ended.exit_code, ended.output()) == (0, "started\n")
        runner.run("sleep 60", timeout=0.1)
        runner.run("true; true", timeout=20)
        runner.release("VE2")
        assert len(sleepers()) == 2
        runner.release("VE1")
        assert all_gone()

    def test_in_a_worktree_is_released_like_any_other(
        self, runner: Runner, nap: str, sleepers: Find, all_gone: Callable[[], bool]
    ) -> None:
        child = runner.at(runner.root, {})
        child.run(f"echo started; sleep {nap} &", timeout=20, keep=True, label="VE1")
        del child
        assert sleepers()
        runner.release("VE1")
        assert all_gone()

    def test_ends_with_the_run(
        self, runner: Runner, nap: str, sleepers: Find, all_gone: Callable[[], bool]
    ) -> None:
        assert runner.run(f"sleep {nap} & exit 7", timeout=20, keep=True).exit_code == 7
        assert sleepers()
        runner.close()
        assert all_gone()

    def test_goes_on_printing_to_its_log(self, runner: Runner) -> None:
        ended = runner.run(
            "echo one; (sleep 0.3; echo two; sleep 60) &", timeout=20, keep=True, label="VE1"
        )
        time.sleep(0.6)
        runner.release("VE1")
        assert ended.stdout.path.read_text() == "one\ntwo\n"

    def test_does_not_outlive_a_timeout(
        self, runner: Runner, nap: str, all_gone: Callable[[], bool]
    ) -> None:
        assert runner.run(f"sleep {nap} & sleep {nap}", timeout=0.2, keep=True).timed_out
        assert all_gone()


@pytest.mark.skipif(not LINUX, reason="limits are only read on Linux")
@pytest.mark.parametrize("by", ["environment", "limit"])
@pytest.mark.parametrize("whole_run", [False, True])
def test_a_thorough_look_finds_what_is_marked_and_nothing_else(
    nap: str, by: str, whole_run: bool
) -> None:
    mark = Mark(0xABCDEF, 7)
    beside = Mark(mark.run, 8) if whole_run else mark
    strangers = [Mark(mark.run + 1, 7)] + (
        [] if whole_run else [Mark(mark.run, 8), Mark(mark.run, 77)]
    )

    def start(marked: Mark) -> psutil.Popen:
        env = {VARIABLE: marked.variable} if by == "environment" else {}
        process = psutil.Popen(["sleep", nap], env=env)
        if by == "limit":
            strays.set_soft_limit(process.pid, marked.limit)
        return process

    ours, others = [start(mark), start(beside)], [start(stranger) for stranger in strangers]
    kill_marked(mark, whole_run=whole_run)
    assert [process.wait(5) for process in ours] == [-9, -9]
    assert all(process.poll() is None for process in others)
    for process in others:
        process.kill()
        process.wait()


def test_a_mark_is_read_from_a_listing_with_environments() -> None:
    mark = Mark(0xABC, 7)
    listing = (
        f"  101 sleep 5 HOME=/x {VARIABLE}=00000abc.7 A=b\n"
        f"  102 sleep 5 {VARIABLE}=00000abc.71\n"
        f"  103 sleep 5 {VARIABLE}=00000abc.7\n"
        f"  104 sleep 5 {VARIABLE}=00000abd.7\n"
        "  PID COMMAND\n\n"
    )
    assert read_ps(listing, mark.assignment(" ", whole_run=False)) == [101, 103]
    assert read_ps(listing, mark.assignment(" ", whole_run=True)) == [101, 102, 103]


@pytest.mark.skipif(not LINUX, reason="reads /proc")
def test_looking_for_strays_after_a_quiet_command_costs_next_to_nothing(runner: Runner) -> None:
    with psutil.Popen(["sleep", "60"], start_new_session=True) as leader:
        started = time.perf_counter()
        for _ in range(100):
            kill_younger(Mark(1, 1), leader.pid)
        each = (time.perf_counter() - started) / 100
        leader.kill()
    # A tenth of it is usual: this only notices that every process is looked at again.
    assert each < 0.002


def test_a_command_that_ends_takes_no_process_of_one_that_is_just_starting(runner: Runner) -> None:
    """Children started before their command could be marked look like strays of any other."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        with ThreadPoolExecutor(3) as pool:
            command = 'a=$(echo x | cat | cat); b=$(echo y | cat); test "$a$b" = xy'
            ended = list(pool.map(lambda _: runner.run(command, timeout=60), range(400)))
    finally:
        sys.setswitchinterval(interval)
    assert {one.exit_code for one in ended} == {0}
