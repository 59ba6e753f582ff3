"""Failure and history → Decision: a pure function over one table.

The order of the table matters: first what can go on without a limit (more time, a new session),
then what cannot go on (limits, circles), then what needs no agent (repairs), then what no agent can
help with or may be asked for (trouble, hangs, budget), then the action of the failure's type.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from pytest_ralph.failure.failure import (
    BROKEN_BUILD,
    CIRCULAR_FIX,
    CONTEXT_EXHAUSTED,
    UNKNOWN,
    VERIFICATION_FAILED,
)
from pytest_ralph.failure.similarity import is_circular
from pytest_ralph.failure.wording import headline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.fixing.prompts import Tried
    from pytest_ralph.healing.budget import Budget
    from pytest_ralph.spec.task import Task

Action = Literal[
    "execute", "retry", "repair", "fix", "rollback", "continue", "enrich", "split", "escalate"
]
Final = Literal[
    "",
    "max limit",
    "max depth",
    "budget",
    "circular",
    "not retryable",
    "unknown error",
    "no executor",
    "skipped",
    "given up",
    "halted",
]

ACTIONS: tuple[str, ...] = get_args(Action)
# Run the same executor once more: with more time, in a new session, with more context.
AGAIN = ("retry", "continue", "enrich")

# Actions that write a fix task, and mostly have an executor carry it out.
COSTLY = ("fix", "rollback", "enrich", "split")
# Reasons for giving up that say nothing about the failure itself.
UNRELATED = ("no executor", "budget", "max limit")
# Seconds after which a service may answer, or a lock may be free.
SERVICE_PAUSE = 3.0
# Kinds of failure that may be transient → seconds after which they may have passed.
TRANSIENT = {
    "test_failure": 0.0,
    "timeout": 0.0,
    "unknown": 0.0,
    "service_unavailable": SERVICE_PAUSE,
    "resource_exhausted": SERVICE_PAUSE,
}

NEEDS_PERSON = re.compile(
    r"\b(?:needs?|requires?) (?:an? )?(?:person|human|maintainer|manual (?:step|action"
    r"|intervention|review|approval))"
    r"|\b(?:person|human|maintainer) (?:has to|must|needs to)\b",
    re.IGNORECASE,
)

MAX_CONTINUATIONS = 3


@dataclass(frozen=True, kw_only=True)
class FailedAttempt:
    """A failed verification or executor run of `task`, the original or one of its fixes."""

    task: Task
    failure: Failure
    timeout: float
    # Whether the time limit was doubled before.
    extended: bool = False
    # Something was printed or written before the time limit, so that more time may help.
    progress: bool = False
    by_executor: bool = False
    # The executor changed files or exited with 0: the original may pass, whatever it says.
    worth_verifying: bool = False
    # The failure is not about the project, so a fix of the fix would have nothing to fix.
    uninformative: bool = False
    # The guard has undone the changes of the executor.
    refused: bool = False


@dataclass(frozen=True, kw_only=True)
class TaskHistory:
    """What happened to this task in this run, as far as a decision or a prompt needs it."""

    task_id: str = ""
    depth: int = 0
    # The fixes that were carried out.
    fixes: tuple[str, ...] = ()
    max_fixes: int = 3
    max_depth: int = 3
    budget_left: int = 100
    # How to give up if no executor may be run any more.
    spent: Decision | None = None
    has_agent: bool = False
    # Why no executor can be used any more.
    outage: str = ""
    # The built-in repair that applies, by name.
    repair: str | None = None
    # A rollback is allowed, and there is evidence that the build was broken lately.
    rollback: bool = False
    # How many steps the task's Do field has.
    steps: int = 0
    extended: bool = False
    continuations: int = 0
    enriched: bool = False
    # The task was split into parts, and all of them were carried out.
    split: bool = False
    made_progress: bool = False
    # The failure is that of an executor, not of the task's own Verify.
    by_executor: bool = False
    # The task failed earlier in this run, and always in another way.
    is_new_kind: bool = False
    timeout: float = 300.0
    approaches: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    trees: tuple[str, ...] = ()

    # For prompts
    spec_path: Path | None = None
    tried: tuple[Tried, ...] = ()
    action: str = ""
    reason: str = ""

    @property
    def can_use_agent(self) -> bool:
        """Whether there is an agent, and it may still be run."""
        return self.has_agent and self.spent is None


@dataclass(frozen=True)
class Decision:
    """The next action, and in one line why. `final` is the reason for an escalation in short."""

    action: Action
    reason: str
    final: Final = ""
    timeout: float | None = None
    lines: tuple[str, ...] = ()
    # Let a person edit the fix task before it is written.
    edit: bool = False


# When a rule applies, and what it decides then.
Rule = tuple["Callable[[Failure, TaskHistory], bool]", "Callable[[Failure, TaskHistory], Decision]"]


def decide(failure: Failure, past: TaskHistory) -> Decision:
    """The first rule of the table that applies."""
    answers = (answer for applies, answer in RULES if applies(failure, past))
    return next(answers)(failure, past)


def pause_before_probe(failed: FailedAttempt, decision: Decision) -> float | None:
    """Seconds to wait before verifying once more, in case the failure was transient.

    None if it cannot be, or if there is something better to do about it.
    """
    if failed.by_executor:
        return None
    if decision.action not in COSTLY and decision.final not in UNRELATED:
        return None
    if failed.failure.kind == "timeout" and not failed.failure.timed_out:
        # Not our time limit: the command waited in vain for something else.
        return SERVICE_PAUSE
    return TRANSIENT.get(failed.failure.kind)


def _timed_out(failure: Failure) -> bool:
    return failure.kind == "timeout" and failure.timed_out


def _can_double(failure: Failure, past: TaskHistory) -> bool:
    return _timed_out(failure) and past.made_progress and not past.extended


def _longer(_: Failure, past: TaskHistory) -> Decision:
    return Decision(
        "retry",
        f"still making progress after {past.timeout:g} s: trying again with {past.timeout * 2:g} s",
        timeout=past.timeout * 2,
    )


def _can_continue(failure: Failure, past: TaskHistory) -> bool:
    if failure.type != CONTEXT_EXHAUSTED or not past.can_use_agent:
        return False
    return past.continuations < MAX_CONTINUATIONS


def _go_on(_: Failure, past: TaskHistory) -> Decision:
    number = past.continuations + 1
    return Decision(
        "continue",
        f"out of context: progress kept, continued in a new run ({number} of {MAX_CONTINUATIONS})",
    )


def _depth_exceeded(_: Failure, past: TaskHistory) -> Decision:
    line = f"ERROR: Max fix task depth ({past.max_depth}) exceeded for task {past.task_id}"
    return Decision(
        "escalate", f"a fix of {past.task_id} would be too deep", "max depth", lines=(line,)
    )


def _limit_reached(_: Failure, past: TaskHistory) -> Decision:
    reached = f"ERROR: Max fix attempts ({past.max_fixes}) reached for task {past.task_id}"
    if not past.fixes:
        return Decision("escalate", "no fix is allowed", "max limit", lines=(reached,))
    lines = (reached, f"Fix attempts: {', '.join(past.fixes)}")
    reason = "the fix did not help"
    if len(past.fixes) != 1:
        reason = f"{len(past.fixes)} fixes did not help"
    return Decision("escalate", reason, "max limit", lines=lines)


def _in_circles(failure: Failure, past: TaskHistory) -> bool:
    if failure.type == CIRCULAR_FIX or _is_stuck(past):
        return True
    if not past.approaches:
        return False
    *earlier, last = past.approaches
    return is_circular(last, earlier)


def _is_stuck(past: TaskHistory) -> bool:
    # An executor that failed has another chance, with a fix of its fix. More time is no fix.
    if past.by_executor or not past.fixes:
        return False
    return is_stuck(past.fingerprints, past.trees)


def _circular(_: Failure, past: TaskHistory) -> Decision:
    if _is_stuck(past):
        return Decision("escalate", "same error again, no file changed", "circular")
    return Decision("escalate", "the same approach was tried before without success", "circular")


def _split_helps(failure: Failure, past: TaskHistory) -> bool:
    is_splittable = past.steps > 1 and not past.split
    return _no_time(failure, past) and is_splittable and past.can_use_agent


def _no_time(failure: Failure, past: TaskHistory) -> bool:
    return _timed_out(failure) and not past.made_progress


def _hangs(failure: Failure, past: TaskHistory) -> bool:
    """A hang is a bug to fix once, not to wait for."""
    is_new = not past.fixes and not past.split
    return _no_time(failure, past) and is_new and past.can_use_agent


def _needs_person(failure: Failure, past: TaskHistory) -> bool:
    """Whether an executor says that a person has to act.

    Its status does not count: a FAILED block always says "needs manual intervention".
    """
    if not past.by_executor:
        return False
    return bool(NEEDS_PERSON.search(f"{failure.error}\n{failure.blocked_on or ''}"))


def _installable(failure: Failure, past: TaskHistory) -> bool:
    """One fix task for what an agent may install; none for the executor of a fix."""
    if failure.kind not in ("dependency_missing", "command_not_found"):
        return False
    is_original = past.depth == 0
    return past.has_agent and is_original and not past.fixes


def _missing_context(failure: Failure, past: TaskHistory) -> bool:
    if failure.category != "missing_context":
        return False
    return past.can_use_agent and not past.enriched


def _ask_again(failure: Failure, past: TaskHistory) -> bool:
    """The same executor with more context: this is no fix, so no limit applies."""
    return past.by_executor and _missing_context(failure, past)


def _not_retryable(failure: Failure, _: TaskHistory) -> Decision:
    what = failure.kind
    if what == "unknown" and failure.category:
        what = failure.category
    missing = f" ({failure.missing})" if failure.missing else ""
    reason = f"{headline(what)}{missing}: trying again cannot help"
    return Decision("escalate", reason, "not retryable")


def is_stuck(fingerprints: Sequence[str], trees: Sequence[str]) -> bool:
    """Whether the last two failures are the same, with no change of the working tree in between.

    An empty fingerprint or tree is unknown (no git) and equals nothing.
    """
    for values in (fingerprints, trees):
        if len(values) < 2 or not values[-1] or values[-1] != values[-2]:
            return False
    return True


def no_executor(fix: Task, executors: Sequence[str]) -> Decision:
    """Leave the fix task, which is in tasks.md, to a person."""
    why = "no built-in repair applies" if "repair" in executors else "there is no executor"
    reason = f"{why}; task {fix.id} waits in tasks.md"
    return Decision("escalate", reason, "no executor")


def executors_unavailable(outage: str) -> Decision:
    """The executors are in trouble, which says nothing about the project."""
    return Decision("escalate", outage, "no executor")


def budget_spent(budget: Budget) -> Decision:
    """No executor may be run any more."""
    if budget.is_cost_reached:
        reason = f"the executors of this run have cost ${budget.cost:.2f}"
        line = f"ERROR: Max cost (${budget.max_cost:.2f}) reached"
    else:
        total = budget.spent_total
        reason = f"all {total} executor runs allowed in this run are used up"
        line = f"ERROR: Max global iterations ({total}) reached"
    return Decision("escalate", reason, "budget", lines=(line,))


def _give_up_spent(_: Failure, past: TaskHistory) -> Decision:
    assert past.spent is not None
    return past.spent


def _answer(
    action: Action, reason: str, final: Final = ""
) -> Callable[[Failure, TaskHistory], Decision]:
    """Return a rule whose reason is a template over the failure, its headline and the past."""

    def answer(failure: Failure, past: TaskHistory) -> Decision:
        what = headline(failure.kind)
        return Decision(action, reason.format(f=failure, p=past, what=what), final)

    return answer


def _unknown_once(failure: Failure, past: TaskHistory) -> bool:
    if failure.type not in (UNKNOWN, CONTEXT_EXHAUSTED):
        return False
    # What a fix has uncovered is another error.
    return not past.fixes or past.is_new_kind


def _came_back(failure: Failure, past: TaskHistory) -> Decision:
    reason = "a fix did not help, and the error is of unknown type"
    if _timed_out(failure):
        reason = f"still not done after {past.timeout:g} s, and after a fix"
    return Decision("escalate", reason, "unknown error")


ENRICH = "context was missing: trying again with more context"
RULES: tuple[Rule, ...] = (
    # What can go on without a limit.
    (_can_double, _longer),
    (_can_continue, _go_on),
    (_ask_again, _answer("enrich", ENRICH)),
    # Limits and circles.
    (lambda _, p: p.depth >= p.max_depth, _depth_exceeded),
    (lambda _, p: len(p.fixes) >= p.max_fixes, _limit_reached),
    (_in_circles, _circular),
    # What needs no agent, and what no agent can help with.
    (lambda _, p: p.repair is not None, _answer("repair", "a built-in repair applies: {p.repair}")),
    (lambda _, p: bool(p.outage), lambda _, p: executors_unavailable(p.outage)),
    (_needs_person, _answer("escalate", "the executor says: {f.error}", "not retryable")),
    (
        lambda f, p: p.by_executor and _timed_out(f),
        _answer("escalate", "the executor did not finish in {p.timeout:g} s", "not retryable"),
    ),
    (
        _split_helps,
        _answer("split", "no progress in {p.timeout:g} s: split into its {p.steps} steps"),
    ),
    (_hangs, _answer("fix", "no progress in {p.timeout:g} s: one fix task for the hang")),
    (
        _no_time,
        _answer(
            "escalate", "no progress in {p.timeout:g} s: more time would not help", "not retryable"
        ),
    ),
    (lambda _, p: p.has_agent and p.spent is not None, _give_up_spent),
    (_missing_context, _answer("enrich", ENRICH)),
    (_installable, _answer("fix", "{what}: one fix task for the agent")),
    (lambda f, _: not f.retryable, _not_retryable),
    # The action of the failure's type.
    (
        lambda f, p: f.type == BROKEN_BUILD and p.rollback,
        _answer("rollback", "the build is broken: back to the last good commit, then a fix"),
    ),
    (
        lambda f, _: f.type == BROKEN_BUILD,
        _answer("fix", "the build is broken; creating a fix task"),
    ),
    (
        lambda f, p: f.type == VERIFICATION_FAILED and not p.fixes,
        _answer("fix", "verification failed; creating a fix task"),
    ),
    (
        lambda f, _: f.type == VERIFICATION_FAILED,
        _answer("fix", "verification still fails; creating a fix task with a different approach"),
    ),
    (_unknown_once, _answer("fix", "{what}: one fix task only")),
    (lambda _, __: True, _came_back),
)
