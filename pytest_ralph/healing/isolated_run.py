"""Executor runs in worktrees: run, verify there, merge, verify in the project.

The worktree of a task is kept from one of its executor runs to the next, until its changes have
been merged or the task has ended. Imported with the first executor run that is isolated.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_ralph.files import SPEC_FILES, fault_point, read_regular
from pytest_ralph.fixing.agents.base import Usage
from pytest_ralph.fixing.diffs import diff_of
from pytest_ralph.fixing.errors import GitError
from pytest_ralph.fixing.isolation.patch import keep_patch
from pytest_ralph.fixing.isolation.python_paths import worktree_variables
from pytest_ralph.healing.executor_run import ObservedRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_ralph.fixing.agents.base import Executor, Job, Outcome, Trouble
    from pytest_ralph.fixing.file_state import Change
    from pytest_ralph.fixing.isolation.merge import Conflict
    from pytest_ralph.fixing.isolation.worktree import Worktree
    from pytest_ralph.healing.executor_run import VerifyIn
    from pytest_ralph.healing.guard import Guard
    from pytest_ralph.healing.services import Services
    from pytest_ralph.healing.spec_files import SpecFiles
    from pytest_ralph.running.runner import Runner
    from pytest_ralph.spec.task import Task

    OnOutput = Callable[[str], None] | None

# Characters of a conflict that a prompt shows, for each file.
CONFLICT_LIMIT = 6_000
# Files that a finding names.
MOST_NAMED = 3


@dataclass(frozen=True, eq=False)
class Candidate:
    """One of the executor runs that try the same fix."""

    worktree: Worktree
    runner: Runner
    executor: Executor


class IsolatedRuns:
    """The isolated executor runs for one original task."""

    def __init__(
        self, services: Services, spec_files: SpecFiles, guard: Guard, verify_in: VerifyIn
    ) -> None:
        self._services = services
        self._spec_files = spec_files
        self._guard = guard
        self._verify_in = verify_in
        self._worktree: Worktree | None = None
        # Where changes are kept that could not be merged; empty without any.
        self._conflict_patch = ""

    # One run

    def run(self, executor: Executor, task: Task, job: Job, on_output: OnOutput) -> ObservedRun:
        """Have `job` carried out in a worktree, and merge what passes. May raise GitError."""
        candidates = self._candidates(executor, task)
        kept = candidates[0].worktree
        try:
            runs = self._run_all(candidates, task, job, on_output)
            best = _best_of(candidates, runs)
            kept = best.worktree
        finally:
            self._worktree = kept
            for candidate in candidates:
                if candidate.worktree is not kept:
                    self._services.worktrees.remove(candidate.worktree)
        observed = self._conclude(runs[best], task)
        if len(runs) == 1:
            return observed
        for candidate, run in runs.items():
            if candidate is not best and run.outcome.trouble is not None:
                # It did no work, so it takes no run of the budget.
                self._services.budget.give_back()
        outcome = _with_cost_of_all(observed.outcome, runs.values())
        return observed._replace(outcome=outcome, in_trouble=_in_trouble(runs, best))

    def _candidates(self, executor: Executor, task: Task) -> list[Candidate]:
        """The runs that try the same fix. Each of them takes one run of the budget."""
        services = self._services
        executors = services.usable_executors or (executor,)
        worktrees = [self._current_worktree(task)]
        while len(worktrees) < services.settings.candidates and services.budget.take():
            worktrees.append(self._new_worktree(task))
        candidates = []
        for number, worktree in enumerate(worktrees):
            variables = worktree_variables(worktree, services.runner.environ)
            runner = services.runner.at(worktree.root, variables)
            candidates.append(Candidate(worktree, runner, executors[number % len(executors)]))
        return candidates

    def _new_worktree(self, task: Task) -> Worktree:
        return self._services.worktrees.create(task.files)

    def _current_worktree(self, task: Task) -> Worktree:
        """The worktree of the run before, brought up to date, or a new one."""
        if self._worktree is None:
            self._worktree = self._new_worktree(task)
        else:
            self._services.worktrees.refresh(self._worktree)
        return self._worktree

    def _run_all(
        self, candidates: Sequence[Candidate], task: Task, job: Job, on_output: OnOutput
    ) -> dict[Candidate, ObservedRun]:
        """Run all candidates at once, and stop the others when one of them wins.

        The runs are in the order in which they ended. One that is lost, for example with its
        worktree, is left out unless all of them are.
        """
        if len(candidates) == 1:
            return {candidates[0]: self._run_one(candidates[0], task, job, on_output)}

        # Imported here: seldom used.
        from concurrent.futures import ThreadPoolExecutor, as_completed

        runs: dict[Candidate, ObservedRun] = {}
        errors: list[GitError | OSError] = []
        with ThreadPoolExecutor(len(candidates), thread_name_prefix="ralph-candidate") as pool:
            # The session belongs to the first executor and its worktree.
            jobs = [job] + [replace(job, session_id="")] * (len(candidates) - 1)
            futures = {
                pool.submit(self._run_one, candidate, task, own_job, on_output): candidate
                for candidate, own_job in zip(candidates, jobs, strict=True)
            }
            try:
                for future in as_completed(futures):
                    try:
                        run = future.result()
                    except (GitError, OSError) as error:
                        errors.append(error)
                        continue
                    runs[futures[future]] = run
                    if _wins(run):
                        _stop(candidates)
            finally:
                # Ctrl-C, or an error: the pool waits until all of them have ended.
                _stop(candidates)
        if self._services.runner.stopped:
            raise KeyboardInterrupt
        if not runs:
            raise errors[0]
        return runs

    def _run_one(
        self, candidate: Candidate, task: Task, job: Job, on_output: OnOutput
    ) -> ObservedRun:
        """Have one candidate carry out the job, and verify what it did in its worktree."""
        worktree = candidate.worktree
        spec = self._spec_files.spec
        job = replace(job, spec_path=self._mapped(spec.directory, worktree))
        tasks_file = self._mapped(spec.path, worktree)
        tasks_before = _read(tasks_file)
        fault_point("before an executor runs in a worktree")
        run = self._services.run_executor
        outcome = run(candidate.executor, job, candidate.runner, on_output)
        changes = tuple(change for change in worktree.changes() if not self._is_spec_file(change))
        report = self._guard.inspect(changes, task, tasks_before, _read(tasks_file))
        lines = [f"{task.id} {finding}" for finding in _not_mergeable(worktree)]
        observed = ObservedRun(
            outcome=outcome,
            report=replace(report, findings=(*report.findings, *lines)),
            diff=diff_of(changes, prompt=job.prompt),
            executor=candidate.executor,
            merged=False,
            tree=_fingerprint(changes),
        )
        if outcome.interrupted or not observed.worth_verifying:
            return observed
        fault_point("before verifying in a worktree")
        verified = self._verify_in(worktree.root, candidate.runner)
        return observed._replace(verified=verified)

    def _mapped(self, path: Path, worktree: Worktree) -> Path:
        """The same path in the worktree; a path outside the project stays as it is."""
        root = self._services.root.resolve()
        resolved = path.resolve()
        if not resolved.is_relative_to(root):
            return path
        return worktree.root / resolved.relative_to(root)

    def _is_spec_file(self, change: Change) -> bool:
        own_path = os.path.relpath(self._spec_files.spec.path, self._services.root)
        return change.path == own_path or change.path.rpartition("/")[2] in SPEC_FILES

    # Merging

    def _conclude(self, observed: ObservedRun, task: Task) -> ObservedRun:
        """Merge what has passed. Whatever else happened, the worktree is kept or removed."""
        if observed.report.refusal:
            self._remove_worktree()
            return observed
        if not observed.has_passed:
            return observed
        return self._merge(observed, task)

    def _merge(self, observed: ObservedRun, task: Task) -> ObservedRun:
        """Merge, and verify in the project. What does not pass there is taken back."""
        services = self._services
        # Until the merged state is verified, no other merge may change it.
        with services.tree_lock:
            changes = observed.report.changes
            paths = [change.path for change in changes]
            directory_modes = services.tree.directory_modes(paths)
            applied, conflicts = services.worktrees.merge(changes, services.backups)
            if applied is None:
                # The worktree is going to be brought up to date, without these changes. They are
                # those of an earlier conflict, made again.
                self._remove_conflict_patch()
                self._conflict_patch = self._keep_patch(task)
                return observed._replace(conflicts=conflicts, verified=None)
            fault_point("before verifying a merge")
            try:
                verified = self._verify_in(services.root, services.runner)
                if verified.passed:
                    services.tree.record_directory_modes(directory_modes)
                    self._guard.accept(observed.report, applied.changes)
            except BaseException:
                # Such as a time limit of another plugin, or a disk that is full.
                applied.undo()
                raise
            if verified.passed:
                applied.confirm()
                self._remove_worktree()
                self._remove_conflict_patch()
                fault_point("after a merge is confirmed")
                return observed._replace(verified=verified, merged=True)
            problems = applied.undo()
        if applied.paths:
            problems = ("the merge was undone", *problems)
        finding = f"{task.id} {self._worktree_only(problems)}"
        report = replace(observed.report, findings=(*observed.report.findings, finding))
        return observed._replace(verified=verified, report=report)

    def _worktree_only(self, reasons: Sequence[str]) -> str:
        """Say that Verify passed in the worktree only, and what the project lacks."""
        lost = self._worktree.lost_files() if self._worktree is not None else []
        if lost:
            reasons = (*reasons, f"ignored by git, so not merged: {', '.join(lost[:MOST_NAMED])}")
        sentence = "passed in its worktree, but not in the project"
        return f"{sentence}: {'; '.join(reasons)}" if reasons else sentence

    # Conflicts, and the end

    def conflict_prompt(self, conflicts: Sequence[Conflict]) -> str:
        """What a prompt says about changes that could not be merged."""
        lines = [
            "## Your changes could not be merged",
            "",
            "Your last run passed Verify, but meanwhile these files were changed in the project, in"
            " the same places. The working directory now has the project's versions, without your"
            " changes. Make your changes again, and keep the effect of those made meanwhile. Both"
            " versions:",
            "",
        ]
        for conflict in conflicts:
            text = self._services.mask(conflict.text[:CONFLICT_LIMIT])
            lines += [f"### {conflict.path}", "", "```", text.rstrip(), "```", ""]
        return "\n".join(lines)

    def _keep_patch(self, task: Task) -> str:
        """Keep what was not merged as a patch, and return its path; empty if there is nothing."""
        if self._worktree is None:
            return ""
        changes = [one for one in self._worktree.changes() if not self._is_spec_file(one)]
        services = self._services
        words = (services.run_id, self._spec_files.spec.name, task.name)

        def announce(line: str) -> None:
            services.announce(f"{task.id}: {line}")

        return keep_patch(services.root, services.directory, changes, *words, announce=announce)

    def give_up(self) -> str:
        """Remove the worktree of changes that conflict; return where these are kept."""
        kept = self._conflict_patch
        self._conflict_patch = ""
        self._remove_worktree()
        return kept

    def close(self, task: Task) -> str:
        """Remove the worktree; return where changes are kept if they were not merged."""
        kept = ""
        try:
            kept = self._keep_patch(task)
        except (GitError, OSError) as error:
            self._services.announce(f"{task.id}: the changes in its worktree are lost: {error}")
        return ", ".join(filter(None, [self.give_up(), kept]))

    def _remove_conflict_patch(self) -> None:
        """Remove what is kept of a conflict that is resolved, or has come again."""
        if self._conflict_patch:
            (self._services.root / self._conflict_patch).unlink(missing_ok=True)
            self._conflict_patch = ""

    def _remove_worktree(self) -> None:
        worktree = self._worktree
        self._worktree = None
        if worktree is not None:
            self._services.worktrees.remove(worktree)


def _stop(candidates: Sequence[Candidate]) -> None:
    for candidate in candidates:
        candidate.runner.stop()


def _wins(run: ObservedRun) -> bool:
    """Whether no other candidate can be better: it passes without changing tests or checks."""
    return run.has_passed and not run.report.protected


def _best_of(candidates: Sequence[Candidate], runs: Mapping[Candidate, ObservedRun]) -> Candidate:
    """The first that wins, else the first that passed, else one that ended by itself.

    Of several that ended by themselves, it is that of the executor that was named first.
    """
    for candidate, run in runs.items():
        if _wins(run):
            return candidate
    for candidate, run in runs.items():
        if run.has_passed:
            return candidate
    ended = [candidate for candidate in candidates if candidate in runs]
    for candidate in ended:
        run = runs[candidate]
        if run.outcome.trouble is None and not run.report.refusal:
            return candidate
    return ended[0]


def _in_trouble(
    runs: Mapping[Candidate, ObservedRun], best: Candidate
) -> tuple[tuple[Executor, Trouble], ...]:
    """The executors besides that of the best that could not work for any candidate, and why."""
    working = {best.executor}
    troubles = {}
    for candidate, run in runs.items():
        if run.outcome.trouble is None:
            working.add(candidate.executor)
        else:
            troubles[candidate.executor] = run.outcome.trouble
    return tuple(pair for pair in troubles.items() if pair[0] not in working)


def _with_cost_of_all(outcome: Outcome, runs: Iterable[ObservedRun]) -> Outcome:
    usages = [run.outcome.usage for run in runs]
    costs = [usage.cost for usage in usages if usage.cost is not None]
    total = Usage(
        sum(usage.input_tokens for usage in usages),
        sum(usage.output_tokens for usage in usages),
        sum(costs) if costs else None,
    )
    return replace(outcome, usage=total)


def _not_mergeable(worktree: Worktree) -> Iterator[str]:
    """Yield one line for each sort of files that stay in the worktree."""
    for what, paths in worktree.left_out.items():
        if paths:
            yield f"{what}: {', '.join(paths[:MOST_NAMED])}"


def _fingerprint(changes: Sequence[Change]) -> str:
    if not changes:
        return ""
    digest = hashlib.sha256()
    for change in changes:
        digest.update(os.fsencode(change.path) + b"\0")
        blocks = (b"removed",) if change.after is None else change.after.blocks()
        for block in blocks:
            digest.update(block)
    return f"worktree:{digest.hexdigest()}"


def _read(path: Path) -> bytes:
    try:
        return read_regular(path)
    except OSError:
        return b""
