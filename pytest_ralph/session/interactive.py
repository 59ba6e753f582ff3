"""`--ralph-interactive`: a person decides at each failure."""

from __future__ import annotations

import contextlib
import os
import re
import select
import shlex
import subprocess
import threading
from typing import TYPE_CHECKING

from pytest_ralph.failure.wording import headline
from pytest_ralph.files import temporary_directory
from pytest_ralph.fixing.errors import GitError
from pytest_ralph.fixing.git.command import GitCommand
from pytest_ralph.healing.decide import Decision
from pytest_ralph.report.failure_text import LONGEST_LINE
from pytest_ralph.text.bounded import cut_lines
from pytest_ralph.text.inert import one_line, terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pytest

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.session.messages import Screen
    from pytest_ralph.spec.task import Task

# What a person can look at before they decide.
VIEWS = {"o": "output", "d": "diff", "!": "shell", "?": "help"}
# The end of the input is the last choice.
CHOICES = {"f": "fix", "r": "retry", "s": "skip", "e": "edit", "g": "give up", "h": "halt"}
# Fits in 80 columns.
QUESTION = "[f]ix, [r]etry, [s]kip, [e]dit, [g]ive up, [h]alt, ? for help (Enter: {decided})? "
HELP = """\
  f      write a fix task and have it carried out
  r      verify the task again
  s      skip the task; tasks that depend on it run
  e      edit the fix task in $EDITOR before it is written to tasks.md
  g      give up on the task; tasks that depend on it are blocked
  h      halt: start no further task
  o      show the whole output
  d      show what changed since the last commit (git diff)
  !      open a shell; leave it with exit to come back here
  Enter  continue as decided
"""
EDIT_AGAIN = "Enter to edit it again, [u]se it as it was? "
HALTED = "halted at your request"
FIX_WANTED = "a fix was requested"
DECISIONS = {
    "fix": Decision("fix", FIX_WANTED),
    "edit": Decision("fix", FIX_WANTED, edit=True),
    "retry": Decision("retry", "another attempt was requested"),
    "skip": Decision("escalate", "skipped at your request", "skipped"),
    "give up": Decision("escalate", "at your request", "given up"),
    "halt": Decision("escalate", HALTED, "halted"),
}
# Decisions that "fix" confirms as they are.
WAYS_TO_FIX = ("repair", "rollback", "continue", "enrich", "split")
# The part of an output that is shown before the question.
HEAD_LINES = 3
TAIL_LINES = 9
WIDEST_LINE = 200
# Seconds between two checks whether the run was stopped while a question is open.
POLL_INTERVAL = 0.1
_FIX_TASK_START = re.compile(r"- \[ \] \S+ .*?\[FIX [^\]]+\]")


class Console:
    """The terminal, by descriptors that stay valid while pytest replaces stdin and stdout."""

    def __init__(self, reader: int, writer: int) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    def find(cls, config: pytest.Config) -> Console | None:
        """Return the terminal; None if standard input or output is something else."""
        with _uncaptured(config):
            if not (os.isatty(0) and os.isatty(1)):
                return None
            console = cls(os.dup(0), os.dup(1))
        config.add_cleanup(console.close)
        return console

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            os.write(self.writer, text.encode("utf-8", "replace"))

    def read_line(self, stopped: threading.Event) -> str | None:
        """Return the next line; None at the end of the input.

        Raise KeyboardInterrupt once `stopped` is set: Ctrl-C reaches only the main thread, and
        the question may be asked in another one.
        """
        while not stopped.is_set():
            readable, _, _ = select.select([self.reader], [], [], POLL_INTERVAL)
            if not readable:
                continue
            try:
                typed = os.read(self.reader, 4096)
            except OSError:
                return None
            return typed.decode("utf-8", "replace").strip() if typed else None
        raise KeyboardInterrupt

    def close(self) -> None:
        os.close(self.reader)
        os.close(self.writer)


@contextlib.contextmanager
def _uncaptured(config: pytest.Config) -> Iterator[None]:
    """Give standard input back too, which pytest captures even between tests."""
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is None:
        yield
        return
    capture.suspend_global_capture(in_=True)
    try:
        yield
    finally:
        capture.resume_global_capture()
        capture.suspend_global_capture()


