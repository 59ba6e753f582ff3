"""Ctrl-C: everything that runs ends, nothing more is started, and what is written is whole."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.integration.blocks import numbered, spec, task
from tests.integration.parallel.test_siblings import git
from tests.integration.processes import left_in, start, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import Popen

    from tests.conftest import SpecMaker


def to_the_process(process: Popen[str]) -> None:
    process.send_signal(signal.SIGINT)


def to_the_group(process: Popen[str]) -> None:
    """As a terminal does."""
    os.killpg(process.pid, signal.SIGINT)


@pytest.mark.parametrize(
    ("arguments", "interrupt"),
    [
        (["--ralph"], to_the_process),
        (["--ralph-recovery", "--ralph-executor=true"], to_the_group),
        (["--ralph-recovery", "--ralph-executor=true", "-n2"], to_the_process),
        (["--ralph", "-n2"], to_the_group),
    ],
    ids=["verifying", "recovering", "workers", "workers by the terminal"],
)
def test_ctrl_c_ends_all_tasks_of_a_group(
    pytester: pytest.Pytester,
    make_spec: SpecMaker,
    arguments: list[str],
    interrupt: Callable[[Popen[str]], None],
) -> None:
    if "-n2" in arguments:
        pytest.importorskip("xdist")
    tasks = numbered(6, "touch started.{n}; (setsid sleep 300 &) ; sleep 300", marks="[P]")
    path = make_spec(tasks)
    process = start(pytester.path, *arguments, "--ralph-jobs=3", "specs")
    wait_for(lambda: len(list(pytester.path.glob("started.*"))) == 3)

    interrupt(process)
    output, _ = process.communicate(timeout=30)

    assert process.returncode == 2, output
    assert "Traceback" not in output
    assert "ut off" in output
    assert "  Continue: " in output
    assert left_in(pytester.path) == []
    assert len(list(pytester.path.glob("started.*"))) == 3
    assert path.read_text() == tasks
    state = path.parent / ".ralph-state.json"
    assert not state.exists() or "taskResults" not in json.loads(state.read_text())


@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_what_an_interrupted_executor_did_is_undone(
    pytester: pytest.Pytester, make_spec: SpecMaker, workers: tuple[str, ...]
) -> None:
    if workers:
        pytest.importorskip("xdist")
    make_spec("- [ ] 1.1 Write it\n  - **Verify**: `grep -q fixed it.txt`\n")
    (pytester.path / "it.txt").write_text("mine\n")
    executor = "echo half > it.txt; echo new > new.txt; echo x > ready; sleep 300"
    arguments = ("--ralph-recovery", f"--ralph-executor={executor}", "specs", *workers)
    process = start(pytester.path, *arguments)
    wait_for((pytester.path / "ready").exists)

    to_the_process(process)
    output, _ = process.communicate(timeout=30)

    assert process.returncode == 2, output
    assert "demo 1.1 Write it was cut off; it is not recorded as failed." in output
    result = pytester.runpytest("--ralph-undo")
    result.stdout.fnmatch_lines(["put back it.txt", "removed new.txt"])
    assert (pytester.path / "it.txt").read_text() == "mine\n"


@pytest.mark.parametrize("marks", ["", "[P] "])
def test_what_an_interrupted_repair_did_is_undone(
    pytester: pytest.Pytester, make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch, marks: str
) -> None:
    path = make_spec(
        f"- [ ] 1.1 {marks}Format\n  - **Verify**: `black --check app.py`\n\n"
        f"- [ ] 1.2 {marks}Wait\n  - **Verify**: `true`\n"
    )
    (pytester.path / "app.py").write_text("x = 'mine'\n")
    tools = pytester.mkdir("tools")
    (tools / "black").write_text(SLOW_BLACK)
    (tools / "black").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    process = start(pytester.path, "--ralph-recovery", "--ralph-jobs=2", "specs")
    wait_for((pytester.path / "ready").exists)

    to_the_process(process)
    output, _ = process.communicate(timeout=30)

    assert process.returncode == 2, output
    assert "FIX" not in path.read_text()
    result = pytester.runpytest("--ralph-undo")
    result.stdout.fnmatch_lines(["put back app.py"])
    assert (pytester.path / "app.py").read_text() == "x = 'mine'\n"


# It reports a file that is not formatted, and begins to format it.
SLOW_BLACK = """\
#!/bin/sh
case "$*" in
*--check*) echo "would reformat app.py"; echo "1 file would be reformatted."; exit 1;;
*) echo 'x = "half' > app.py; echo x > ready; sleep 300;;
esac
"""


@pytest.mark.parametrize("mode", ["--ralph-recovery", "--ralph-execute"])
def test_work_in_a_worktree_is_kept(
    pytester: pytest.Pytester, make_spec: SpecMaker, mode: str
) -> None:
    make_spec("- [ ] 1.1 Write it\n  - **Verify**: `grep -q fixed it.txt`\n")
    (pytester.path / "it.txt").write_text("mine\n")
    git(pytester.path, "init", "-q")
    executor = f"echo half > it.txt; echo x > {pytester.path}/ready; sleep 300"
    arguments = (mode, f"--ralph-executor={executor}", "--ralph-isolate=worktree", "specs")
    process = start(pytester.path, *arguments)
    wait_for((pytester.path / "ready").exists)

    to_the_process(process)
    output, _ = process.communicate(timeout=30)

    assert process.returncode == 2, output
    assert "changes for 1.1 that were not merged are kept as .ralph/patches/" in output
    patches = list((pytester.path / ".ralph/patches").iterdir())
    assert ["+half" in patch.read_text() for patch in patches] == [True]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_ends_all_candidates(
    pytester: pytest.Pytester, make_spec: SpecMaker, number: signal.Signals
) -> None:
    make_spec("- [ ] 1.1 Write it\n  - **Verify**: `grep -q fixed it.txt`\n")
    git(pytester.path, "init", "-q")
    executor = f"touch {pytester.path}/ready.$$; sleep 300"
    arguments = ("--ralph-recovery", f"--ralph-executor={executor}", "--ralph-candidates=2")
    process = start(pytester.path, *arguments, "specs")
    wait_for(lambda: len(list(pytester.path.glob("ready.*"))) == 2)

    process.send_signal(number)
    output, _ = process.communicate(timeout=30)

    assert process.returncode == 2, output
    assert "1.1 Write it was cut off" in output
    assert left_in(pytester.path) == []


@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_interrupting_the_last_check_leaves_the_reports(
    pytester: pytest.Pytester, make_spec: SpecMaker, workers: tuple[str, ...]
) -> None:
    if workers:
        pytest.importorskip("xdist")
    wait = "test ! -e it.txt || { touch again; sleep 300; }"
    path = make_spec(spec(task("1.1 Wait", wait), task("1.2 Write it", "test -e it.txt")))
    executor = "--ralph-executor=touch it.txt"
    process = start(
        pytester.path, "--ralph-recovery", executor, "--junitxml=junit.xml", "specs", *workers
    )
    wait_for((pytester.path / "again").exists)

    to_the_process(process)
    output, _ = process.communicate(timeout=30)

    assert process.returncode == 2, output
    assert "Traceback" not in output
    assert "demo 1.1 was cut off; it is not recorded as failed." in output
    assert "ALL_TASKS_COMPLETE" not in output
    assert "1.2 Write it" in (pytester.path / "junit.xml").read_text()
    assert left_in(pytester.path) == []
    assert path.read_text().count("- [x]") == 3
