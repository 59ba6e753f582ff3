"""The next run knows what the runs before it tried, whether they were cut off or gave up."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.integration.recovery.conftest import Project

# Kills its own run when it comes to a step for the nth time.
PLUGIN = """\
import os, signal
from pytest_ralph import files as disk
name, number = os.environ["KILL_AT"].rsplit(":", 1)
seen = []
def at(step):
    seen.append(step)
    if seen.count(name) == int(number):
        os.kill(os.getpid(), signal.SIGKILL)
disk.on_fault_point = at
"""


def run_killed(project: Project, step: str, executor: str, *args: str) -> None:
    project.write("killer.py", PLUGIN)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "killer",
        "--ralph-recovery",
        "--ralph-executor",
        executor,
        *args,
    ]
    environ = {
        **os.environ,
        "KILL_AT": step,
        "PYTHONPATH": os.pathsep.join([".", os.environ.get("PYTHONPATH", "")]),
    }
    ended = subprocess.run(
        [*command, "specs/demo"], cwd=project.root, env=environ, capture_output=True, check=False
    )
    assert ended.returncode == -signal.SIGKILL


def test_a_circle_is_seen_across_a_kill(one_task: Project) -> None:
    for number, approach in enumerate(("for fetch", "with try-catch", "pattern"), 1):
        one_task.write(f"approach.{number}", f"Approach: Using async await {approach}\n")
    executor = one_task.shell("cat approach.$call; echo $task > parser.txt")
    run_killed(one_task, "before verifying again:2", executor, "--ralph-max-fixes", "9")
    assert one_task.calls == ["1.3.1", "1.3.2"]

    result = one_task.run("--ralph-max-fixes", "9", executor=executor)
    assert one_task.calls == ["1.3.1", "1.3.2", "1.3.3"]
    result.stdout.fnmatch_lines(["*given up: the same approach was tried before without success"])
    assert "3 fixes attempted (1.3.1, 1.3.2, 1.3.3) - Final: FAIL (circular)" in one_task.progress


def test_the_attempt_that_was_cut_off_is_made_again_and_is_no_circle(one_task: Project) -> None:
    executor = one_task.shell("echo fixed > parser.txt")
    one_task.repository()
    run_killed(one_task, "after a fix task is in place:1", executor)
    assert one_task.calls == []

    assert one_task.run(executor=executor).ret == 0
    assert one_task.calls == ["1.3.1"]


def test_a_repair_that_did_not_help_is_not_made_again_after_a_kill(project: Project) -> None:
    project.spec("- [ ] 1.1 Run it\n  - **Files**: `run.sh`\n  - **Verify**: `./run.sh`\n")
    script = project.write("run.sh", "#!/bin/sh\nchmod -x run.sh\nexit 1\n")
    script.chmod(0o644)
    run_killed(project, "before verifying again:1", "repair")
    script.chmod(0o644)

    result = project.run()
    result.stdout.fnmatch_lines(["*given up: a fix did not help, and the error is of unknown type"])
    assert project.history("executor", "what = 'repair'") == ["repair:chmod"]


def test_fix_of_an_earlier_run_is_named(one_task: Project) -> None:
    one_task.run("--ralph-max-fixes=1", executor=one_task.shell("true"))
    assert one_task.calls == ["1.3.1"]

    one_task.run(executor=one_task.shell("echo fixed > parser.txt"))
    assert one_task.calls == ["1.3.1", "1.3.2"]
    text = one_task.tasks.read_text()
    assert text.count("1. Analyze the failure: No previous fix attempted\n") == 1
    assert "1. Analyze the failure: fix 1.3.1 did not help\n" in text
    line = "- 1.3.1 (earlier, by sh executor.sh): approach not reported → the error stayed the same"
    assert f"## Tried before, without success\n\n{line}\n" in one_task.prompt(2)


def test_approach_of_an_earlier_run_is_named(one_task: Project) -> None:
    executor = one_task.shell("echo $task > parser.txt; echo Approach: guess number $call")
    one_task.run("--ralph-max-fixes=1", executor=executor)
    one_task.run("--ralph-max-fixes=1", executor=executor)

    text = one_task.tasks.read_text()
    assert "1. Analyze the failure: fix 1.3.1 did not help: guess number 1\n" in text
    assert "- 1.3.1 (earlier, by sh executor.sh): guess number 1 → " in one_task.prompt(2)


def test_earlier_fix_is_named_without_the_history(one_task: Project) -> None:
    one_task.run("--ralph-max-fixes=1", executor=one_task.shell("true"))
    shutil.rmtree(one_task.root / ".ralph")

    one_task.run("--ralph-max-fixes=1", executor=one_task.shell("true"))
    assert "1. Analyze the failure: fix 1.3.1 did not help\n" in one_task.tasks.read_text()
    line = "- 1.3.1 (earlier): approach not reported → it did not help"
    assert f"## Tried before, without success\n\n{line}\n" in one_task.prompt(2)


def test_reused_fix_knows_its_earlier_error(one_task: Project) -> None:
    fails = "echo \"Task $task: Fix FAILED\"; echo '- Error: no such table'; exit 1"
    one_task.run("--ralph-max-depth=1", executor=one_task.shell(fails))
    assert one_task.calls == ["1.3.1"]

    one_task.run(executor=one_task.shell("echo fixed > parser.txt"))
    assert one_task.calls == ["1.3.1", "1.3.1"]
    line = "- 1.3.1 (earlier, by sh executor.sh): approach not reported → no such table\n"
    assert line in one_task.prompt(2)


def test_earlier_fix_that_helped_is_not_blamed(one_task: Project) -> None:
    executor = one_task.shell("echo fixed > parser.txt")
    one_task.run(executor=executor)
    one_task.write("parser.txt", "broken again\n")
    one_task.run(executor=executor)

    assert one_task.calls == ["1.3.1", "1.3.2"]
    assert one_task.tasks.read_text().count("No previous fix attempted") == 2
    assert "Tried before" not in one_task.prompt(2)


def test_error_behind_a_repair_gets_its_fix(project: Project) -> None:
    project.spec("- [ ] 1.1 Run it\n  - **Verify**: `./run.sh`\n")
    project.write("run.sh", "#!/bin/sh\ngrep -q good a.txt\n").chmod(0o644)
    project.write("a.txt", "bad\n")
    result = project.run(executor=project.shell("echo good > a.txt"))

    assert result.ret == 0
    assert project.calls == ["1.1.2"]