class Interactive:
    """Asks a person on the terminal, one question at a time, from any thread."""

    def __init__(
        self, console: Console, screen: Screen, halt: Callable[[str], None], root: Path
    ) -> None:
        self._root = root
        self._console = console
        self._screen = screen
        self._halt = halt
        self._lock = threading.RLock()
        self._stopped = threading.Event()
        self._halted = False

    def stop(self) -> None:
        """Wait for no more answers."""
        self._stopped.set()

    def ask(self, task: Task, failure: Failure, decision: Decision) -> Decision | None:
        """Return what a person decides about a failure; None to go on as decided."""
        with self._conversation():
            if self._halted:
                return self._decision("halt", decision)
            heading, *details = _describe(task, failure, decision)
            lines = [self._screen.heading(heading), *details, ""]
            self._console.write("\n".join(lines))
            question = QUESTION.format(decided=_action_name(decision))
            while True:
                choice = self._choose(question, VIEWS | CHOICES)
                if not choice:
                    return None
                if choice in CHOICES.values():
                    return self._decision(choice, decision)
                self._show(choice, failure)

    def _show(self, view: str, failure: Failure) -> None:
        """Show what a person asks for before they decide."""
        match view:
            case "output":
                output = terminal(failure.raw_output).strip("\n")
                self._console.write(f"{output or 'The command printed nothing.'}\n")
            case "diff":
                self._console.write(self._diff())
            case "shell":
                self._call([os.environ.get("SHELL") or "/bin/sh"])
            case _:
                self._console.write(HELP)

    def _diff(self) -> str:
        """Return what git says has changed in the working tree."""
        git = GitCommand.at(self._root)
        try:
            result = git.run("diff", "--no-color", "--no-ext-diff", "HEAD")
        except GitError as error:
            return f"{error}\n"
        if result.status != 0:
            return f"{terminal(result.stderr).strip()}\n"
        return terminal(result.stdout) or "Nothing has changed since the last commit.\n"

    def _choose(self, question: str, choices: dict[str, str]) -> str:
        """Ask until the answer is a choice or Enter (empty); at end of input, the last choice.

        The answer to anything else is the help, if there is any.
        """
        while True:
            self._console.write(question)
            typed = self._console.read_line(self._stopped)
            if typed is None:
                self._console.write("\n")
                return list(choices.values())[-1]
            if not typed:
                return ""
            letter = typed[0].lower()
            if letter not in choices and "?" in choices:
                letter = "?"
            if letter in choices:
                return choices[letter]

    def _decision(self, choice: str, decided: Decision) -> Decision:
        if choice == "halt":
            self._halted = True
            self._halt(HALTED)
        if choice == "fix" and decided.action in WAYS_TO_FIX:
            return Decision(decided.action, FIX_WANTED)
        return DECISIONS[choice]

    def edit(self, block: str) -> str:
        """Let a person edit a fix task; return it unchanged if they leave nothing or undo it."""
        start = _FIX_TASK_START.match(block)
        required = start[0] if start else block[:6]
        with self._conversation(), temporary_directory("edit") as directory:
            file = directory / "fix-task.md"
            file.write_text(f"{block}\n", encoding="utf-8")
            while True:
                edited = self._run_editor(file)
                if not edited.strip():
                    return block
                if edited.startswith(required):
                    return edited
                self._console.write(f"The fix task must start with `{required}`.\n")
                if self._choose(EDIT_AGAIN, {"u": "use"}):
                    return block

    def _run_editor(self, file: Path) -> str:
        """Return the text of the file after editing; empty if the editor failed."""
        command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
        if not self._call([*command, str(file)], hint="set EDITOR"):
            return ""
        return file.read_text(encoding="utf-8", errors="replace").strip("\n")

    def _call(self, command: list[str], hint: str = "set SHELL") -> bool:
        """Run a program on the terminal; return whether it succeeded."""
        try:
            status = subprocess.call(
                command,
                cwd=self._root,
                stdin=self._console.reader,
                stdout=self._console.writer,
                stderr=self._console.writer,
            )
        except OSError as error:
            self._console.write(f"{command[0]!r} cannot be run ({error.strerror}): {hint}.\n")
            return False
        return status == 0

    @contextlib.contextmanager
    def _conversation(self) -> Iterator[None]:
        """Hold the terminal for one question and its answer."""
        with self._lock:
            if threading.current_thread() is threading.main_thread():
                with self._screen.between_lines() as reporter:
                    if reporter is None:
                        self._console.write("\n")
                    yield
            else:
                # pytest's reporter may only write in the main thread.
                with self._screen.without_live_rows():
                    self._console.write("\n")
                    yield


def _describe(task: Task, failure: Failure, decision: Decision) -> Iterator[str]:
    heading = one_line(task.heading, LONGEST_LINE)
    error = one_line(failure.error, LONGEST_LINE)
    yield f"{heading}: {headline(failure.kind)}: {error}"
    if failure.command:
        yield f"  $ {one_line(failure.command, LONGEST_LINE)}"
    output = terminal(failure.raw_output).strip("\n")
    shown = cut_lines(output, HEAD_LINES, TAIL_LINES, widest=WIDEST_LINE)
    for line in shown.splitlines():
        yield f"  | {line}"
    reason = one_line(decision.reason, LONGEST_LINE)
    yield f"  decided: {_action_name(decision)} ({reason})"


def _action_name(decision: Decision) -> str:
    return "give up" if decision.action == "escalate" else decision.action
