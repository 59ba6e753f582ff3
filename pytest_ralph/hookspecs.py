"""The hooks of pytest-ralph, for conftest.py and plugins.

For the first five hooks, the first result that is not None wins, and the package's own behaviour
is the last implementation. If one of them raises an exception or returns something invalid, its
task fails with one line that names the hook. The others are notifications: if one raises an
exception, the line is only shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_ralph.failure.evidence import Evidence
    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.fixing.agents.base import Outcome
    from pytest_ralph.healing.decide import Decision, TaskHistory
    from pytest_ralph.spec.document import Spec
    from pytest_ralph.spec.task import Task


@pytest.hookspec(firstresult=True)
def pytest_ralph_classify(evidence: Evidence, task: Task) -> Failure | None:
    """Classify a failure by how the command ended and what it printed."""


@pytest.hookspec(firstresult=True)
def pytest_ralph_decide(
    failure: Failure, task: Task, history: TaskHistory
) -> Decision | str | None:
    """Decide what to do about a failure, given what was tried before.

    Return a Decision with its reason, or only its action: `retry`, `repair`, `fix`, `rollback`,
    `continue`, `enrich`, `split` or `escalate`.
    """


@pytest.hookspec(firstresult=True)
def pytest_ralph_fix_task(task: Task, failure: Failure, number: str) -> str | None:
    """Return the fix task: Markdown for tasks.md that starts with `- [ ] 1.3.1 [FIX 1.3]`.

    `number` is the id of the fix task.
    """


@pytest.hookspec(firstresult=True)
def pytest_ralph_prompt(task: Task, failure: Failure | None, history: TaskHistory) -> str | None:
    """Return the prompt for the executor."""


@pytest.hookspec(firstresult=True)
def pytest_ralph_execute(
    task: Task, prompt: str, timeout: float
) -> Outcome | Failure | bool | None:
    """Carry out a task in place of the executor.

    Return True or a completed Outcome if it is done, False or a Failure if not.
    """


def pytest_ralph_failed(task: Task, failure: Failure, attempt: int) -> None:
    """An attempt at a task failed."""


def pytest_ralph_fix_inserted(task: Task, fix: Task, failure: Failure) -> None:
    """A fix task was written into tasks.md."""


def pytest_ralph_recovered(task: Task, fixes: tuple[str, ...]) -> None:
    """A task that had failed now passes."""


def pytest_ralph_escalated(task: Task, failure: Failure, reason: str) -> None:
    """A task could not be recovered; `reason` tells why nothing more is tried."""


def pytest_ralph_halted(spec: Spec, failed: tuple[str, ...], blocked: tuple[str, ...]) -> None:
    """Work on a spec ended with tasks that failed."""
