"""A spec: one Markdown file, read into tasks."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_ralph.files import TASKS_NAME, read_regular
from pytest_ralph.spec.fields import as_mapping
from pytest_ralph.spec.files_field import read_files
from pytest_ralph.spec.frontmatter import FrontMatter, read_front_matter
from pytest_ralph.spec.outline import read_outline
from pytest_ralph.spec.task import Task
from pytest_ralph.spec.task_finder import find_tasks
from pytest_ralph.spec.task_line import slug
from pytest_ralph.spec.task_verify import read_task_verify
from pytest_ralph.spec.verify_text import find_verify_text
from pytest_ralph.verify.model import Check, Verify

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_ralph.spec.candidates import TaskBlock

MAX_BYTES = 50 * 1000 * 1000


class SpecError(Exception):
    """A file cannot be read as a spec; the message is one line with path, line and reason."""

    def __init__(self, path: str | os.PathLike[str], line: int, message: str) -> None:
        self.path = Path(path)
        self.line = line
        self.message = " ".join(message.split())
        super().__init__(f"{self.path}:{line}: {self.message}")

    def __reduce__(self) -> tuple[Any, ...]:
        return SpecError, (self.path, self.line, self.message)


class Problem(NamedTuple):
    """Something that is wrong with a spec, although its tasks can be read."""

    line: int
    message: str
    code: str


class LineFinder:
    """Finds the lines of a text by their numbers, starting from the line that was found last.

    A run works its way down a document. Counting its lines from the top for every change would
    make long documents slow.
    """

    def __init__(self, source: str, number: int = 1, start: int = 0) -> None:
        """Begin at the line `number`, which starts at the offset `start`."""
        self._source = source
        self._number = number
        self._start = start

    def start(self, number: int) -> int:
        """Return the offset of a line, or of the last one if there are fewer lines."""
        while self._number > number:
            self._start = self._source.rfind("\n", 0, self._start - 1) + 1
            self._number -= 1
        while self._number < number:
            line_end = self._source.find("\n", self._start)
            if line_end < 0:
                break
            self._start = line_end + 1
            self._number += 1
        return self._start

    def end(self, number: int) -> int:
        """Return the offset of the newline that ends a line, or of the end of the text."""
        line_end = self._source.find("\n", self.start(number))
        return len(self._source) if line_end < 0 else line_end

    def line(self, number: int) -> str:
        """Return a line without its newline."""
        return self._source[self.start(number) : self.end(number)]


@dataclass(frozen=True)
class Spec:
    """One tasks.md or other Markdown file. `source` is its text, byte order mark included."""

    path: Path
    source: str
    tasks: tuple[Task, ...] = ()
    problems: tuple[Problem, ...] = ()
    front_matter: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    # The line of each setting.
    setting_lines: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def load(cls, path: str | os.PathLike[str], verify: Mapping[str, str] | None = None) -> Spec:
        """Read a spec directory, its tasks.md, or any other Markdown file."""
        file = Path(path)
        if file.is_dir():
            file = file / TASKS_NAME
        return cls.parse(_read(file), file, verify)

    @classmethod
    def parse(
        cls,
        source: str,
        path: str | os.PathLike[str] = TASKS_NAME,
        verify: Mapping[str, str] | None = None,
    ) -> Spec:
        """Read a text.

        `verify` maps ids, `[markers]` or phases to commands for tasks without a Verify field; the
        front matter may add to it.
        """
        path = Path(path)
        try:
            source.encode()
        except UnicodeEncodeError as error:
            line = source.count("\n", 0, error.start) + 1
            raise SpecError(path, line, "not valid Unicode text") from None

        front = read_front_matter(source)
        outline = read_outline(source, front.lines)
        commands = {**(verify or {}), **front.settings.get("verify", {})}
        tasks = []
        names: Counter[str] = Counter()
        for block in find_tasks(outline):
            task = _task(block, outline.lines)
            if commands and not _is_verified(task, block, outline.lines):
                task = _with_command(task, commands)
            names[task.id] += 1
            if names[task.id] > 1:
                task = replace(task, name=f"{task.id}~{names[task.id]}")
            tasks.append(task)
        return cls.build(path, source, tasks, front, outline.unclosed)

    @classmethod
    def build(
        cls,
        path: Path,
        source: str,
        tasks: Sequence[Task],
        front: FrontMatter,
        unclosed: Sequence[int] = (),
    ) -> Spec:
        """Return the spec with these tasks, and with what is wrong with it."""
        problems = tuple(_problems(tasks, unclosed, front))
        settings = front.settings
        return cls(path, source, tuple(tasks), problems, front.data, settings, front.setting_lines)

    def require_settings(self) -> None:
        """Raise SpecError if the front matter cannot be used: the spec must not run without it."""
        for problem in self.problems:
            if problem.code == "front-matter":
                raise SpecError(self.path, problem.line, problem.message)

    @property
    def directory(self) -> Path:
        return self.path.parent

    @cached_property
    def name(self) -> str:
        """The name of the directory for a tasks.md, the stem of the file name for others."""
        if self.path.name.lower() != TASKS_NAME:
            return self.path.stem
        return self.path.parent.name or self.path.resolve().parent.name

    @cached_property
    def lines(self) -> LineFinder:
        return LineFinder(self.source)

    def note_line(self, number: int, start: int) -> None:
        """Note that a line starts at this offset, so that `lines` need not look for it."""
        self.__dict__["lines"] = LineFinder(self.source, number, start)

    @cached_property
    def _tasks_by_name(self) -> Mapping[str, Task]:
        """The first task with each id or name, and with each id without its last dot."""
        tasks: dict[str, Task] = {}
        for task in self.tasks:
            tasks.setdefault(task.id, task)
            tasks.setdefault(task.name, task)
        for task in self.tasks:
            tasks.setdefault(task.id.rstrip("."), task)
        return tasks

    def get(self, id: str) -> Task | None:  # noqa: A002
        """Return the task with this id or node name; `1` and `1.` find each other."""
        return self._tasks_by_name.get(id) or self._tasks_by_name.get(id.rstrip("."))

    def __getitem__(self, id: str) -> Task:  # noqa: A002
        task = self.get(id)
        if task is None:
            raise KeyError(id)
        return task

    def __contains__(self, id: object) -> bool:  # noqa: A002
        return isinstance(id, str) and self.get(id) is not None


def _read(file: Path) -> str:
    """Return the text of a file. Raise SpecError if it is too large or no text in UTF-8."""
    try:
        size = file.stat().st_size
        if size > MAX_BYTES:
            sizes = f"{size / 1e6:,.0f} MB, at most {MAX_BYTES / 1e6:,.0f} MB"
            raise SpecError(file, 1, f"too large for a spec: {sizes}")
        data = read_regular(file)
    except FileNotFoundError:
        reason = "no such file"
        if file.name == TASKS_NAME and file.parent.is_dir():
            reason = f"no {TASKS_NAME} in this directory"
        raise SpecError(file, 1, reason) from None
    except OSError as error:
        raise SpecError(file, 1, f"cannot be read: {error.strerror or error}") from None

    nul = data.find(b"\0")
    if nul >= 0:
        line = data.count(b"\n", 0, nul) + 1
        raise SpecError(file, line, "not a text file (it contains NUL bytes)")
    if b"\r" in data and b"\n" not in data:
        # To us the file would be one line, and to Markdown it is many.
        raise SpecError(file, 1, "its lines end with a carriage return alone")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SpecError(file, line, f"not UTF-8 (byte 0x{data[error.start]:02x})") from None


def _task(block: TaskBlock, lines: Sequence[str]) -> Task:
    """Make the task of a block, with its fields and its checks."""
    fields = as_mapping(block.fields)
    return Task(
        id=block.title.id or slug(block.title.title),
        title=block.title.title,
        checked=block.checked,
        markers=block.title.markers,
        phase=block.phase,
        line=block.line + 1,
        end_line=block.end,
        fields=fields,
        files=read_files(fields.get("Files", "")),
        verify=read_task_verify(block, lines, fields.get("Expect")),
    )


def _is_verified(task: Task, block: TaskBlock, lines: Sequence[str]) -> bool:
    """Whether a task has a check, or a Verify field; prose in its title is none."""
    return bool(task.verify.checks) or find_verify_text(block, lines).strip() != ""


def _with_command(task: Task, commands: Mapping[str, str | Sequence[str]]) -> Task:
    """Give a task without a Verify field the command for its id, marker or phase."""
    keys = [task.id, task.id.rstrip(".")]
    for marker in task.markers:
        keys += [f"[{marker}]", marker]
    keys += [key for key in commands if _names_phase(key, task.phase)]

    for key in keys:
        lines = commands.get(key)
        if not lines:
            continue
        if isinstance(lines, str):
            lines = [lines]
        checks = tuple(Check(line.strip()) for line in lines)
        return replace(task, verify=Verify(checks, text="\n".join(lines)))
    return task


def _names_phase(key: str, phase: str) -> bool:
    return re.match(rf"{re.escape(key)}(?!\w)", phase, re.IGNORECASE) is not None


def _problems(
    tasks: Sequence[Task], unclosed: Sequence[int], front: FrontMatter
) -> Iterator[Problem]:
    """Yield what is wrong with a spec whose tasks could be read."""
    if front.error is not None:
        yield Problem(front.error.line, front.error.message, "front-matter")
    for line in unclosed:
        message = "unclosed fence: the code block that starts here never ends"
        yield Problem(line + 1, message, "unclosed-fence")

    first_lines: dict[str, int] = {}
    for task in tasks:
        first_line = first_lines.setdefault(task.id, task.line)
        if first_line != task.line:
            message = f"duplicate id {task.id}: first used on line {first_line}"
            yield Problem(task.line, message, "duplicate-id")

    total = front.data.get("total_tasks")
    if isinstance(total, int) and total != len(tasks):
        message = f"total_tasks is {total}, but there are {len(tasks)} tasks"
        yield Problem(front.total_line, message, "wrong-total")
    if not tasks:
        message = "no tasks found: write each task as `- [ ] 1.1 Title` with a `**Verify**:` field"
        yield Problem(1, message, "no-tasks")
