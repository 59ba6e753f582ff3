"""From a Verify that failed to its Failure. Imported with the first failure of a run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ralph.failure.evidence import Evidence
from pytest_ralph.failure.executor_words import parse_block
from pytest_ralph.failure.failure import NO_ERROR, UNKNOWN, VERIFICATION_FAILED, Failure
from pytest_ralph.failure.sampling import sample
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from pytest_ralph.healing.services import Services
    from pytest_ralph.running.checks import CheckResult, VerifyResult
    from pytest_ralph.running.runner import CommandResult
    from pytest_ralph.spec.task import Task

# How much of an output is looked at at once, in bytes.
PIECE = 1024 * 1024


def read_failure(verified: VerifyResult, task: Task, spec: str, services: Services) -> Failure:
    """Classify the check that failed, through the hook, and add what is known besides output."""
    failing = verified.failing
    if task.verify.invalid:
        return Failure(
            kind="invalid_task",
            category="invalid_task",
            retryable=False,
            task_id=task.id,
            error=verified.error,
            status="not run",
        )
    if failing is None:
        return Failure(
            task_id=task.id, error=verified.error, command="", status="could not be started"
        )
    evidence = evidence_of(failing, task, verified, services)
    failure = services.hooks.classify(evidence, task)
    failure = replace(
        failure,
        command=failure.command or evidence.command,
        exit_code=evidence.exit_code,
        timed_out=evidence.timed_out,
        duration=evidence.duration,
        raw_output=failure.raw_output or evidence.output,
    )
    if failure.error == NO_ERROR:
        # A silent check: the unmet expectation says more than nothing.
        expected = "; ".join(map(str, failing.unmet))
        error = f"{one_line(evidence.command, 120)}: expected {expected}"
        failure = replace(failure, error=error)
    failure = services.failure_of(task, with_failed_block(failure, evidence.output))
    if not failure.timed_out:
        return failure
    usual_duration = services.advisor.lasting(spec, task.id, verified.timeout)
    return replace(failure, suggested_actions=(*usual_duration, *failure.suggested_actions))


def failure_of_execution(said: Failure, verified: Failure) -> Failure:
    """The failure of a task that its executor did not complete, and that does not pass.

    What stopped the executor says more than a check of what it did not do, unless its words give
    no kind: then the task is simply not done.
    """
    failure = replace(said, raw_output=said.raw_output or verified.raw_output)
    if said.kind not in ("unknown", "task_incomplete"):
        return failure
    if verified.type != UNKNOWN:
        return replace(
            verified, error=said.error, attempted_fix=said.attempted_fix, status=said.status
        )
    return replace(failure, kind="task_incomplete", type=VERIFICATION_FAILED)


def evidence_of(
    checked: CheckResult, task: Task, verified: VerifyResult, services: Services
) -> Evidence:
    """Everything about a command that classification may use."""
    ended = checked.ended
    # That exit status 0 was expected goes without saying.
    unmet = tuple(map(str, checked.unmet)) if checked.check.expect else ()
    root = verified.root or services.root
    output = _sampled(ended)
    if root != services.root:
        # Verified in a worktree, whose path means nothing to anybody.
        output = output.replace(str(root), str(services.root))
    return Evidence(
        output=output,
        exit_code=ended.exit_code,
        command=ended.command,
        junit=services.junit_files(ended, root),
        root=services.root,
        unwritten=checked.unwritten,
        planned=task.files,
        timed_out=ended.timed_out,
        signal=ended.signal,
        timeout=verified.timeout,
        duration=ended.duration,
        unmet=unmet,
        defect=checked.defect,
    )


def _sampled(ended: CommandResult) -> str:
    """Return what matters of everything that was stored: the cause may stand in the middle.

    A long output is read in pieces, so that it takes little memory.
    """
    pieces = [sample(piece) for piece in ended.stdout.pieces(PIECE)]
    if ended.stderr is not None:
        pieces += [sample(piece) for piece in ended.stderr.pieces(PIECE)]
    return sample("".join(pieces))


def with_failed_block(failure: Failure, output: str) -> Failure:
    """Let a FAILED block in the output, if there is one, override error, fix and status."""
    if "FAILED" not in output:
        return failure
    block = parse_block(output)
    if block is None:
        return failure
    return replace(
        failure, error=block.error, attempted_fix=block.attempted_fix, status=block.status
    )
