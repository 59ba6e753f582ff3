"""Delegation: one task handed to whoever carries it out, with what they need to know."""

from __future__ import annotations

import os
import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.failure.failure import NO_FIX, NOT_COMPLETE, VERIFICATION_FAILED, Failure
from pytest_ralph.files import fault_point
from pytest_ralph.fixing.agents.base import Job
from pytest_ralph.fixing.agents.naming import display_name
from pytest_ralph.fixing.facts import collect_facts
from pytest_ralph.fixing.prompts import PromptContext

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_ralph.fixing.agents.base import Outcome
    from pytest_ralph.fixing.prompts import Form
    from pytest_ralph.healing.attempt_log import AttemptLog
    from pytest_ralph.healing.decide import Decision, TaskHistory
    from pytest_ralph.healing.services import Services
    from pytest_ralph.healing.spec_files import SpecFiles
    from pytest_ralph.spec.task import Task

# Asked for in the prompt: one line that says what is being tried.
APPROACH = re.compile(r"^\W*approach\W*:\s*(.+)$", re.IGNORECASE | re.MULTILINE)


FORMS: dict[str, Form] = {
    "execute": "execute",
    "retry": "retry",
    "continue": "continue",
    "enrich": "enrich",
    "split": "split",
}


class Delegation:
    """All executor runs for one original task; a continuation knows the session it continues."""

    def __init__(self, services: Services, spec_files: SpecFiles, attempt_log: AttemptLog) -> None:
        self.services, self.spec_files, self.attempt_log = services, spec_files, attempt_log
        self._session = ""

    def run(
        self,
        task: Task,
        failure: Failure | None,
        decision: Decision,
        past: TaskHistory,
        timeout: float,
    ) -> Outcome | None:
        """One run; None where nobody takes the task. Whatever is said of it, only the original's Verify decides."""
        past = replace(past, action=decision.action, reason=decision.reason)
        prompt = self._prompt(task, failure, past)
        chance = foretell(
            self.services, self.attempt_log, task, failure, self.services.executor_name
        )
        started, clock = time.time(), time.monotonic()
        fault_point("before an executor runs")
        job = self._job(task, failure, prompt, decision, timeout)
        with self.services.live(self._shown(task, past, chance), timeout, task.title) as on_output:
            outcome = self.services.hooks.execute(task, prompt, timeout) or self._ask(
                job, on_output
            )
        if outcome is None:
            return None
        if outcome.interrupted:
            raise KeyboardInterrupt
        outcome = replace(outcome, failure=self._of_task(task, outcome))
        self._session = outcome.session_id
        self.attempt_log.carried_out(
            task,
            failure,
            outcome,
            approach_of(outcome),
            started=started,
            duration=time.monotonic() - clock,
            executor=self.services.executor_name,
            prediction=chance,
        )
        fault_point("after an executor ran")
        return outcome

    def _prompt(self, task: Task, failure: Failure | None, past: TaskHistory) -> str:
        told = self.services.hooks.prompt(task, failure, past)
        if told is not None:
            return told
        return self.services.prompts.write(
            form_of(failure, past), self._context(task, failure, past)
        )

    def _context(self, task: Task, failure: Failure | None, past: TaskHistory) -> PromptContext:
        spec = self.spec_files.spec
        return PromptContext(
            task=task,
            spec_name=spec.name,
            spec_path=os.path.relpath(spec.path, self.services.root),
            fix_for=spec.get(task.fix_for) if task.fix_for else None,
            failure=failure,
            reason=past.reason,
            guidance=self._guidance(failure),
            tried=past.tried,
            learnings=past.learnings,
            hints=self.services.advisor.hints(failure) if failure else (),
            facts=collect_facts(self.services.root) if past.action == "enrich" else None,
            attempt=past.attempt,
            attempts=past.attempts,
            tasks_completed=sum(one.checked for one in spec.tasks),
            tasks_total=len(spec.tasks),
        )

    def _guidance(self, failure: Failure | None) -> str:
        """The advice for this failure; and that the one before claimed success, where it did."""
        claimed = self.services.advice("verification_mismatch") if self.attempt_log.claimed else ""
        return f"{claimed} {failure.guidance if failure else ''}".strip()

    def _shown(self, task: Task, past: TaskHistory, chance: float | None) -> str:
        """`1.3.1 fix 1 of 3 by claude, chance 71%`."""
        doing = (
            f"fix {max(1, len(past.fixes))} of {past.max_fixes}" if task.fix_for else past.action
        )
        foretold = "" if chance is None else f", chance {chance:.0%}"
        return f"{task.id} {doing} by {display_name(self.services.executor_name)}{foretold}"

    def _ask(self, job: Job, on_output: Callable[[str], None] | None) -> Outcome | None:
        return (
            self.services.executor.run(job, self.services.runner, on_output)
            if self.services.executor
            else None
        )

    def _job(
        self, task: Task, failure: Failure | None, prompt: str, decision: Decision, timeout: float
    ) -> Job:
        return Job(
            task_id=task.id,
            prompt=prompt,
            timeout=timeout,
            fix_for=task.fix_for or "",
            spec_path=self.spec_files.spec.directory,
            kind=failure.kind if failure else "",
            attempt=self.attempt_log.runs + 1,
            session_id=self._session if decision.action == "continue" else "",
            files=task.files,
        )

    def _of_task(self, task: Task, outcome: Outcome) -> Failure | None:
        if outcome.completed:
            return None
        error = outcome.note or NOT_COMPLETE
        incomplete = Failure(kind="task_incomplete", type=VERIFICATION_FAILED, error=error)
        return self.services.about(task, outcome.failure or incomplete)


def foretell(
    services: Services, attempt_log: AttemptLog, task: Task, failure: Failure | None, who: str
) -> float | None:
    """The chance that it helps to have `task` carried out, told before it is; what comes of it is scored by it."""
    chance = services.advisor.chance(failure.kind, who) if failure else None
    if chance is None:
        return None
    line = f"{task.id}: chance that this helps: {str(chance).replace(who, display_name(who))}"
    attempt_log.say(line)
    services.tell(line)
    return chance.probability


def approach_of(outcome: Outcome) -> str:
    """What the executor says it tried; nothing is made up for one that does not say."""
    if outcome.failure and outcome.failure.attempted_fix not in ("", NO_FIX):
        return outcome.failure.attempted_fix
    said = APPROACH.findall(outcome.output)
    return str(said[-1]).strip() if said else ""


def form_of(failure: Failure | None, past: TaskHistory) -> Form:
    """Which form of a prompt fits: work that was begun is continued, whoever began it."""
    if failure is not None and failure.category == "partial" and past.action == "fix":
        return "continue"
    return FORMS.get(past.action, "fix")
