"""Prompts for executors: bounded in size, secrets masked, foreign text quoted as data."""

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

# Bytes that each part may take, the least important part first.
PART_LIMITS = {
    "hints": 2_000,
    "learnings": 4_000,
    "facts": 2_000,
    "evidence": 8_000,
    "tried": 4_000,
    "task": 12_000,
}
# Bytes that each part keeps when the prompt as a whole is too long.
PART_MINIMUM = {
    "hints": 0,
    "learnings": 0,
    "facts": 400,
    "evidence": 1_200,
    "tried": 800,
    "task": 4_000,
}
LINE_LIMIT = 500
GUIDANCE_LIMIT = 2_000
SHORTEST_FACT = 80
MAX_ITEMS = 25

# Secrets are looked for in this much of an output: half at its beginning and half at its end.
MASKED_CHARACTERS = 100_000

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
BLANK_LINES = re.compile(r"\n{3,}")


@dataclass(frozen=True, kw_only=True)
class Tried:
    """An attempt that did not help."""

    task_id: str
    approach: str
    result: str


@dataclass(frozen=True, kw_only=True)
class PromptContext:
    """Everything a prompt may mention.

    `fix_for` is the task that failed if `task` is a fix or a part of it.
    """

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
    """Writes prompts with the templates of the project, or ours."""

    def __init__(self, templates: Templates, masker: Masker, limit: int = LIMIT) -> None:
        self.templates = templates
        self._masker = masker
        self._limit = limit

    def write(self, form: Form, context: PromptContext) -> str:
        """Return the prompt. If it is too long, its least important parts are shortened first."""
        values = _TemplateValues(context, self._masker)
        limits = dict(PART_LIMITS)
        text = self._render(form, values, limits)
        for part in PART_LIMITS:
            excess = _size(text) - self._limit
            if excess <= 0:
                return text
            used = min(limits[part], values.size(part))
            limits[part] = max(PART_MINIMUM[part], used - excess)
            text = self._render(form, values, limits)
        return shortened(text, self._limit)

    def _render(self, form: Form, values: _TemplateValues, limits: Mapping[str, int]) -> str:
        failure = values.context.failure
        kind = failure.kind if failure else ""
        text = self.templates.render(form, kind, **values.within(limits))
        assert text is not None, f"no template for {form}"
        return BLANK_LINES.sub("\n\n", text).strip() + "\n"


class _TemplateValues:
    """The values for a template, masked, and each on one line or in a quoted block."""

    def __init__(self, context: PromptContext, masker: Masker) -> None:
        self.context = context
        self._masker = masker
        self._hints = self._lines(context.hints)
        self._learnings = self._lines(context.learnings)
        self._tried = self._lines(
            f"{attempt.task_id}: {attempt.approach} → {attempt.result}" for attempt in context.tried
        )
        self._task = masker.mask(task_text(context.task))
        output = context.failure.raw_output if context.failure else ""
        self._evidence = masker.mask(_head_and_tail(output))

    def size(self, part: str) -> int:
        """Return the size of a part before it is shortened."""
        if part == "facts":
            return _size("\n".join(self._facts(PART_LIMITS["facts"]).values()))
        texts = {
            "hints": "\n".join(self._hints),
            "learnings": "\n".join(self._learnings),
            "tried": "\n".join(self._tried),
            "task": self._task,
            "evidence": self._evidence,
        }
        return _size(texts[part])

    def within(self, limits: Mapping[str, int]) -> dict[str, object]:
        """Return the values with each part cut to its limit."""
        context = self.context
        failure = context.failure
        evidence = ""
        if self._evidence.strip():
            evidence = inert.prompt(shortened(self._evidence, limits["evidence"]))
        guidance = context.guidance
        if not guidance and failure is not None:
            guidance = failure.guidance

        return {
            "task": self._task_name(context.task),
            "fix_for": self._task_name(context.fix_for) if context.fix_for else None,
            "files": [self._line(path) for path in context.task.files],
            "task_text": shortened(self._task, limits["task"]),
            "verify": self._masker.mask(context.task.verify.text.strip()),
            "spec": {"name": self._line(context.spec_name), "path": self._line(context.spec_path)},
            "failure": self._failure(failure) if failure else None,
            "evidence": evidence,
            "guidance": self._line(guidance, GUIDANCE_LIMIT),
            "reason": self._line(context.reason),
            "tried": _last_lines(self._tried, limits["tried"]),
            "learnings": _last_lines(self._learnings, limits["learnings"]),
            "hints": _last_lines(self._hints, limits["hints"]),
            "facts": self._facts(limits["facts"]),
            "attempt": context.attempt,
            "attempts": context.attempts,
            "tasks_completed": context.tasks_completed,
            "tasks_total": context.tasks_total,
        }

    def _task_name(self, task: Task) -> dict[str, str]:
        return {"id": self._line(task.id), "title": self._line(task.title)}

    def _failure(self, failure: Failure) -> dict[str, object]:
        values: dict[str, object] = {"exit_code": failure.exit_code}
        for name in FAILURE_LINES:
            values[name] = self._line(getattr(failure, name) or "")
        for name in FAILURE_LISTS:
            values[name] = self._lines(getattr(failure, name)[:MAX_ITEMS])
        return values

    def _facts(self, limit: int) -> dict[str, str]:
        facts = self.context.facts
        if facts is None:
            return {}
        limit_of_each = max(SHORTEST_FACT, limit // 3)
        return {
            "root": self._line(facts.root, limit_of_each),
            "main_files": self._line(", ".join(facts.main_files), limit_of_each),
            "configuration": self._line(", ".join(facts.configuration), limit_of_each),
            "test_directory": self._line(facts.test_directory, limit_of_each),
        }

    def _lines(self, texts: Iterable[str]) -> list[str]:
        lines = (self._line(text) for text in texts)
        return [line for line in lines if line]

    def _line(self, text: str, limit: int = LINE_LIMIT) -> str:
        return inert.prompt_line(self._masker.mask(text), limit)


def task_text(task: Task) -> str:
    """Return the fields of a task as a list, or its title if it has none."""
    items = []
    for name, text in task.fields.items():
        if text.strip():
            items.append(f"- **{name}**: {text.strip()}".replace("\n", "\n  "))
    return "\n".join(items) or f"- {task.title}"


def shortened(text: str, limit: int) -> str:
    """Return at most `limit` bytes of `text`: a third from its beginning, the rest from its end."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text
    note = f"\n… {len(data) - limit:,} bytes left out …\n"
    kept = limit - len(note.encode()) - 8
    if kept <= 0:
        return ""
    head = data[: kept // 3].decode("utf-8", "ignore")
    tail = data[len(data) - (kept - kept // 3) :].decode("utf-8", "ignore")
    return head + note + tail


def _last_lines(lines: Sequence[str], limit: int) -> list[str]:
    """Return as many of the last lines as fit into `limit` bytes of a list."""
    kept: list[str] = []
    for line in reversed(lines):
        limit -= _size(line) + len("- \n")
        if limit < 0:
            break
        kept.append(line)
    kept.reverse()
    return kept


def _head_and_tail(text: str) -> str:
    if len(text) <= MASKED_CHARACTERS:
        return text
    half = MASKED_CHARACTERS // 2
    left_out = len(text) - MASKED_CHARACTERS
    return f"{text[:half]}\n… {left_out:,} characters left out …\n{text[-half:]}"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
