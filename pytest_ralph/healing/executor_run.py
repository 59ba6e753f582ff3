"""One run of an executor on one task: its prompt, its job, and what is recorded of it."""

from __future__ import annotations

import os
import re
import time
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, cast, get_args

from pytest_ralph.failure.failure import NO_FIX, NOT_COMPLETE, VERIFICATION_FAILED, Failure
from pytest_ralph.files import TASKS_NAME, fault_point
from pytest_ralph.fixing.agents import display_name
from pytest_ralph.fixing.agents.base import Job
from pytest_ralph.fixing.diffs import diff_of
from pytest_ralph.fixing.errors import GitError
from pytest_ralph.fixing.facts import collect_facts
from pytest_ralph.fixing.prompts import Form, PromptContext
from pytest_ralph.fixing.shorten import shortened_diff
from pytest_ralph.healing.decide import Decision
from pytest_ralph.healing.errors import IsolationError
from pytest_ralph.healing.guard import Guard
from pytest_ralph.spec.task import is_e2e_startup
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pytest_ralph.fixing.agents.base import Executor, Outcome, Trouble
    from pytest_ralph.fixing.isolation.merge import Conflict
    from pytest_ralph.healing.decide import TaskHistory
    from pytest_ralph.healing.guard import GuardReport
    from pytest_ralph.healing.isolated_run import IsolatedRuns
    from pytest_ralph.healing.services import Services
    from pytest_ralph.healing.task_run import TaskRun
    from pytest_ralph.running.checks import VerifyResult
    from pytest_ralph.running.runner import Runner
    from pytest_ralph.spec.task import Task

    # Runs the Verify of the original task in the project or in a worktree of it.
    VerifyIn = Callable[[Path, Runner], VerifyResult]

# The prompt asks for one line that names the approach.
_APPROACH = re.compile(r"^\W*approach\W*:\s*(.+)$", re.IGNORECASE | re.MULTILINE)

# Bytes of a diff that are kept for the report and for later prompts, which show still less of it.
DIFF_LIMIT = 30_000
MAX_DOCUMENTS = 20
LONGEST_NOTE = 200

# Actions that go on with the work of the run before. Its session is empty if its context is full.
RESUMING_ACTIONS = ("continue", "retry")


class Request(NamedTuple):
    """What an executor is asked for: carry out `task` in answer to `failure`, as was decided.

    `history` is that of the task, or of the one to be fixed. The executor has `history.timeout`
    seconds, which is twice the usual time if `extended`. This is `attempt` of `attempts` at
    carrying out a task by itself. `is_verified` tells whether Verify decides about it, and not only
    the executor.
    """

    task: Task
    failure: Failure | None
    history: TaskHistory
    extended: bool = False
    attempt: int = 1
    attempts: int = 1
    is_verified: bool = True


class ObservedRun(NamedTuple):
    """An executor run that has ended, and what came of its changes.

    executor: The executor that ran; None if a plugin carried out the task, under the same `name`.
    prediction: The estimated probability, before the run, that it would help.
    verified: The result of Verify that the run ended with, if it was verified already.
    merged: Whether its changes are in the project.
    conflicts: Why its changes could not be merged.
    in_trouble: The other candidates that could not work, and why.
    tree: A text that changes with the content of the worktree; empty if nothing differs there.
    """

    outcome: Outcome
    report: GuardReport
    diff: str = ""
    executor: Executor | None = None
    verified: VerifyResult | None = None
    merged: bool = True
    conflicts: tuple[Conflict, ...] = ()
    in_trouble: tuple[tuple[Executor, Trouble], ...] = ()
    tree: str = ""
    name: str = ""
    started: float = 0.0
    duration: float = 0.0
    prediction: float | None = None

    @property
    def approach(self) -> str:
        """What the executor says it tried; empty if it does not say."""
        return approach_of(self.outcome)

    @property
    def worth_verifying(self) -> bool:
        """Whether the original may pass now, whatever the executor says about its work."""
        changed = bool(self.report.changed)
        if changed or self.report.refusal:
            # Some of the changes of a refused run may have been impossible to undo.
            return changed
        if self.outcome.completed or self.outcome.uninformative:
            return True
        ended = self.outcome.ended
        return ended is not None and ended.exit_code == 0

    @property
    def has_passed(self) -> bool:
        """Whether the run ended with a Verify that passed."""
        return self.verified is not None and self.verified.passed


