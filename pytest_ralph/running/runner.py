"""Run a command, bounded in time, memory and disk, and leave nothing of it behind.

A command runs in a session and process group of its own, without a terminal and with an empty
stdin. When it has ended, by itself or because its time was up, the whole group is killed before the
leader is reaped, and then what escaped the group (see `strays`). Only what a `keep` command started
lives on, until `release` or `close`.
"""

from __future__ import annotations

import copy
import errno
import itertools
import math
import os
import re
import signal
import subprocess
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.running.environment import (
    clean_environ,
    config_speaks_of_junit,
    own_junit,
    speaks_of_junit,
    with_junit,
)
from pytest_ralph.running.process import HEARTBEAT, LINGER, Process
from pytest_ralph.running.spawn import direct_argv, find_shell, shell_argv
from pytest_ralph.running.spool import STORED, Spool, SpoolWriter, decode, mask_file
from pytest_ralph.running.strays import (
    VARIABLE,
    Mark,
    git_mark,
    is_youngest,
    kill_marked,
    kill_younger,
)
from pytest_ralph.running.watcher import Watcher

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_ralph.running.raw_output import RawOutput

# Seconds between SIGTERM and SIGKILL for a command whose time is up.
GRACE = 1.0
# Seconds that a shell may take to parse a command without running it.
PARSING = 10.0
# PIDs may have wrapped during a longer command, and a thorough search costs little beside it.
LONG = 10.0
# Why a file cannot be executed: it is not there, or not permitted, or a script without `#!`.
EXEC_ERRORS = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.ENOEXEC})
# Linux limits one argument to 128 KiB.
LONGEST_ARGUMENT = 128 * 1024 - 1
# Characters that the name of a log file must not have.
UNFIT = re.compile(r"[^\w.-]+", re.ASCII)


class RunError(Exception):
    """The command could not be started. The message is one line."""


class CommandResult(NamedTuple):
    """How a command ended. `exit_code` is what a shell reports: 128+n for signal n."""

    command: str
    exit_code: int | None
    signal: int | None
    timed_out: bool
    interrupted: bool
    duration: float
    stdout: Spool
    stderr: Spool | None = None
    junit: Path | None = None
    # Ended because `watch` said that it makes no progress.
    idle: bool = False

    @property
    def progress(self) -> bool:
        """Whether it printed anything, so that more time may help."""
        if self.stdout.size > 0:
            return True
        return self.stderr is not None and self.stderr.size > 0

    def output(self) -> str:
        """Return the beginning and the end of what was printed on either stream."""
        output = self.stdout.text()
        if self.stderr is not None:
            output += self.stderr.text()
        return output


class _Plan(NamedTuple):
    """Everything about one run of a command that is decided before it starts."""

    command: str
    argv: Sequence[str] | None
    cwd: Path
    env: Mapping[str, str]
    mark: Mark
    writers: tuple[SpoolWriter, ...]
    junit: str | None
    junit_before: object

    def ended(
        self,
        code: int | None,
        duration: float,
        *,
        timed_out: bool = False,
        interrupted: bool = False,
        idle: bool = False,
        junit: Path | None = None,
    ) -> CommandResult:
        """Return the result. `code` is Popen's return code: -n for signal n."""
        exit_code = code
        number = None
        if code is not None and code < 0:
            number = -code
            exit_code = 128 + number

        return CommandResult(
            command=self.command,
            exit_code=exit_code,
            signal=number,
            timed_out=timed_out,
            interrupted=interrupted,
            duration=duration,
            stdout=self.writers[0].spool(),
            stderr=self.writers[1].spool() if len(self.writers) > 1 else None,
            junit=junit,
            idle=idle,
        )


