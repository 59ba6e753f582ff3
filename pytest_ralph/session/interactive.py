"""`--ralph-interactive`: at each failure a person says what is done about it."""

from __future__ import annotations

import contextlib
import os
import re
import select
import shlex
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.healing.decide import Decision
from pytest_ralph.report.failure_text import LONGEST_LINE
from pytest_ralph.text.bounded import bounded
from pytest_ralph.text.inert import one_line, terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.session.screen import Screen
    from pytest_ralph.spec.task import Task

CHOICES = {"f": "fix", "r": "retry", "s": "skip", "e": "edit", "h": "halt"}
QUESTION = "[f]ix, [r]etry, [s]kip, [e]dit the fix task, [h]alt (Enter: {decided})? "
AGAIN = "Enter to edit it again, [u]se it as it was? "
HALTED = "halted by a person"
# Lines of an output that a person is shown before the question.
HEAD, TAIL, WIDEST = 3, 9, 200
# How often whoever waits for an answer looks whether the run was stopped.
LOOK = 0.1
_OPENING = re.compile(r"- \[ \] \S+ .*?\[FIX [^\]]+\]")


class Console:
    """The terminal a person sits at, whatever pytest puts in the place of standard input and output meanwhile."""

    def __init__(self, reader: int, writer: int) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    def find(cls, config: pytest.Config) -> Console | None:
        """None where standard input or output is no terminal."""
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
        """What was typed; None if no more will be."""
        while not stopped.is_set():
            if select.select([self.reader], [], [], LOOK)[0]:
                try:
                    typed = os.read(self.reader, 4096)
                except OSError:
                    return None
                return typed.decode("utf-8", "replace").strip() if typed else None
        # Ctrl-C is for the main thread to notice; whichever thread asks ends with it.
        raise KeyboardInterrupt

    def close(self) -> None:
        os.close(self.reader)
        os.close(self.writer)


@contextlib.contextmanager
def _uncaptured(config: pytest.Config) -> Iterator[None]:
    """Between tests pytest gives standard output back, but not standard input."""
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
    """Asks on the terminal, one question at a time whichever thread has it."""

    def __init__(self, console: Console, screen: Screen, halt: Callable[[str], None]) -> None:
        self._console, self._screen, self._halt = console, screen, halt
        self._lock = threading.RLock()
        self._stopped = threading.Event()
        self._halted = False

    def stop(self) -> None:
        """No answer is waited for any longer."""
        self._stopped.set()

    def ask(self, task: Task, failure: Failure, decision: Decision) -> Decision | None:
        """A person's decision; None if it is to be as decided."""
        with self._conversation():
            if self._halted:
                return self._decision("halt", decision)
            first, *more = _situation(task, failure, decision)
            self._console.write("\n".join([self._screen.heading(first), *more, ""]))
            choice = self._choose(QUESTION.format(decided=decision.action), CHOICES)
            return self._decision(choice, decision) if choice else None

    def _choose(self, question: str, choices: dict[str, str]) -> str:
        """One of the choices, empty for Enter; where no more will be typed, the last of them."""
        while True:
            self._console.write(question)
            typed = self._console.read_line(self._stopped)
            if typed is None:
                self._console.write("\n")
                return list(choices.values())[-1]
            if not typed or typed[0].lower() in choices:
                return choices[typed[0].lower()] if typed else ""

    def _decision(self, choice: str, decided: Decision) -> Decision:
        if choice == "halt":
            self._halted = True
            self._halt(HALTED)
            return Decision("escalate", HALTED, "halted")
        if choice == "skip":
            return Decision("escalate", "skipped by a person", "skipped")
        if choice == "retry":
            return Decision("retry", "a person asked to try again")
        action = (
            decided.action
            if decided.action in ("repair", "rollback", "continue", "enrich", "split")
            else "fix"
        )
        return Decision(
            "fix" if choice == "edit" else action, "a person asked for a fix", edit=choice == "edit"
        )

    def edit(self, block: str) -> str:
        """The fix task as a person leaves it in their editor; as it was if they leave nothing, or want it back."""
        opening = _OPENING.match(block)
        wanted = opening[0] if opening else block[:6]
        with self._conversation(), tempfile.TemporaryDirectory(prefix="ralph-edit-") as directory:
            file = Path(directory, "fix-task.md")
            file.write_text(f"{block}\n", encoding="utf-8")
            while True:
                edited = self._edited(file)
                if not edited.strip():
                    return block
                if edited.startswith(wanted):
                    return edited
                self._console.write(f"The fix task must start with `{wanted}`.\n")
                if self._choose(AGAIN, {"u": "use"}):
                    return block

    def _edited(self, file: Path) -> str:
        """What the editor leaves of the file; nothing if it could not be run, or says that it failed."""
        command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
        reader, writer = self._console.reader, self._console.writer
        try:
            status = subprocess.call(
                [*command, str(file)], stdin=reader, stdout=writer, stderr=writer
            )
        except OSError as error:
            self._console.write(
                f"The editor {command[0]!r} cannot be run ({error.strerror}): set EDITOR.\n"
            )
            return ""
        return file.read_text(encoding="utf-8", errors="replace").strip("\n") if status == 0 else ""

    @contextlib.contextmanager
    def _conversation(self) -> Iterator[None]:
        # Only in the main thread, in which pytest writes, may it be made to write.
        in_main = threading.current_thread() is threading.main_thread()
        with (
            self._lock,
            self._screen.between_lines() if in_main else self._screen.aside() as reporter,
        ):
            if reporter is None:
                self._console.write("\n")
            yield


def _situation(task: Task, failure: Failure, decision: Decision) -> Iterator[str]:
    yield f"{one_line(task.heading, LONGEST_LINE)}: {failure.kind}: {one_line(failure.error, LONGEST_LINE)}"
    if failure.command:
        yield f"  $ {one_line(failure.command, LONGEST_LINE)}"
    output = bounded(terminal(failure.raw_output).strip("\n"), HEAD, TAIL, widest=WIDEST)
    yield from (f"  | {line}" for line in output.splitlines())
    yield f"  decided: {decision.action} ({one_line(decision.reason, LONGEST_LINE)})"
