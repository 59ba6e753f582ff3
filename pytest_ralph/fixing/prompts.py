"""Prompts for executors: bounded in size, secrets masked, foreign text quoted as data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from pytest_ralph.failure.failure import NO_FIX
from pytest_ralph.fixing.check_files import is_test
from pytest_ralph.fixing.shorten import excerpt, last_lines, shortened, shortened_diff, size
from pytest_ralph.text import inert

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pytest_ralph.failure.failure import Failure
    from pytest_ralph.fixing.facts import Facts
    from pytest_ralph.fixing.templating import Templates
    from pytest_ralph.spec.task import Task
    from pytest_ralph.text.secrets import Masker

Form = Literal["fix", "execute", "retry", "continue", "enrich", "split"]

# Bytes of a whole prompt.
LIMIT = 24_000


class PartLimit(NamedTuple):
    """Bytes that a part may take, and those it may still take if the whole prompt is too long."""

    usual: int
    least: int


# The least important part comes first.
PART_LIMITS = {
    "hints": PartLimit(2_000, 100),
    "learnings": PartLimit(4_000, 100),
    "done": PartLimit(3_000, 400),
    "facts": PartLimit(2_000, 400),
    "changes": PartLimit(6_000, 1_200),
    "evidence": PartLimit(8_000, 1_200),
    "tried": PartLimit(4_000, 800),
    "task": PartLimit(12_000, 4_000),
}
LINE_LIMIT = 500
GUIDANCE_LIMIT = 2_000
SHORTEST_FACT = 80
# Of a list; of the tasks that are done, the last ones.
MAX_ITEMS = 25

# Secrets are looked for in this much of an output: at its beginning, its end and around the error.
MASKED_CHARACTERS = 100_000

# The Do field of a fix task as the loop writes it: the error, and what the evidence shows too.
GENERATED_DO = re.compile(
    r"Address the error: (?P<error>.*) 1\. Analyze the failure: .*"
    r" 2\. Review related code in Files list 3\. Implement fix for: (?P=error)"
    r"(?: \d\. (?:Look at|The tool says): .*)?"
)

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
NEVER = re.compile(r"(?!)")


@dataclass(frozen=True, kw_only=True)
class Tried:
    """An attempt that did not help. `diff` is what it changed, if that is known.

    `origin` says that an earlier run made the attempt, and with which executor. `unfinished` is
    set if the executor was in trouble, which says nothing about its approach.
    """

    task_id: str
    approach: str
    result: str
    diff: str = ""
    origin: str = ""
    unfinished: bool = False


@dataclass(frozen=True, kw_only=True)
class PromptContext:
    """Everything a prompt may mention.

    `fix_for` is the task that `task` is a fix or a part of, and `original` the task at the root of
    all fixes, whose Verify decides. `failure` is what the prompt answers: a failed Verify, or how
    the executor before failed. `verified` is the last failure of Verify. `culprit` is one line
    about the work on other tasks that broke a task which had passed. Paths below `root` are shown
    relative to it.
    """

    task: Task
    spec_name: str
    spec_path: str
    root: str = ""
    documents: Sequence[str] = ()
    done: Sequence[Task] = ()
    original: Task | None = None
    fix_for: Task | None = None
    failure: Failure | None = None
    verified: Failure | None = None
    culprit: str = ""
    culprit_diff: str = ""
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

    def __init__(self, templates: Templates, masker: Masker) -> None:
        self.templates = templates
        self._masker = masker

    def write(self, form: Form, context: PromptContext) -> str:
        """Return the prompt. If it is too long, its least important parts are shortened first."""
        values = _TemplateValues(context, self._masker)
        limits = {part: limit.usual for part, limit in PART_LIMITS.items()}
        text = self._render(form, values, limits)
        for part, limit in PART_LIMITS.items():
            while size(text) > LIMIT and limits[part] > limit.least:
                limits[part] = max(limit.least, limits[part] // 2)
                text = self._render(form, values, limits)
        return shortened(text, LIMIT)

    def _render(self, form: Form, values: _TemplateValues, limits: Mapping[str, int]) -> str:
        failure = values.context.failure
        kind = failure.kind if failure else ""
        text = self.templates.render(form, kind, **values.within(limits))
        assert text is not None, f"no template for {form}"
        return BLANK_LINES.sub("\n\n", text).strip() + "\n"


class _TemplateValues:
    """The values for a template, masked, and each on one line or in a quoted block.

    Masking is slow, so it is done once, and only cutting to a limit is done again.
    """

    def __init__(self, context: PromptContext, masker: Masker) -> None:
        self.context = context
        self._masker = masker
        self._below_root = _path_below(context.root)
        self._original = context.original or context.fix_for or context.task
        self._verified = context.verified or context.failure
        self._error = ""
        self._evidence = ""
        if self._verified is not None:
            error = self._verified.error
            output = excerpt(self._verified.raw_output, error, MASKED_CHARACTERS)
            self._error = self._relative(masker.mask(error))
            self._evidence = self._relative(masker.mask(output))
        self._short_values = self._values_of_any_prompt()
        self._bounded_values = self._values_with_limits()

    def within(self, limits: Mapping[str, int]) -> dict[str, object]:
        """Return the values with each part cut to its limit."""
        values = dict(self._short_values)
        for name, (part, cut) in self._bounded_values.items():
            values[name] = cut(limits[part])
        return values

    def _values_with_limits(self) -> dict[str, tuple[str, Callable[[int], object]]]:
        """Return the part of the prompt that each value belongs to, and what cuts it to a limit."""
        context = self.context
        done = [_with_files(task) for task in context.done[-MAX_ITEMS:]]
        tried = [attempt for attempt in context.tried if not attempt.unfinished]
        unfinished = [attempt for attempt in context.tried if attempt.unfinished]
        task = self._text(task_text(context.task))
        original = self._text(task_text(self._original))
        changes = self._masker.mask("".join(attempt.diff for attempt in context.tried))
        culprit_changes = self._masker.mask(context.culprit_diff)
        return {
            "hints": ("hints", partial(last_lines, self._lines(context.hints))),
            "learnings": ("learnings", partial(last_lines, self._lines(context.learnings))),
            "done": ("done", partial(last_lines, self._lines(done))),
            "tried": ("tried", partial(last_lines, self._lines_about(tried))),
            "unfinished": ("tried", partial(last_lines, self._lines_about(unfinished))),
            "task_text": ("task", partial(shortened, task)),
            "original_text": ("task", partial(shortened, original)),
            "changes": ("changes", partial(_quoted_diff, changes)),
            "culprit_changes": ("changes", partial(_quoted_diff, culprit_changes)),
            "facts": ("facts", self._facts),
            "evidence": ("evidence", self._quoted_evidence),
            "evidence_has_error": ("evidence", self._has_error),
        }

    def _values_of_any_prompt(self) -> dict[str, object]:
        """Return the values that are short, so that no limit applies to them."""
        context = self.context
        failure = context.failure
        guidance = context.guidance
        if not guidance and failure is not None:
            guidance = failure.guidance
        verified = self._failure(self._verified)
        return {
            "task": self._task_name(context.task),
            "original": self._task_name(self._original),
            "fix_for": self._task_name(context.fix_for) if context.fix_for else None,
            "is_generated_fix": is_generated_fix(context.task),
            "files": [self._line(path) for path in self._files()[:MAX_ITEMS]],
            "verify": self._masker.mask(self._original.verify.text.strip()),
            "spec": {"name": self._line(context.spec_name), "path": self._line(context.spec_path)},
            "documents": self._lines(context.documents),
            "failure": verified if failure is self._verified else self._failure(failure),
            "verified": verified,
            "is_executor_failure": failure is not None and failure != self._verified,
            "guidance": self._line(guidance, GUIDANCE_LIMIT),
            "reason": self._line(context.reason),
            "culprit": self._line(context.culprit),
            "attempt": context.attempt,
            "attempts": context.attempts,
            "tasks_completed": context.tasks_completed,
            "tasks_total": context.tasks_total,
        }

    def _quoted_evidence(self, limit: int) -> str:
        if not self._evidence.strip():
            return ""
        return inert.fenced(excerpt(self._evidence, self._error, limit))

    def _has_error(self, limit: int) -> bool:
        """Return whether the quoted output shows the error, so that no other line need."""
        if not self._evidence.strip():
            return False
        return self._error in excerpt(self._evidence, self._error, limit)

    def _files(self) -> list[str]:
        """Return the files of the original, and those that an executor named as the cause."""
        files = dict.fromkeys(self._original.files)
        for path in self.context.task.files:
            if not is_test(path):
                files[path] = None
        spec_directory = self.context.spec_path.rpartition("/")[0]
        files.pop(spec_directory, None)
        return list(files)

    def _task_name(self, task: Task) -> dict[str, str]:
        return {"id": self._line(task.id), "title": self._line(task.title)}

    def _lines_about(self, attempts: Iterable[Tried]) -> list[str]:
        same_error = self._verified.error if self._verified else None
        lines = []
        for attempt in attempts:
            task = attempt.task_id
            if attempt.origin:
                task += f" ({attempt.origin})"
            result = attempt.result
            if result == same_error:
                result = "the error stayed the same"
            lines.append(f"{task}: {attempt.approach} → {result}")
        return self._lines(lines)

    def _failure(self, failure: Failure | None) -> dict[str, object] | None:
        if failure is None:
            return None
        values: dict[str, object] = {"exit_code": failure.exit_code}
        for name in FAILURE_LINES:
            values[name] = self._line(getattr(failure, name) or "")
        if failure.attempted_fix == NO_FIX:
            values["attempted_fix"] = ""
        for name in FAILURE_LISTS:
            values[name] = self._lines(getattr(failure, name)[:MAX_ITEMS])
        return values

    def _facts(self, limit: int) -> dict[str, str]:
        facts = self.context.facts
        if facts is None:
            return {}
        limit_of_each = max(SHORTEST_FACT, limit // 3)
        return {
            "main_files": self._line(", ".join(facts.main_files), limit_of_each),
            "configuration": self._line(", ".join(facts.configuration), limit_of_each),
            "test_directory": self._line(facts.test_directory, limit_of_each),
        }

    def _text(self, text: str) -> str:
        return inert.terminal(self._masker.mask(text))

    def _lines(self, texts: Iterable[str]) -> list[str]:
        lines = (self._line(text) for text in texts)
        return [line for line in lines if line]

    def _line(self, text: str, limit: int = LINE_LIMIT) -> str:
        if not text:
            return ""
        masked = self._masker.mask(text)
        return inert.prompt_line(self._relative(masked), limit)

    def _relative(self, text: str) -> str:
        return self._below_root.sub("", text)


def _path_below(root: str) -> re.Pattern[str]:
    """Return the pattern for the root at the beginning of a path."""
    if not root.strip("/"):
        return NEVER
    # In `/usr/src/app/a.py`, `/app/` is not the root.
    return re.compile(rf"(?<![\w.~/-]){re.escape(root)}/")


def task_text(task: Task) -> str:
    """Return the fields of a task as a list, or its title if it has none."""
    fields = dict(task.fields)
    if task.verify.text.strip():
        # Verify may come from the front matter or the settings instead of a field.
        fields.setdefault("Verify", task.verify.text)
    items = []
    for name, written in fields.items():
        text = written.strip()
        if text:
            separator = "\n" if "\n" in text else " "
            item = f"- **{name}**:{separator}{text}"
            items.append(item.replace("\n", "\n  "))
    return "\n".join(items) or f"- {task.title}"


def is_generated_fix(task: Task) -> bool:
    """Return whether a fix task only repeats the evidence, as the loop writes it."""
    do = " ".join(task.fields.get("Do", "").split())
    return task.has_marker("FIX") and GENERATED_DO.fullmatch(do) is not None


def _with_files(task: Task) -> str:
    if not task.files:
        return task.heading
    return f"{task.heading} ({', '.join(task.files[:MAX_ITEMS])})"


def _quoted_diff(diff: str, limit: int) -> str:
    shown = shortened_diff(diff, limit)
    if not shown.strip():
        return ""
    return inert.fenced(shown)
