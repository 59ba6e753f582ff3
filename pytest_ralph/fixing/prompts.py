"""Fixing: Prompts, what an executor is told. Bounded in size, secrets masked, and what others wrote only quoted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_ralph.text import inert

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.fixing.facts import Facts
    from pytest_ralph.fixing.templating import Templates
    from pytest_ralph.spec.task import Task
    from pytest_ralph.text.secrets import Masker

Form = Literal["fix", "execute", "retry", "continue", "enrich", "split"]

LIMIT = 24_000
# Bytes each part may take, the least important first; and what it keeps when all must be shortened.
ROOM = {
    "hints": 2_000,
    "learnings": 4_000,
    "facts": 2_000,
    "evidence": 8_000,
    "tried": 4_000,
    "task": 12_000,
}
LEAST = {"hints": 0, "learnings": 0, "facts": 400, "evidence": 1_200, "tried": 800, "task": 4_000}
_BLANK_LINES = re.compile(r"\n{3,}")
# Masking looks at this much of an output: its beginning and its end.
LOOKED_AT = 100_000


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One attempt that did not help."""

    task_id: str
    approach: str
    result: str


@dataclass(frozen=True, kw_only=True)
class PromptContext:
    """Everything a prompt may speak of. `fix_for` is the task that failed where `task` is its fix or its part."""

    task: Task
    spec_name: str
    spec_path: str
    fix_for: Task | None = None
    failure: Failure | None = None
    reason: str = ""
    guidance: str = ""
    tried: Sequence[Tried] = ()
    learnings: Sequence[str] = ()
    hints: Sequence[str] = ()
    facts: Facts | None = None
    attempt: int = 1
    attempts: int = 1
    tasks_completed: int = 0
    tasks_total: int = 0


class Prompts:
    """Writes prompts with the project's templates, or ours."""

    def __init__(self, templates: Templates, masker: Masker, limit: int = LIMIT) -> None:
        self.templates = templates
        self._masker = masker
        self._limit = limit

    def write(self, form: Form, context: PromptContext) -> str:
        """The prompt in one of its forms; where it is too long, the least important part is shortened first."""
        parts = _Parts(context, self._masker)
        room = dict(ROOM)
        text = self._render(form, parts, room)
        for part in ROOM:
            over = _size(text) - self._limit
            if over <= 0:
                return text
            room[part] = max(LEAST[part], min(room[part], parts.size(part)) - over)
            text = self._render(form, parts, room)
        return shortened(text, self._limit)

    def _render(self, form: Form, parts: _Parts, room: Mapping[str, int]) -> str:
        failure = parts.context.failure
        text = self.templates.render(form, failure.kind if failure else "", **parts.values(room))
        assert text is not None, f"no template for {form}"
        return _BLANK_LINES.sub("\n\n", text).strip() + "\n"


