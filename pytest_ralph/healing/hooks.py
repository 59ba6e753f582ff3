"""Calls of the pytest_ralph hooks. One that raises or returns a wrong value is a HookError."""

from __future__ import annotations

import traceback
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ralph.failure.failure import Failure
from pytest_ralph.fixing.agents.base import Outcome
from pytest_ralph.healing.decide import ACTIONS, Decision
from pytest_ralph.healing.errors import HookError
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from pytest_ralph.failure.evidence import Evidence
    from pytest_ralph.healing.decide import TaskHistory
    from pytest_ralph.spec.task import Task


class Hooks:
    """The hooks of a run; `relay` is pluggy's."""

    def __init__(self, relay: Any) -> None:
        self._relay = relay

    @property
    def can_execute(self) -> bool:
        """Whether a plugin carries out tasks."""
        return bool(self._relay.pytest_ralph_execute.get_hookimpls())

    def classify(self, evidence: Evidence, task: Task) -> Failure:
        answer = self.call("classify", evidence=evidence, task=task)
        if not isinstance(answer, Failure):
            raise _unusable("classify", answer, "a Failure")
        return answer

    def decide(self, failure: Failure, task: Task, history: TaskHistory) -> Decision:
        answer = self.call("decide", failure=failure, task=task, history=history)
        if isinstance(answer, str) and answer in ACTIONS:
            return Decision(answer, "decided by a plugin")  # type: ignore[arg-type]
        if not isinstance(answer, Decision) or answer.action not in ACTIONS:
            raise _unusable("decide", answer, f"a Decision or one of {', '.join(ACTIONS)}")
        return answer

    def fix_task(self, task: Task, failure: Failure, number: str) -> str | None:
        return self._text("fix_task", task=task, failure=failure, number=number)

    def prompt(self, task: Task, failure: Failure | None, history: TaskHistory) -> str | None:
        return self._text("prompt", task=task, failure=failure, history=history)

    def execute(self, task: Task, prompt: str, timeout: float) -> Outcome | None:
        answer = self.call("execute", task=task, prompt=prompt, timeout=timeout)
        if isinstance(answer, bool):
            return Outcome(completed=answer)
        if isinstance(answer, Failure):
            return Outcome(completed=False, failure=answer)
        if answer is not None and not isinstance(answer, Outcome):
            raise _unusable("execute", answer, "True, False, a Failure or an Outcome")
        return answer

    def _text(self, name: str, **given: Any) -> str | None:
        answer = self.call(name, **given)
        if answer is not None and not isinstance(answer, str):
            raise _unusable(name, answer, "a text")
        return answer

    def call(self, name: str, **given: Any) -> Any:
        """Call the hook pytest_ralph_`name`."""
        try:
            return getattr(self._relay, f"pytest_ralph_{name}")(**given)
        except Exception as error:
            said = one_line(f"{type(error).__name__}: {error}", 300)
            raise HookError(f"hook pytest_ralph_{name} raised {said}{_place(error)}") from error


def _unusable(name: str, answer: object, wanted: str) -> HookError:
    return HookError(
        f"hook pytest_ralph_{name} must return {wanted}, not {one_line(repr(answer), 120)}"
    )


def _place(error: Exception) -> str:
    """Where in the hook: the first frame below pluggy's."""
    place = ""
    for above, frame in pairwise(traceback.extract_tb(error.__traceback__)):
        if Path(above.filename).parent.name == "pluggy":
            place = f" ({Path(frame.filename).name}:{frame.lineno})"
    return place