class ExecutorRuns:
    """All executor runs for one original task; a continuation resumes the session before it."""

    def __init__(self, run: TaskRun) -> None:
        self.services = run.services
        self.spec_files = run.spec_files
        self.log = run.log
        self.guard = Guard(run.services, run.spec_files, run.task)
        self._verify_in = run.verify_in
        self.last: ObservedRun | None = None

    def run(self, request: Request) -> ObservedRun | None:
        """Have a task carried out once; None if there is no executor for it.

        The outcome is the executor's own account: only the original's Verify decides. Changes that
        cannot be merged into the project go back to the executor once.
        """
        run = self._run(request, ())
        if run is None or not run.conflicts:
            return run
        budget = self.services.budget
        if budget.is_cost_reached or not budget.take():
            return run
        # It gets no third chance, so nothing else may be merged until it has ended.
        with self.services.tree_lock:
            return self._run(request, run.conflicts)

    @property
    def has_passed(self) -> bool:
        """Whether the last run ended with a Verify that passed."""
        return self.last is not None and self.last.has_passed

    def take_verified(self) -> ObservedRun | None:
        """The last run if it ended with a verification, once: the next time, Verify must run."""
        run = self.last
        if run is None or run.verified is None:
            return None
        self.last = run._replace(verified=None)
        return run

    def not_merged(self, conflicts: Sequence[Conflict]) -> Decision:
        """Give up a task whose changes cannot be merged, and keep them as a patch."""
        paths = ", ".join(conflict.path for conflict in conflicts)
        reason = f"its changes conflict with other changes made in the meantime: {paths}"
        kept = self.isolated_runs.give_up()
        if kept:
            reason += f" (kept as {kept})"
        return Decision("escalate", reason, "not retryable")

    def _run(self, request: Request, conflicts: Sequence[Conflict]) -> ObservedRun | None:
        task = request.task
        # Looked up once: another worker may report that it is unavailable while it runs.
        executor = self.services.executor
        name = self.services.executor_name
        chance = predict(self.services, task, request.failure, name)
        job = self._job(request, executor, conflicts)
        row = live_row(task, request.history, name, chance)
        started = time.time()
        clock = time.monotonic()
        fault_point("before an executor runs")
        with self.spec_files.held(self.services.root, self.services.run_id):
            observed = self._execute(executor, task, job, request.history.timeout, row)
        if observed is None:
            return None
        if observed.outcome.interrupted:
            raise KeyboardInterrupt
        self.last = observed._replace(
            outcome=self._read_outcome(task, observed, clock),
            diff=shortened_diff(observed.diff, DIFF_LIMIT),
            # Of several candidates, the one that won.
            name=observed.executor.name if observed.executor else name,
            started=started,
            duration=time.monotonic() - clock,
            prediction=chance,
        )
        self.log.carried_out(task, request.failure, self.last)
        fault_point("after an executor ran")
        return self.last

    def _job(
        self, request: Request, executor: Executor | None, conflicts: Sequence[Conflict]
    ) -> Job:
        task = request.task
        prompt = self._prompt(request)
        if conflicts:
            prompt += f"\n\n{self.isolated_runs.conflict_prompt(conflicts)}"
        session_id = ""
        resumes = request.history.action in RESUMING_ACTIONS
        # No other executor knows the session.
        if self.last is not None and self.last.executor is executor and resumes:
            session_id = self.last.outcome.session_id
        kept_as = ""
        if is_e2e_startup(self.log.task):
            kept_as = self.spec_files.e2e_label
        return Job(
            task_id=task.id,
            prompt=prompt,
            timeout=request.history.timeout,
            fix_for=task.fix_for or "",
            spec_path=self.spec_files.spec.directory,
            kind=request.failure.kind if request.failure else "",
            attempt=self.log.runs + 1,
            session_id=session_id,
            files=task.files,
            verify=tuple(check.command for check in task.verify.checks),
            kept_as=kept_as,
        )

    def _read_outcome(self, task: Task, observed: ObservedRun, started: float) -> Outcome:
        """Return the outcome in the light of what the guard found in the project."""
        outcome = observed.outcome
        report = observed.report
        if outcome.denied:
            shown = ", ".join(dict.fromkeys(outcome.denied))
            self.log.note(f"not permitted: {one_line(shown, LONGEST_NOTE)}", task_id=task.id)
        if report.refusal:
            # A fix of the refusal would be nonsense: what is to be fixed is still the original.
            failure = Failure(
                kind="verification_mismatch", type=VERIFICATION_FAILED, error=report.refusal
            )
            outcome = replace(outcome, completed=False, failure=failure, uninformative=True)
        outcome = replace(outcome, failure=self._failure_of(task, outcome))
        if outcome.trouble is not None and outcome.trouble.reason == "hung":
            command = observed.executor.command if observed.executor else ""
            if report.changed or self.services.outages.has_worked_since(command, started):
                # Changed files are progress, even of an executor that said nothing. And one that
                # has worked for a sibling meanwhile hangs for this task only.
                outcome = replace(outcome, trouble=None)
        return outcome

    def _execute(
        self, executor: Executor | None, task: Task, job: Job, timeout: float, row: str
    ) -> ObservedRun | None:
        """Ask the plugins first, then the configured executor."""
        services = self.services
        with services.live(row, timeout, task.title) as on_output:
            if services.hooks.can_execute:
                # A plugin does not know of worktrees.
                observed = self._in_project(
                    task, job, lambda: services.hooks.execute(task, job.prompt, timeout)
                )
                if observed is not None:
                    services.budget.spend(observed.outcome.usage.cost)
                    return observed
            if executor is None:
                return None
            # What an E2E startup task starts lives on, so it needs a directory that does, too.
            if services.isolated and not is_e2e_startup(self.log.task):
                try:
                    return self.isolated_runs.run(executor, task, job, on_output)
                except (GitError, OSError) as error:
                    raise IsolationError(f"{task.id} could not be isolated: {error}") from error
            observed = self._in_project(
                task, job, lambda: services.run_executor(executor, job, services.runner, on_output)
            )
        return observed._replace(executor=executor) if observed else None

    def _in_project(
        self, task: Task, job: Job, carry_out: Callable[[], Outcome | None]
    ) -> ObservedRun | None:
        """Have a task carried out in the project itself; None if `carry_out` returns None."""
        with self.services.turn, self.spec_files.kept():
            before = self.guard.begin()
            try:
                outcome = carry_out()
            except BaseException:
                # The user has stopped it, or a plugin has raised an exception.
                self.guard.interrupted(before)
                raise
            report = self.guard.end(before, task)
        if outcome is None:
            return None
        return ObservedRun(outcome, report, diff_of(report.changes, prompt=job.prompt))

    @cached_property
    def isolated_runs(self) -> IsolatedRuns:
        # Imported here: most runs are not isolated.
        from pytest_ralph.healing.isolated_run import IsolatedRuns

        return IsolatedRuns(self.services, self.spec_files, self.guard, self._verify_in)

    def close(self) -> str:
        """Remove the worktree; return where changes are kept that were not merged."""
        if "isolated_runs" not in self.__dict__:
            return ""
        return self.isolated_runs.close(self.log.task)

    def _failure_of(self, task: Task, outcome: Outcome) -> Failure | None:
        if outcome.completed:
            return None
        failure = outcome.failure
        if failure is None:
            error = outcome.note or NOT_COMPLETE
            failure = Failure(kind="task_incomplete", type=VERIFICATION_FAILED, error=error)
        return self.services.failure_of(task, failure)

    # The prompt

    def _prompt(self, request: Request) -> str:
        failure = request.failure
        history = request.history
        prompt = self.services.hooks.prompt(request.task, failure, history)
        if prompt is not None:
            return prompt
        return self.services.prompts.write(form_of(failure, history), self._context(request))

    def _context(self, request: Request) -> PromptContext:
        task = request.task
        failure = request.failure
        history = request.history
        spec = self.spec_files.spec
        tasks = [one for one in spec.tasks if not one.fix_for]
        done = [one for one in tasks if one.checked]
        return PromptContext(
            task=task,
            spec_name=spec.name,
            spec_path=os.path.relpath(spec.path, self.services.root),
            root=str(self.services.root),
            documents=self._documents(),
            done=[one for one in done if one.name != self.log.task.name],
            original=self.log.task,
            fix_for=self.spec_files.owner_of(task),
            failure=failure,
            verified=self.log.last,
            # Why any other fix is asked for, the failure itself says best.
            reason=history.reason if history.action == "rollback" else "",
            culprit=self.log.culprit,
            culprit_diff=self.log.culprit_diff,
            guidance=self._guidance(failure, history.action),
            tried=self.log.tried,
            learnings=self.spec_files.learnings(),
            hints=self.services.advisor.hints(failure) if failure else (),
            facts=collect_facts(self.services.root) if history.action == "enrich" else None,
            attempt=request.attempt,
            attempts=request.attempts,
            tasks_completed=len(done),
            tasks_total=len(tasks),
        )

    def _documents(self) -> list[str]:
        """The other documents in the directory of a tasks.md, relative to the project."""
        tasks = self.spec_files.spec.path
        if tasks.name != TASKS_NAME:
            # The other files beside a spec of any other name are specs, too.
            return []
        documents = sorted(tasks.parent.glob("[!.]*.md"))
        return [
            os.path.relpath(document, self.services.root)
            for document in documents[:MAX_DOCUMENTS]
            if document.name != TASKS_NAME
        ]

    def _guidance(self, failure: Failure | None, action: str) -> str:
        """The advice for this failure, and a warning if the executor before claimed success.

        A fix is made for what Verify found, also after an executor that failed in its own way.
        """
        advice = []
        if self.log.claimed:
            advice.append(self.services.guidance("verification_mismatch"))
        if action == "fix" and self.log.last is not None:
            failure = self.log.last
        if failure is not None:
            advice.append(failure.guidance)
        return " ".join(advice).strip()