class _Parts:
    """The values of a template, made harmless: masked, on one line each, or quoted as a block."""

    def __init__(self, context: PromptContext, masker: Masker) -> None:
        self.context = context
        self._masker = masker
        self._hints = self._lines(context.hints)
        self._learnings = self._lines(context.learnings)
        self._tried = self._lines(
            f"{one.task_id}: {one.approach} → {one.result}" for one in context.tried
        )
        self._task = self._masked(task_text(context.task))
        self._evidence = self._masked(_ends(context.failure.raw_output)) if context.failure else ""

    def size(self, part: str) -> int:
        text = {
            "hints": "\n".join(self._hints),
            "learnings": "\n".join(self._learnings),
            "facts": "\n".join(self._facts(ROOM["facts"]).values()),
            "tried": "\n".join(self._tried),
            "task": self._task,
            "evidence": self._evidence,
        }[part]
        return _size(text)

    def values(self, room: Mapping[str, int]) -> dict[str, object]:
        context = self.context
        return {
            "task": self._named(context.task),
            "fix_for": self._named(context.fix_for) if context.fix_for else None,
            "files": [self._line(path) for path in context.task.files],
            "task_text": shortened(self._task, room["task"]),
            "verify": self._masked(context.task.verify.text.strip()),
            "spec": {"name": self._line(context.spec_name), "path": self._line(context.spec_path)},
            "failure": self._failure(context.failure),
            "evidence": inert.prompt(shortened(self._evidence, room["evidence"]))
            if self._evidence.strip()
            else "",
            "guidance": self._line(
                context.guidance or (context.failure.guidance if context.failure else ""), 2_000
            ),
            "reason": self._line(context.reason),
            "tried": _latest(self._tried, room["tried"]),
            "learnings": _latest(self._learnings, room["learnings"]),
            "hints": _latest(self._hints, room["hints"]),
            "facts": self._facts(room["facts"]),
            "attempt": context.attempt,
            "attempts": context.attempts,
            "tasks_completed": context.tasks_completed,
            "tasks_total": context.tasks_total,
        }

    def _named(self, task: Task) -> dict[str, str]:
        return {"id": self._line(task.id), "title": self._line(task.title)}

    def _failure(self, failure: Failure | None) -> dict[str, object] | None:
        if failure is None:
            return None
        return {
            **{name: self._line(getattr(failure, name) or "") for name in FAILURE_LINES},
            **{name: self._lines(getattr(failure, name)[:MANY]) for name in FAILURE_LISTS},
            "exit_code": failure.exit_code,
        }

    def _facts(self, room: int) -> dict[str, str]:
        facts = self.context.facts
        if facts is None:
            return {}
        values = {
            "root": facts.root,
            "main_files": ", ".join(facts.main_files),
            "configuration": ", ".join(facts.configuration),
            "test_directory": facts.test_directory,
        }
        return {name: self._line(value, max(80, room // 3)) for name, value in values.items()}

    def _lines(self, texts: Iterable[str]) -> list[str]:
        return [line for text in texts if (line := self._line(text))]

    def _line(self, text: str, limit: int = 500) -> str:
        return inert.prompt_line(self._masked(text), limit)

    def _masked(self, text: str) -> str:
        return self._masker.mask(text)


MANY = 25
FAILURE_LINES = (
    "kind",
    "type",
    "category",
    "error",
    "attempted_fix",
    "status",
    "missing",
    "command",
    "blocked_on",
)
FAILURE_LISTS = ("files", "failed_tests", "completed_steps", "files_modified", "suggested_actions")


def task_text(task: Task) -> str:
    """The fields of a task, as they are written in the spec."""
    fields = (
        f"- **{name}**: {text.strip()}".replace("\n", "\n  ")
        for name, text in task.fields.items()
        if text.strip()
    )
    return "\n".join(fields) or f"- {task.title}"


def shortened(text: str, room: int) -> str:
    """At most `room` bytes of it: a third from the beginning, the rest from the end."""
    data = text.encode("utf-8", "replace")
    if len(data) <= room:
        return text
    mark = f"\n… {len(data) - room:,} bytes left out …\n"
    kept = max(room - len(mark.encode()) - 8, 0)
    head, tail = data[: kept // 3], data[len(data) - (kept - kept // 3) :]
    return head.decode("utf-8", "ignore") + mark + tail.decode("utf-8", "ignore") if kept else ""


def _latest(lines: Sequence[str], room: int) -> list[str]:
    """As many of the last lines as there is room for, in their order."""
    kept: list[str] = []
    for line in reversed(lines):
        room -= _size(line) + 3
        if room < 0:
            break
        kept.insert(0, line)
    return kept


def _ends(text: str) -> str:
    half = LOOKED_AT // 2
    return (
        text
        if len(text) <= LOOKED_AT
        else f"{text[:half]}\n… {len(text) - LOOKED_AT:,} characters left out …\n{text[-half:]}"
    )


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
