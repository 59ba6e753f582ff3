"""Executors that hang, flood, lie, crash or take things apart: survived, with the right failure."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project

ONE_FIX = ("--ralph-max-fixes", "1", "--ralph-max-depth", "1")


def kinds(project: Project) -> list[str]:
    return project.history("kind", "what = 'execute'")


def gone(pid: int) -> bool:
    for _ in range(50):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


def test_one_that_floods_is_survived_and_nothing_of_it_floods_us(one_task: Project) -> None:
    flood = one_task.shell("yes 'all work and no play' | head -c 30000000; echo fixed > parser.txt")
    result = one_task.run(executor=flood)

    assert result.ret == 0
    assert len(result.stdout.str()) < 20_000
    assert one_task.tasks.stat().st_size < 5_000


def test_one_that_floods_and_fails_names_its_error(one_task: Project) -> None:
    flood = (
        "yes 'all work' | head -c 5000000; echo; echo 'Task 1.3.1: it FAILED'; echo '- Error: the "
        "well is dry'; exit 1"
    )
    result = one_task.run(*ONE_FIX, executor=one_task.shell(flood))

    assert result.ret == 1
    assert one_task.history("error", "what = 'execute'") == ["the well is dry"]


def test_one_that_lies_is_a_mismatch_and_its_task_stays_open(one_task: Project) -> None:
    result = one_task.run(
        *ONE_FIX, executor=one_task.shell("echo 'All tests pass!'; echo TASK_COMPLETE")
    )

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*1.3.1 *did not help*"])
    assert (
        one_task.state["taskResults"]["1.3.1"]["error"]["attempt_1"]["type"]
        == "verification_mismatch"
    )
    assert one_task.boxes == {"1.3": False, "1.3.1": False, "1.4": False}


@pytest.mark.parametrize(
    "words",
    [
        "TASK_COMPLETE, but it requires manual verification",
        "I could not run the tests.\nTASK_COMPLETE",
    ],
)
def test_one_that_contradicts_itself_has_not_completed(one_task: Project, words: str) -> None:
    one_task.write("words.txt", words + "\n")
    one_task.run(*ONE_FIX, executor=one_task.shell("cat words.txt"))

    assert kinds(one_task) == ["verification_mismatch"]


@pytest.mark.parametrize(
    ("signal", "kind"), [("SEGV", "crash"), ("KILL", "crash"), ("ABRT", "crash")]
)
def test_one_that_crashes(one_task: Project, signal: str, kind: str) -> None:
    one_task.run(*ONE_FIX, executor=one_task.shell(f"kill -{signal} $$"))

    assert kinds(one_task) == [kind]


@pytest.mark.parametrize("mode", [(), ("--ralph-execute",)])
@pytest.mark.parametrize("end", ["kill -KILL $$", "exit 1"])
def test_a_silent_end_is_no_title(one_task: Project, end: str, mode: tuple[str, ...]) -> None:
    one_task.run("--ralph-max-depth", "2", *mode, executor=one_task.shell(end))

    assert one_task.calls[-2:] == ["1.3.1", "1.3.1.1"]
    assert "signal" not in one_task.tasks.read_text()
    assert "did not complete" not in one_task.tasks.read_text()
    assert str(one_task.root) not in one_task.tasks.read_text()


def test_one_that_asks_for_a_person_is_not_asked_again(one_task: Project) -> None:
    result = one_task.run(executor=one_task.shell("echo 'This requires manual review.'"))

    assert one_task.calls == ["1.3.1"]
    assert "manual review" not in one_task.tasks.read_text()
    result.stdout.fnmatch_lines(["*given up: the executor says: This requires manual review."])


def test_one_that_deletes_the_spec(one_task: Project) -> None:
    result = one_task.run(executor=one_task.shell("rm -rf specs; echo fixed > parser.txt"))

    assert result.ret == 0
    assert one_task.boxes == {"1.3": True, "1.3.1": True, "1.4": True}
    assert one_task.state["fixTaskMap"]["1.3"]["fixTaskIds"] == ["1.3.1"]


@pytest.mark.parametrize(
    "said",
    [
        "API Error: 529 Overloaded",
        "Error: 429 Too Many Requests: rate limit exceeded, try again later",
    ],
)
def test_one_that_ends_well_on_an_error_of_its_service_has_not_completed(
    one_task: Project, said: str
) -> None:
    one_task.run(*ONE_FIX, executor=one_task.shell(f"echo '{said}'; exit 0"))

    assert kinds(one_task) == ["service_unavailable"]


def test_one_that_is_not_there(one_task: Project) -> None:
    result = one_task.run(executor="./no-such-agent --fix")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --ralph-executor: no such file: ./no-such-agent"])
    assert list(one_task.boxes) == ["1.3", "1.4"]


def test_one_that_deletes_our_directory(one_task: Project) -> None:
    result = one_task.run(
        executor=one_task.shell("rm -rf .ralph; echo thinking; echo fixed > parser.txt")
    )

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*1.3.1 removed .ralph: its logs are gone; what this run*"])
    assert "INTERNALERROR" not in result.stdout.str()
    assert one_task.boxes == {"1.3": True, "1.3.1": True, "1.4": True}
    assert one_task.history("what", "task = '1.3'")[0] == "verify"
    assert one_task.run().ret == 0


@pytest.mark.parametrize("path", [".ralph", ".ralph/logs", ".ralph/backups"])
def test_one_that_puts_a_link_in_our_directory(one_task: Project, path: str) -> None:
    outside = one_task.root.with_name(f"{one_task.root.name}-outside")
    outside.mkdir()
    link = f"rm -rf {path}; ln -s {outside} {path}"

    result = one_task.run(executor=one_task.shell(f"{link}; echo fixed > parser.txt"))

    assert result.ret == 0
    result.stdout.fnmatch_lines([f"*1.3.1 replaced {path} by a link: removed*"])
    assert list(outside.iterdir()) == []
    assert not (one_task.root / path).is_symlink()
    assert one_task.boxes == {"1.3": True, "1.3.1": True, "1.4": True}


@pytest.mark.parametrize("path", [".git/ralph", ".git/ralph/locks"])
def test_one_that_puts_a_link_in_our_part_of_the_repository(one_task: Project, path: str) -> None:
    one_task.repository()
    outside = one_task.root.with_name(f"{one_task.root.name}-outside")
    outside.mkdir()
    link = f"rm -rf {path}; ln -s {outside} {path}"

    result = one_task.run(executor=one_task.shell(f"{link}; echo fixed > parser.txt"))

    assert result.ret == 0
    result.stdout.fnmatch_lines([f"*1.3.1 replaced {path} by a link: removed*"])
    assert list(outside.iterdir()) == []


def test_one_that_deletes_the_repository(one_task: Project) -> None:
    one_task.repository()
    options = ("--ralph-commit=auto", "--ralph-rollback", "--ralph-report=report.html")
    executor = one_task.shell("rm -rf .git; echo fixed > parser.txt")
    result = one_task.run(*options, executor=executor)

    assert result.ret == 0
    assert (one_task.root / "report.html").exists()
    result.stdout.fnmatch_lines_random(["*1.3.1 made git unusable", "*changed *parser.txt"])


def test_one_that_makes_git_wait_for_a_pipe(one_task: Project) -> None:
    one_task.repository()
    pipe = "mkdir new; touch new/file; mkfifo new/.gitignore; echo fixed > parser.txt"
    result = one_task.run(executor=one_task.shell(pipe))

    assert result.ret == 0
    result.stdout.fnmatch_lines_random(
        ["*1.3.1 may have added files that are not known: a pipe (FIFO) is in *", "*changed *"]
    )


def test_one_that_deletes_the_state(one_task: Project) -> None:
    result = one_task.run(
        executor=one_task.shell("rm specs/demo/.ralph-state.json; echo fixed > parser.txt")
    )

    assert result.ret == 0
    assert one_task.state["fixTaskMap"]["1.3"]["fixTaskIds"] == ["1.3.1"]


@pytest.mark.parametrize("isolate", ["none", "worktree"])
def test_one_that_puts_a_pipe_in_place_of_the_plan(one_task: Project, isolate: str) -> None:
    plan = "specs/demo/tasks.md"
    pipe = one_task.shell(f"rm {plan}; mkfifo {plan}; echo fixed > parser.txt")
    one_task.repository()
    args = ("--ralph-recovery", f"--ralph-isolate={isolate}", "--ralph-executor", pipe)
    result = one_task.pytester.runpytest_subprocess(*args, "specs/demo", timeout=60)

    assert result.ret == 0
    assert one_task.boxes == {"1.3": True, "1.3.1": True, "1.4": True}


@pytest.mark.parametrize("name", [".ralph-state.json", ".progress.md"])
@pytest.mark.parametrize("put", ["mkfifo {}", "ln -s /dev/zero {}"])
def test_one_that_puts_a_device_in_place_of_our_files(
    one_task: Project, name: str, put: str
) -> None:
    path = f"specs/demo/{name}"
    executor = one_task.shell(f"rm -f {path}; {put.format(path)}; echo fixed > parser.txt")
    args = ("--ralph-recovery", "--ralph-executor", executor)
    result = one_task.pytester.runpytest_subprocess(*args, "specs/demo", timeout=60)

    assert result.ret == 1
    result.stdout.fnmatch_lines([f"*{name}*"])
    assert "Traceback" not in result.stdout.str()


@pytest.mark.parametrize("pending", [(), ("--ralph-pending",)])
def test_one_that_ticks_boxes_by_itself_convinces_nobody(
    one_task: Project, pending: tuple[str, ...]
) -> None:
    ticks = one_task.shell("sed -i 's/- \\[ \\]/- [x]/' specs/demo/tasks.md")
    result = one_task.run(*ONE_FIX, *pending, executor=ticks)

    assert result.ret == 1
    assert "ALL_TASKS_COMPLETE" not in result.stdout.str()
    assert one_task.boxes == {"1.3": False, "1.3.1": False, "1.4": False}


def test_one_that_leaves_processes_behind_leaves_none(one_task: Project) -> None:
    stays = one_task.shell("""\
        sleep 300 & echo $! >> pids.txt
        (setsid sleep 300 & echo $! >> pids.txt)
        nohup sleep 300 > /dev/null 2>&1 & echo $! >> pids.txt
        echo fixed > parser.txt
    """)
    result = one_task.run(executor=stays)

    assert result.ret == 0
    pids = (one_task.root / "pids.txt").read_text().split()
    assert len(pids) == 3
    assert all(gone(int(pid)) for pid in pids)


def test_one_that_kills_what_its_parent_started_is_itself_the_victim(one_task: Project) -> None:
    kills = one_task.shell(
        "[ $call = 1 ] && for pid in $(ps -o pid= --ppid $PPID); do kill -9 $pid; done; "
        "echo fixed > parser.txt"
    )
    result = one_task.run(executor=kills)

    assert result.ret == 0
    assert kinds(one_task)[0] == "crash"


def test_one_that_hangs_and_ignores_being_told_is_killed(one_task: Project) -> None:
    started = time.monotonic()
    stubborn = one_task.shell("trap '' TERM INT; echo $$ > pid.txt; while :; do sleep 0.1; done")
    one_task.run(*ONE_FIX, "--ralph-executor-timeout", "0.3", executor=stubborn)

    assert set(kinds(one_task)) == {"timeout"}
    assert gone(int((one_task.root / "pid.txt").read_text()))
    assert time.monotonic() - started < 60


def test_one_that_reads_no_prompt_and_one_that_reads_it_from_the_file(one_task: Project) -> None:
    one_task.write(
        "agent.sh",
        'cp "$RALPH_PROMPT_FILE" got.txt; env | grep ^RALPH_ > env.txt; echo fixed > parser.txt\n',
    )
    result = one_task.run(executor="sh agent.sh < /dev/null")

    assert result.ret == 0
    assert "1.3.1" in (one_task.root / "got.txt").read_text()
    env = dict(line.split("=", 1) for line in (one_task.root / "env.txt").read_text().splitlines())
    assert (env["RALPH_TASK_ID"], env["RALPH_FIX_FOR"]) == ("1.3.1", "1.3")
    assert env["RALPH_SPEC_PATH"].endswith("specs/demo")
    assert env["RALPH_KIND"] == "task_incomplete"