def live_row(task: Task, history: TaskHistory, executor: str, chance: float | None) -> str:
    """`1.3.1 fix 1 of 3 by claude, chance 71%`."""
    action = history.action
    if task.fix_for and history.task_id != task.id:
        # The history is that of the task to be fixed, before this fix.
        number = len(history.fixes) + 1
        action = f"fix {number} of {history.max_fixes}"
    row = f"{task.id} {action} by {display_name(executor)}"
    if chance is not None:
        row += f", chance {chance:.0%}"
    return row


def predict(services: Services, task: Task, failure: Failure | None, executor: str) -> float | None:
    """Announce how probable it is, by the history, that `executor` fixes `failure`.

    None if too little is known. The prediction is stored with the attempt and scored by its result.
    """
    if failure is None:
        return None
    chance = services.advisor.chance(failure.kind, executor)
    if chance is None:
        return None
    shown = str(chance).replace(executor, display_name(executor))
    services.announce_verbose(f"{task.id}: chance of success: {shown}")
    return chance.probability


def approach_of(outcome: Outcome) -> str:
    """What the executor says it tried; empty if it does not say."""
    failure = outcome.failure
    if failure is not None and failure.attempted_fix not in ("", NO_FIX):
        return failure.attempted_fix
    approaches: list[str] = _APPROACH.findall(outcome.output)
    return approaches[-1].strip() if approaches else ""


def form_of(failure: Failure | None, history: TaskHistory) -> Form:
    """Which prompt fits: partly done work is continued, no matter who began it."""
    if history.action == "fix" and failure is not None and failure.category == "partial":
        return "continue"
    if history.action in get_args(Form):
        return cast("Form", history.action)
    # Such as a rollback, which is followed by a fix.
    return "fix"
