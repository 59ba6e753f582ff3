"""`--ralph-interactive`: at each failure a person says what is done about it."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.recovery.decide import Decision
from pytest_ralph.report.failure_text import LONGEST_LINE
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.spec.task import Task

CHOICES = {"f": "fix", "r": "retry", "s": "skip", "e": "edit", "h": "halt"}
QUESTION = "[f]ix, [r]etry, [s]kip, [e]dit the fix task, [h]alt (Enter: as decided)? "


class Interactive:
    """Asks on the terminal, one question at a time whichever thread has it."""

    def __init__(self, config: pytest.Config, halt: Callable[[str], None]) -> None:
        self._config, self._halt = config, halt
        self._lock = threading.Lock()

    def ask(self, task: Task, failure: Failure, decision: Decision) -> Decision | None:
        with self._lock, self._on_the_terminal():
            for line in _situation(task, failure, decision):
                print(line)  # noqa: T201 - a conversation on the terminal, with capturing off
            return self._answer(decision)

    def _answer(self, decision: Decision) -> Decision | None:
        while True:
            try:
                word = input(QUESTION).strip().lower()[:1]
            except EOFError:
                word = "h"
            if not word:
                return None
            if word in CHOICES:
                return self._decision(CHOICES[word], decision)

    def _decision(self, choice: str, decided: Decision) -> Decision:
        if choice == "halt":
            self._halt("halted by a person")
            return Decision("escalate", "halted by a person", "halted")
        if choice == "skip":
            return Decision("escalate", "skipped by a person", "skipped")
        if choice == "retry":
            return Decision("retry", "a person asked to try again")
        action = decided.action if decided.action in ("repair", "rollback", "continue", "enrich", "split") else "fix"
        return Decision("fix" if choice == "edit" else action, "a person asked for a fix", edit=choice == "edit")

    def edit(self, block: str) -> str:
        """The fix task as a person leaves it in their editor; as it was if they leave nothing."""
        command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
        with self._lock, self._on_the_terminal(), tempfile.TemporaryDirectory(prefix="ralph-edit-") as directory:
            file = Path(directory, "fix-task.md")
            file.write_text(block + "\n", encoding="utf-8")
            status = subprocess.call([*command, str(file)])
            edited = file.read_text(encoding="utf-8").strip("\n")
        return edited if status == 0 and edited.strip() else block

    @contextlib.contextmanager
    def _on_the_terminal(self) -> Iterator[None]:
        capture = self._config.pluginmanager.getplugin("capturemanager")
        if capture is None:
            yield
            return
        capture.suspend(in_=True)
        try:
            yield
        finally:
            capture.resume()


def _situation(task: Task, failure: Failure, decision: Decision) -> Iterator[str]:
    yield ""
    yield f"{one_line(task.heading, LONGEST_LINE)} failed: {failure.kind}: {one_line(failure.error, LONGEST_LINE)}"
    yield f"  decided: {decision.action} ({one_line(decision.reason, LONGEST_LINE)})"
