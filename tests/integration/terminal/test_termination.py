"""A run that is told to end ends what it has started, and in order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pexpect
import psutil
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import SpecMaker

COMMAND = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--ralph-recovery"]
PATIENCE = 20.0


@pytest.fixture(autouse=True)
def _other_plugins_would_only_take_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "pytest_ralph.plugin")


@pytest.fixture
def project(pytester: pytest.Pytester, make_spec: SpecMaker) -> Path:
    """The second task starts a command that takes for ever, and leaves its id in `pid`."""
    make_spec(
        t1_1="test -d specs",
        t1_2="echo $$ > pid.new; mv pid.new pid; sleep 99; true",
        t1_3="test -d specs",
    )
    return pytester.path


def until(is_so: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def running_command(project: Path) -> psutil.Process:
    until((project / "pid").exists)
    return psutil.Process(int((project / "pid").read_text()))


@pytest.mark.parametrize(
    ("name", "more"), [("SIGTERM", ()), ("SIGTERM", ("-p", "no:terminal")), ("SIGHUP", ("-s",))]
)
def test_a_signal_ends_the_command_and_the_run(
    project: Path, name: str, more: tuple[str, ...]
) -> None:
    run = subprocess.Popen(
        [*COMMAND, *more, "specs"], cwd=project, stdout=subprocess.PIPE, text=True
    )
    command = running_command(project)
    run.send_signal(getattr(signal, name))
    said, _ = run.communicate(timeout=PATIENCE)

    assert run.returncode == pytest.ExitCode.INTERRUPTED
    assert "Traceback" not in said
    assert (f"ralph: ended by {name}" in said) is ("no:terminal" not in more)
    until(lambda: not command.is_running())
    assert "- [x] 1.1" in (project / "specs/demo/tasks.md").read_text()
    assert "- [ ] 1.2" in (project / "specs/demo/tasks.md").read_text()


def test_the_commands_of_a_group_end_too(pytester: pytest.Pytester, make_spec: SpecMaker) -> None:
    verify = "echo $$ >> pids; sleep 99; true"
    make_spec(
        "\n".join(
            f"- [ ] 1.{n} [P] Part {n}\n  - **Do**: it\n  - **Verify**: `{verify}`\n"
            for n in (1, 2)
        )
    )
    run = subprocess.Popen(
        [*COMMAND, "--ralph-jobs=2", "specs"], cwd=pytester.path, stdout=subprocess.DEVNULL
    )
    pids = pytester.path / "pids"
    until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    commands = [psutil.Process(int(pid)) for pid in pids.read_text().split()]
    run.terminate()

    assert run.wait(PATIENCE) == pytest.ExitCode.INTERRUPTED
    until(lambda: not any(command.is_running() for command in commands))


def test_a_closed_terminal_ends_the_command(project: Path) -> None:
    run = pexpect.spawn(COMMAND[0], [*COMMAND[1:], "specs"], cwd=str(project))
    command = running_command(project)
    os.close(run.fileno())
    until(lambda: not command.is_running())
    until(lambda: not run.isalive())


def test_signals_that_are_handled_or_ignored_stay_as_they_are(
    project: Path, pytester: pytest.Pytester
) -> None:
    pytester.makeconftest("""
        import signal
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

        def theirs(number, frame): pass

        signal.signal(signal.SIGTERM, theirs)

        def pytest_runtest_teardown():
            assert signal.getsignal(signal.SIGTERM) is theirs
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    """)
    result = pytester.runpytest_subprocess("--ralph", "specs/demo/tasks.md::1.1")
    result.assert_outcomes(passed=1)


def test_after_a_run_signals_do_what_they_did_before(
    project: Path, pytester: pytest.Pytester
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    pytester.runpytest_inprocess("--ralph", "specs/demo/tasks.md::1.1").assert_outcomes(passed=1)
    assert signal.getsignal(signal.SIGTERM) is before
