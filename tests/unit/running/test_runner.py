"""One command, from its text to how it ended."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ralph.running.runner import RunError, Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_ralph.running.process import Process

MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("command", "exit_code", "signal"),
    [
        ("true", 0, None),
        ("false", 1, None),
        ("exit 3", 3, None),
        ("exit 255", 255, None),
        ("kill -9 $$", 137, 9),
        ("kill -SEGV $$", 139, 11),
        ("no-such-command-anywhere", 127, None),
        ("no-such-command-anywhere --flag; exit $?", 127, None),
        ("/", 126, None),
    ],
)
def test_a_command_ends_as_a_shell_would_say(
    runner: Runner, command: str, exit_code: int, signal: int | None
) -> None:
    ended = runner.run(command, timeout=20)
    assert (ended.exit_code, ended.signal, ended.timed_out, ended.interrupted) == (
        exit_code,
        signal,
        False,
        False,
    )


def test_a_missing_command_is_explained_by_the_shell(runner: Runner) -> None:
    assert (
        "no-such-command-anywhere: command not found"
        in runner.run("no-such-command-anywhere", timeout=20).output()
    )


def test_a_script_without_a_first_line_is_run_by_the_shell(runner: Runner, project: Path) -> None:
    script = project / "check"
    script.write_text("echo ran\n")
    script.chmod(0o755)
    assert runner.run("./check", timeout=20).output() == "ran\n"


@pytest.mark.parametrize("command", ["cat", "cat -", "read line || echo end of file", "grep -c x"])
def test_stdin_is_at_its_end(runner: Runner, command: str) -> None:
    assert not runner.run(command, timeout=5).timed_out


def test_stdin_is_at_its_end_where_pytest_has_one_that_is_not(project: Path) -> None:
    script = "import os; from pathlib import Path; from pytest_ralph.running.runner import Runner\n"
    script += (
        'print(Runner(root=Path(), environ=os.environ, logs=Path("logs")).run("cat", '
        "timeout=5).timed_out)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=project, stdin=-1, stdout=-1, text=True
    ) as python:
        assert python.stdout is not None
        assert python.stdout.read() == "False\n"


def test_stdin_can_be_a_file(runner: Runner, project: Path) -> None:
    (project / "prompt").write_text("do it\n")
    assert runner.run("cat", timeout=20, stdin=project / "prompt").output() == "do it\n"


def test_there_is_no_terminal(runner: Runner) -> None:
    assert runner.run("echo hello > /dev/tty", timeout=5).exit_code != 0


def test_both_streams_come_in_the_order_they_were_printed(runner: Runner) -> None:
    ended = runner.run("echo one; echo two >&2; echo three", timeout=20)
    assert ended.stderr is None
    assert ended.output() == "one\ntwo\nthree\n"


def test_the_streams_can_be_had_apart(runner: Runner) -> None:
    ended = runner.run("echo out; echo err >&2", timeout=20, split=True)
    assert ended.stderr is not None
    assert (ended.stdout.text(), ended.stderr.text()) == ("out\n", "err\n")
    assert ended.output() == "out\nerr\n"


def test_writing_to_dev_stderr_loses_nothing_printed_before(runner: Runner) -> None:
    assert (
        runner.run("echo one; echo two > /dev/stderr; echo three", timeout=20).output()
        == "one\ntwo\nthree\n"
    )


def test_output_on_its_way_through_a_substituted_process_arrives(runner: Runner) -> None:
    ended = runner.run("exec > >(sleep 0.02; tee copy) 2>&1; echo through tee", timeout=20)
    assert ended.output() == "through tee\n"


def test_output_that_is_not_utf8_is_no_error(runner: Runner) -> None:
    assert (
        runner.run(r"printf 'caf\351 \377\376 ok\n'", timeout=20).output()
        == "caf\ufffd \ufffd\ufffd ok\n"
    )


def test_a_command_without_output_leaves_no_file(runner: Runner) -> None:
    ended = runner.run("true", timeout=20)
    assert ended.stdout.size == 0
    assert not runner.logs.exists()
    assert ended.output() == ""
    assert not ended.progress


def test_a_log_is_named_after_its_label(runner: Runner) -> None:
    ended = runner.run("echo x", timeout=20, label="V1: a/b c")
    assert ended.stdout.path.name == "001-V1-a-b-c.log"
    assert ended.stdout.path.read_text() == "x\n"


def test_a_command_runs_in_the_project_with_a_fitting_pwd(runner: Runner, project: Path) -> None:
    (project / "sub").mkdir()
    assert runner.run("/bin/pwd", timeout=20).output() == f"{project}\n"
    assert (
        runner.run("printenv PWD", timeout=20, cwd=project / "sub").output()
        == f"{project / 'sub'}\n"
    )


def test_variables_of_one_command_reach_only_that_command(runner: Runner) -> None:
    assert (
        runner.run("printenv RALPH_TASK_ID", timeout=20, env={"RALPH_TASK_ID": "1.3"}).output()
        == "1.3\n"
    )
    assert runner.run("printenv RALPH_TASK_ID", timeout=20).exit_code == 1


def test_a_change_of_the_environment_after_the_start_is_not_seen(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SET_LATER", "yes")
    assert runner.run("printenv SET_LATER", timeout=20).exit_code == 1


def test_words_can_be_run_without_a_shell(runner: Runner) -> None:
    ended = runner.run("agent", argv=["printf", "%s|", "a b", "$HOME", ";"], timeout=20)
    assert ended.output() == "a b|$HOME|;|"


def test_another_shell_can_be_asked_for(project: Path) -> None:
    runner = Runner(root=project, environ=os.environ, logs=project / "logs", shell="sh")
    assert runner.run('echo "${BASH_VERSION:-none}"', timeout=20).exit_code == 0
    runner.close()


class TestATimeout:
    def test_ends_the_command_and_says_so(self, runner: Runner) -> None:
        started = time.monotonic()
        ended = runner.run("echo working; sleep 60", timeout=0.2)
        assert time.monotonic() - started < 30
        assert ended.timed_out
        assert ended.progress
        assert ended.output() == "working\n"

    def test_lets_a_command_clean_up(self, project: Path) -> None:
        runner = Runner(root=project, environ=os.environ, logs=project / "logs", grace=5)
        ended = runner.run("trap 'echo cleaned up; exit 0' TERM; sleep 60 & wait", timeout=0.3)
        runner.close()
        assert ended.timed_out
        assert ended.output() == "cleaned up\n"

    def test_lets_the_children_of_a_command_clean_up(self, project: Path) -> None:
        runner = Runner(root=project, environ=os.environ, logs=project / "logs", grace=5)
        ended = runner.run(
            "(trap 'sleep 0.2; echo child done; exit' TERM; sleep 60 & wait); true", timeout=0.3
        )
        runner.close()
        assert ended.output() == "child done\n"

    def test_kills_what_ignores_sigterm(self, runner: Runner) -> None:
        ended = runner.run("trap '' TERM; while :; do sleep 0.05; done", timeout=0.2)
        assert (ended.timed_out, ended.signal, ended.exit_code) == (True, 9, 137)
        assert ended.duration < 3

    def test_of_a_command_that_never_stops_printing(self, runner: Runner) -> None:
        ended = runner.run("yes", timeout=0.3)
        assert ended.timed_out
        assert ended.duration < 3


class TestStop:
    def test_ends_all_that_runs_and_all_that_is_asked_for_later(self, runner: Runner) -> None:
        threading.Timer(0.3, runner.stop).start()
        with ThreadPoolExecutor(4) as pool:
            all_ended = list(pool.map(lambda _: runner.run("sleep 60", timeout=60), range(6)))
        assert all(ended.interrupted for ended in all_ended)
        assert max(ended.duration for ended in all_ended) < 3
        assert [ended.exit_code for ended in all_ended][-2:] == [None, None]

    def test_ends_a_command_that_is_just_being_started(
        self, runner: Runner, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        start = Runner._spawn

        def start_and_stop(runner: Runner, *plan: Any) -> Process:
            process = start(runner, *plan)
            runner.stop()
            return process

        monkeypatch.setattr(Runner, "_spawn", start_and_stop)
        ended = runner.run("sleep 60", timeout=60)
        assert ended.interrupted
        assert ended.duration < 3

    def test_ctrl_c_in_the_waiting_thread_ends_the_command(
        self, project: Path, nap: str, all_gone: Callable[[], bool]
    ) -> None:
        script = dedent(f"""
            import os, signal, threading
            from pathlib import Path
            from pytest_ralph.running.runner import Runner
            runner = Runner(root=Path(), environ=os.environ, logs=Path("logs"))
            threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            try:
                runner.run("sleep {nap} & setsid sleep {nap} & sleep {nap}", timeout=60)
            except KeyboardInterrupt:
                print("interrupted")
        """)
        done = _python(script, project)
        assert (done.stdout, done.stderr) == ("interrupted\n", "")
        assert all_gone()


class TestWhatCannotBeRun:
    def test_a_missing_shell(self, project: Path) -> None:
        runner = Runner(
            root=project, environ=os.environ, logs=project / "logs", shell="/no/such/shell"
        )
        with pytest.raises(RunError, match=r"^shell not found: /no/such/shell$"):
            runner.run("true", timeout=20)

    def test_no_shell_at_all(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("pytest_ralph.running.spawn.USUAL_SHELLS", ("no-such-shell",))
        runner = Runner(root=project, environ={"PATH": str(project)}, logs=project / "logs")
        with pytest.raises(RunError, match=r"^shell not found: bash, sh$"):
            runner.run("exit 0", timeout=20)

    def test_a_missing_directory(self, runner: Runner, project: Path) -> None:
        for command in ("true", "echo x | cat"):
            with pytest.raises(RunError, match=r"^directory not found: .*/gone$"):
                runner.run(command, timeout=20, cwd=project / "gone")

    def test_a_missing_input_file(self, runner: Runner, project: Path) -> None:
        with pytest.raises(RunError, match=r"^input file not found: .*/gone$"):
            runner.run("cat", timeout=20, stdin=project / "gone")

    def test_a_missing_program_among_words(self, runner: Runner) -> None:
        with pytest.raises(
            RunError, match=r"^cannot run 'no-such-agent': No such file or directory$"
        ):
            runner.run("agent", argv=["no-such-agent", "-p"], timeout=20)

    def test_words_that_are_too_long(self, runner: Runner) -> None:
        with pytest.raises(
            RunError, match=r"^command line or environment too long .* \(200 kB\): 'agent'$"
        ):
            runner.run("agent", argv=["echo", "x" * 200_000], timeout=20)

    def test_a_zero_byte(self, runner: Runner) -> None:
        with pytest.raises(RunError, match=r"^cannot run .*null byte$"):
            runner.run("echo a\0b", timeout=20)

    def test_no_file_descriptors_left(self, runner: Runner) -> None:
        with _one_descriptor_left(), pytest.raises(RunError, match="Too many open files"):
            runner.run("true", timeout=20)
        assert runner.run("true", timeout=20).exit_code == 0


@contextlib.contextmanager
def _one_descriptor_left() -> Iterator[None]:
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, usual[1]))
    taken = []
    try:
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.dup(0))
        os.close(taken.pop())
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)
        for descriptor in taken:
            os.close(descriptor)


def test_a_command_of_200_kb_just_runs(runner: Runner) -> None:
    ended = runner.run(f": {'x' * 200_000}\necho ran", timeout=20)
    assert (ended.exit_code, ended.output()) == (0, "ran\n")


def test_much_output_costs_little_memory(project: Path) -> None:
    script = dedent(f"""
        import os, resource
        from pathlib import Path
        from pytest_ralph.running.runner import Runner
        runner = Runner(root=Path(), environ=os.environ, logs=Path("logs"))
        runner.run("echo warm", timeout=60)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        command = "yes some line of output | head -c {200 * MIB}; echo the end"
        ended = runner.run(command, timeout=60)
        text = ended.output()
        runner.close()
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(grown, ended.stdout.size)
        print(ended.stdout.path.stat().st_size, len(text))
        print(text.endswith("the end\\n"), "left out" in text)
    """)
    done = _python(script, project)
    assert done.stderr == ""
    grown, size, stored, shown, ends, says = done.stdout.split()
    assert int(grown) < 30 * 1024
    assert int(size) == 200 * MIB + len("the end\n")
    assert int(stored) < 40 * MIB
    assert int(shown) < MIB
    assert (ends, says) == ("True", "True")


def test_64_threads_at_once(runner: Runner) -> None:
    def run(number: int) -> tuple[int | None, str]:
        ended = runner.run(f"echo {number}; exit {number % 7}", timeout=60, label=str(number))
        return ended.exit_code, ended.output()

    with ThreadPoolExecutor(64) as pool:
        assert list(pool.map(run, range(256))) == [
            (number % 7, f"{number}\n") for number in range(256)
        ]


def test_no_descriptor_is_left_open(runner: Runner) -> None:
    runner.run("echo x", timeout=20)
    before = set(Path("/dev/fd").iterdir())
    for command in ("true", "echo x; exit 1", "no-such-command", "sleep 60 &"):
        runner.run(command, timeout=20, split=True)
    assert len(set(Path("/dev/fd").iterdir())) == len(before)


def test_the_last_line_is_told_while_the_command_runs(runner: Runner) -> None:
    told: list[str] = []
    runner.run(
        "echo first; sleep 0.7; echo second; echo; sleep 0.7", timeout=20, on_output=told.append
    )
    assert list(dict.fromkeys(told)) == ["first", "second"]


def test_a_command_that_prints_without_pause_is_told_of_twice_a_second(runner: Runner) -> None:
    told: list[str] = []
    runner.run("yes", timeout=0.8, on_output=told.append)
    assert told == ["y", "y"]


def test_paths_given_relative_to_here_hold_elsewhere(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "sub").mkdir()
    monkeypatch.chdir(project)
    runner = Runner(root=Path(), environ=os.environ, logs=Path("logs"))
    ended = runner.run("printenv PWD PYTEST_ADDOPTS", timeout=20, cwd=Path("sub"))
    runner.close()
    assert ended.output().split() == [
        f"{project}/sub",
        f"--junitxml={runner.logs}/001-command.junit",
    ]
    assert runner.logs.is_relative_to(project)


def test_secrets_in_a_junit_file_of_ours_are_masked(project: Path) -> None:
    runner = Runner(
        root=project,
        environ=os.environ,
        logs=project / "logs",
        mask=lambda text: text.replace("pw1", "*"),
    )
    (project / "fake-pytest").write_text(
        'f=${PYTEST_ADDOPTS#*=}; mkdir -p "${f%/*}"; echo pw1 > "$f"'
    )
    ended = runner.run("bash fake-pytest", timeout=20)
    runner.close()
    assert ended.junit is not None
    assert ended.junit.read_text() == "*\n"


def test_secrets_never_reach_the_disk(project: Path) -> None:
    runner = Runner(
        root=project,
        environ=os.environ,
        logs=project / "logs",
        mask=lambda text: text.replace("pw1", "*"),
    )
    ended = runner.run("printf 'it is p'; sleep 0.05; printf 'w1\\n'", timeout=20)
    runner.close()
    assert ended.stdout.path.read_text() == "it is *\n"


@pytest.mark.skipif(
    not hasattr(os, "pidfd_open"), reason="the thread is what this system has anyway"
)
def test_waiting_works_without_pidfd(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    assert runner.run("sleep 0.1; exit 4", timeout=20).exit_code == 4
    assert runner.run("sleep 60", timeout=0.2).timed_out


def _python(script: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("timeout", [1e9, 1e15])
def test_time_limits_may_be_huge(runner: Runner, timeout: float) -> None:
    assert runner.run("true", timeout=timeout).exit_code == 0