class Runner:
    """Runs the commands of one run, from any number of threads. Call `close` at the end."""

    def __init__(
        self,
        *,
        root: Path,
        environ: Mapping[str, str],
        logs: Path,
        shell: str | None = None,
        mask: Callable[[str], str] = str,
        limit: int = STORED,
        grace: float = GRACE,
        name: str = "commands",
    ) -> None:
        """Output goes to the directory `name` in `logs`, after `mask` has hidden secrets in it."""
        self.root = root.absolute()
        self.environ = clean_environ(environ)
        self._run = int.from_bytes(os.urandom(4), "big")
        self.logs = logs.absolute() / name
        self._shell = shell
        self._mask = mask
        self._limit = limit
        self._grace = grace
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._running: dict[int, Process] = {}
        # Label → the `keep` commands that have ended, with background processes that live on.
        self._kept: dict[str, list[tuple[Process, _Plan]]] = {}
        self._stopped = False
        self._children: weakref.WeakSet[Runner] = weakref.WeakSet()
        self._asks_for_junit = not config_speaks_of_junit(root)
        self._watcher = Watcher(self._run)

    def use_environment(self, environ: Mapping[str, str]) -> None:
        """Use this environment for all commands that start from now on."""
        self.environ = clean_environ(environ)

    def at(self, root: Path, env: Mapping[str, str]) -> Runner:
        """Return a runner for the same run with another root and further variables.

        It can be stopped alone, and is stopped with this one. It must not be closed: what its
        `keep` commands left running is released here.
        """
        with self._lock:
            child = copy.copy(self)
            child.root = root.absolute()
            child.environ = {**self.environ, **env}
            child._running = {}  # noqa: SLF001 - also a Runner
            child._children = weakref.WeakSet()  # noqa: SLF001
            self._children.add(child)
        return child

    def with_environment(self, environ: Mapping[str, str]) -> Runner:
        """Return a runner for the same run whose commands get another environment."""
        child = self.at(self.root, {})
        child.environ = dict(environ)
        return child

    @property
    def mark(self) -> Mark:
        """The mark on every process started here, by which a later run finds them after a kill."""
        return Mark(self._run, 0)

    def mark_git(self) -> dict[str, str]:
        """Return the variable by which git is found if the run is killed from now on."""
        self._watcher.start()
        return git_mark(self._run)

    def run(
        self,
        command: str,
        *,
        timeout: float | None = None,
        env: Mapping[str, str] | None = None,
        split: bool = False,
        cwd: Path | None = None,
        stdin: Path | None = None,
        argv: Sequence[str] | None = None,
        keep: bool = False,
        label: str = "",
        on_output: Callable[[str], None] | None = None,
        watch: Callable[[Sequence[Spool]], bool] | None = None,
        printed: Mapping[str, RawOutput] | None = None,
    ) -> CommandResult:
        """Run `command` with the shell, or `argv` without one, and wait for its end.

        Raise RunError if it cannot be started. `split` separates stdout and stderr, and requests no
        JUnit file, because pytest would mention it in the output. With `keep`, processes that it
        leaves in the background live until `release(label)` or `close()`. `on_output` receives the
        last line printed, about twice a second. `watch` is called as often with the output so far;
        if it returns False, the command is ended as `idle`. `printed` receives what is printed on
        `stdout` and `stderr` before it is masked.
        """
        plan = self._plan(command, argv, cwd, env, label, split, printed)
        if self._stopped:
            return plan.ended(None, 0.0, interrupted=True)
        heartbeat = None
        if on_output or watch:
            # Without a listener nothing interrupts the wait for the command.
            heartbeat = _Heartbeat(plan.writers, on_output, watch)
        started = time.monotonic()
        process = self._start(plan, stdin)
        in_time = self._follow(process, plan, timeout, heartbeat)
        duration = time.monotonic() - started
        has_ended = in_time and not self._stopped
        if keep and has_ended:
            self._keep(label, process, plan)
            return plan.ended(process.peek(), duration, junit=self._written(plan))

        code = self._finish(process, plan, thorough=not has_ended or duration > LONG)
        duration = time.monotonic() - started
        idle = heartbeat is not None and heartbeat.idle
        return plan.ended(
            code,
            duration,
            timed_out=not in_time and not idle,
            interrupted=self._stopped,
            idle=idle,
            junit=self._written(plan),
        )

    def syntax_error(self, command: str) -> str:
        """Return what the shell says about a command that it cannot parse, otherwise nothing."""
        shell = find_shell(self._shell, self.environ)
        if shell is None or len(os.fsencode(command)) >= LONGEST_ARGUMENT:
            return ""

        words = shell_argv(shell, command)
        try:
            parsed = subprocess.run(
                [shell, "-n", *words[1:]],
                env=self.environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PARSING,
                check=False,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return ""

        if parsed.returncode <= 0:
            # Parsed, or killed before it was.
            return ""
        lines = decode(parsed.stderr).strip().splitlines()
        message = lines[0].removeprefix(f"{shell}: ") if lines else "the shell cannot parse it"
        return self._mask(message)

    @property
    def uses_bash(self) -> bool:
        """Whether command lines are run by bash."""
        shell = find_shell(self._shell, self.environ)
        return shell is not None and Path(shell).name == "bash"

    @property
    def stopped(self) -> bool:
        """Whether the run was interrupted, so that nothing more is to be waited for."""
        return self._stopped

    def stop(self) -> None:
        """Kill everything that runs. Commands started later end at once, as interrupted."""
        with self._lock:
            self._stopped = True
            running = list(self._running.values())
            children = list(self._children)
        for process in running:
            process.signal(signal.SIGKILL)
        for child in children:
            child.stop()

    def release(self, label: str) -> None:
        """End what the `keep` commands with this label left running."""
        with self._lock:
            ended = self._kept.pop(label, [])
        for process, plan in ended:
            self._finish(process, plan, thorough=True)

    def close(self) -> None:
        """End the run: kill everything that it started."""
        self.stop()
        for label in list(self._kept):
            self.release(label)
        kill_marked(self.mark, whole_run=True)
        self._watcher.close()

    def _plan(
        self,
        command: str,
        argv: Sequence[str] | None,
        cwd: Path | None,
        env: Mapping[str, str] | None,
        label: str,
        split: bool,
        printed: Mapping[str, RawOutput] | None,
    ) -> _Plan:
        """Decide on the environment, the logs and the JUnit file of a command."""
        cwd = cwd or self.root
        mark = Mark(self._run, next(self._numbers))
        # The number first: a directory then lists the logs in the order of the commands.
        log = f"{self.logs}/{mark.number:03}-{_file_name(label)}"
        environ = {**self.environ, **(env or {})}
        environ[VARIABLE] = mark.variable
        environ["PWD"] = str(cwd.absolute())
        addopts = environ.get("PYTEST_ADDOPTS", "")
        junit = own_junit(command, addopts, cwd)
        before = _stamp(junit) if junit else None
        may_request = not split and self._asks_for_junit and junit is None
        if may_request and not speaks_of_junit(f"{command} {addopts}"):
            junit = f"{log}.junit"
            environ["PYTEST_ADDOPTS"] = with_junit(addopts, junit)

        suffixes = {"stdout": ".log"}
        if split:
            suffixes = {"stdout": ".out.log", "stderr": ".err.log"}
        printed = printed or {}
        writers = []
        for stream, suffix in suffixes.items():
            file = f"{log}{suffix}"
            writers.append(SpoolWriter(file, self._limit, self._mask, printed.get(stream)))
        return _Plan(
            command=command,
            argv=argv,
            cwd=cwd,
            env=environ,
            mark=mark,
            writers=tuple(writers),
            junit=junit,
            junit_before=before,
        )

    def _start(self, plan: _Plan, stdin: Path | None) -> Process:
        """Start the command. Raise RunError if that fails."""
        self._watcher.start()
        try:
            with plan.mark.inherited():
                process = self._spawn(plan, stdin or os.devnull)
        except (OSError, ValueError) as error:
            raise RunError(_why(error, plan, stdin)) from error
        with self._lock:
            self._running[process.pid] = process
            stopped = self._stopped
        if stopped:
            process.signal(signal.SIGKILL)
        return process

    def _spawn(self, plan: _Plan, stdin: str | os.PathLike[str]) -> Process:
        """Execute the words of a plain command directly, and anything else with the shell."""
        if plan.argv is not None:
            return _process(plan.argv, plan, stdin)
        words = None
        if self._shell is None:
            words = direct_argv(plan.command, plan.env)
        if words is not None:
            try:
                return _process(words, plan, stdin)
            except OSError as error:
                # If it cannot be executed, let the shell explain or interpret it.
                if error.errno not in EXEC_ERRORS:
                    raise
        return _process(self._shell_argv(plan), plan, stdin)

    def _shell_argv(self, plan: _Plan) -> list[str]:
        """Return the words that have the shell run the command; a very long one from a file."""
        shell = find_shell(self._shell, plan.env)
        if shell is None:
            raise RunError(f"shell not found: {self._shell or 'bash, sh'}")
        source = os.fsencode(plan.command)
        if len(source) < LONGEST_ARGUMENT:
            return shell_argv(shell, plan.command)

        script = Path(plan.writers[0].file).with_suffix(".sh")
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_bytes(source)
        return [shell, str(script)]

    def _follow(
        self, process: Process, plan: _Plan, timeout: float | None, heartbeat: _Heartbeat | None
    ) -> bool:
        """Read the output until the command ends. Return False if it had to be ended."""
        deadline = math.inf
        if timeout is not None:
            deadline = time.monotonic() + timeout
        try:
            in_time = process.follow(deadline, heartbeat)
            if in_time:
                process.drain(LINGER)
            else:
                self._ask_to_end(process)
        except BaseException:
            self._finish(process, plan, thorough=True)
            self._written(plan)
            raise
        return in_time

    def _ask_to_end(self, process: Process) -> None:
        """Have the group end by itself; kill it if it does not within the grace time."""
        process.signal(signal.SIGTERM)
        if process.follow(time.monotonic() + self._grace):
            # Its children may still be cleaning up.
            process.drain(self._grace)
        else:
            process.signal(signal.SIGKILL)
            process.drain(LINGER)

    def _finish(self, process: Process, plan: _Plan, *, thorough: bool) -> int:
        """Kill what is left of the command, and return Popen's return code."""
        if thorough or not is_youngest(process.pid):
            process.signal(signal.SIGKILL)
            kill_younger(plan.mark, process.pid)
        if thorough:
            kill_marked(plan.mark)
        code = process.reap()
        with self._lock:
            self._running.pop(process.pid, None)
        for writer in plan.writers:
            writer.close()
        return code

    def _written(self, plan: _Plan) -> Path | None:
        """Return the JUnit file if the command has written it. Secrets in our own are masked."""
        if plan.junit is None or _stamp(plan.junit) in {None, plan.junit_before}:
            return None
        written = Path(plan.junit)
        if written.parent == self.logs:
            mask_file(written, self._mask)
        return written

    def _keep(self, label: str, process: Process, plan: _Plan) -> None:
        """Leave the background processes of a command running, and go on reading their output."""
        for writer in plan.writers:
            writer.flush(everything=True)
        process.keep_reading()
        with self._lock:
            self._kept.setdefault(label, []).append((process, plan))


class _Heartbeat:
    """Called while a command runs: passes on its last line, and asks `watch` whether to go on."""

    def __init__(
        self,
        writers: Sequence[SpoolWriter],
        show: Callable[[str], None] | None,
        watch: Callable[[Sequence[Spool]], bool] | None,
    ) -> None:
        self.idle = False
        self._writers = writers
        self._show = show
        self._watch = watch
        self._shown = 0
        self._shown_at = 0.0
        self._watched_at = 0.0

    def __call__(self) -> bool:
        """Return whether the command may go on."""
        now = time.monotonic()
        if self._show is not None and now - self._shown_at >= HEARTBEAT:
            self._show_last_line(self._show, now)
        if self._watch is not None and now - self._watched_at >= HEARTBEAT:
            self._watched_at = now
            self.idle = not self._watch(self._output())
        return not self.idle

    def _output(self) -> list[Spool]:
        for writer in self._writers:
            writer.flush()
        return [writer.spool() for writer in self._writers]

    def _show_last_line(self, show: Callable[[str], None], now: float) -> None:
        """Show the line printed last, unless nothing was printed since the last call."""
        printed = sum(writer.size for writer in self._writers)
        if printed == self._shown:
            return
        self._shown = printed
        self._shown_at = now
        latest = max(self._writers, key=lambda writer: writer.touched)
        show(latest.last_line())


def _process(argv: Sequence[str], plan: _Plan, stdin: str | os.PathLike[str]) -> Process:
    return Process(argv, cwd=plan.cwd, env=plan.env, stdin=stdin, outputs=plan.writers)


def _why(error: Exception, plan: _Plan, stdin: Path | None) -> str:
    """Return in one line why the command cannot be started."""
    if not plan.cwd.is_dir():
        return f"directory not found: {plan.cwd}"
    if stdin is not None and not stdin.is_file():
        return f"input file not found: {stdin}"

    words = plan.argv or [plan.command]
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.E2BIG:
        size = sum(len(os.fsencode(word)) for word in words) // 1000
        too_long = f"command line or environment too long for this system ({size} kB)"
        return f"{too_long}: {plan.command[:60]!r}"

    reason = str(error)
    if number:
        reason = os.strerror(number)
    return f"cannot run {words[0][:200]!r}: {reason}"


def _file_name(label: str) -> str:
    return UNFIT.sub("-", label).strip(".-")[:60] or "command"


def _stamp(path: str) -> tuple[int, int] | None:
    """Return what changes when a file is written; None if there is no file."""
    try:
        stat = os.stat(path)  # noqa: PTH116 - asked after every command
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_ino
