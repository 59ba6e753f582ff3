"""The Spec, one markdown file read into tasks. Reads only; the edits ever made are in edit.py."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_ralph.files import TASKS_NAME
from pytest_ralph.spec.fields import as_mapping, inline_verify, read_files, verify_text
from pytest_ralph.spec.frontmatter import FrontMatter, FrontMatterError, read_front_matter, unusable
from pytest_ralph.spec.outline import read_outline
from pytest_ralph.spec.task import Task
from pytest_ralph.spec.task_block import find_blocks
from pytest_ralph.spec.task_line import slug
from pytest_ralph.verify.model import Check, Verify
from pytest_ralph.verify.read import read_verify

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_ralph.spec.task_block import TaskBlock

MAX_BYTES = 50 * 1000 * 1000


class SpecError(Exception):
    """A file that cannot be read as a spec: one line that names file, line and reason."""

    def __init__(self, path: str | os.PathLike[str], line: int, message: str) -> None:
        self.path = Path(path)
        self.line = line
        self.message = " ".join(message.split())
        super().__init__(f"{self.path}:{line}: {self.message}")

    def __reduce__(self) -> tuple[Any, ...]:
        return SpecError, (self.path, self.line, self.message)


class Problem(NamedTuple):
    """Something wrong with a spec that does not keep it from being used."""

    line: int
    message: str
    code: str


@dataclass(frozen=True)
class Spec:
    """One tasks.md (or other markdown file). `source` is the text as it is on disk, byte order mark included."""

    path: Path
    source: str
    tasks: tuple[Task, ...] = ()
    problems: tuple[Problem, ...] = ()
    front_matter: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    setting_lines: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def load(cls, path: str | os.PathLike[str], verify: Mapping[str, str] | None = None) -> Spec:
        """Read a spec directory, its tasks.md, or any other markdown file. SpecError says what is in the way."""
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
        """Read a text. `verify` maps ids, `[markers]` or phases to commands for tasks without a Verify field."""
        path = Path(path)
        try:
            source.encode()
        except UnicodeEncodeError as error:
            raise SpecError(
                path, source.count("\n", 0, error.start) + 1, "not valid Unicode text"
            ) from None
        front, broken = front_matter_of(source)
        outline = read_outline(source, front.lines)
        commands = {**(verify or {}), **front.settings.get("verify", {})}
        blocks = find_blocks(outline)
        tasks = _name_apart(
            [_with_command(_task(block, outline.lines), commands) for block in blocks]
        )
        problems = (*broken, *problems_of(tasks, outline.unclosed, front))
        return cls(path, source, tasks, problems, front.data, front.settings, front.setting_lines)

    def require_settings(self) -> None:
        """SpecError where the front matter cannot be used: the tasks can be read, but not run as their author wants."""
        for problem in self.problems:
            if problem.code == "front-matter":
                raise SpecError(self.path, problem.line, problem.message)

    @property
    def directory(self) -> Path:
        return self.path.parent

    @cached_property
    def name(self) -> str:
        """The directory's name for a tasks.md, the file's stem for any other file."""
        if self.path.name.lower() != TASKS_NAME:
            return self.path.stem
        return self.path.parent.name or self.path.resolve().parent.name

    def get(self, id: str) -> Task | None:  # noqa: A002
        """The task with this id or node name; `1` finds a task written `1.` and the other way round."""
        bare = id.rstrip(".")
        candidates = [task for task in self.tasks if bare == task.id.rstrip(".") or id == task.name]
        return next(
            (task for task in candidates if id in (task.id, task.name)),
            candidates[0] if candidates else None,
        )

    def __getitem__(self, id: str) -> Task:  # noqa: A002
        task = self.get(id)
        if task is None:
            raise KeyError(id)
        return task

    def __contains__(self, id: object) -> bool:  # noqa: A002
        return isinstance(id, str) and self.get(id) is not None


def front_matter_of(source: str) -> tuple[FrontMatter, tuple[Problem, ...]]:
    try:
        return read_front_matter(source), ()
    except FrontMatterError as error:
        return unusable(source), (Problem(error.line, error.message, "front-matter"),)


def _read(file: Path) -> str:
    try:
        size = file.stat().st_size
        if size > MAX_BYTES:
            raise SpecError(
                file,
                1,
                f"too large for a spec: {size / 1e6:,.0f} MB, at most {MAX_BYTES / 1e6:,.0f} MB",
            )
        data = file.read_bytes()
    except FileNotFoundError:
        missing = f"no {TASKS_NAME} in this directory" if file.parent.is_dir() else "no such file"
        raise SpecError(file, 1, missing if file.name == TASKS_NAME else "no such file") from None
    except OSError as error:
        raise SpecError(file, 1, f"cannot be read: {error.strerror or error}") from None
    if (nul := data.find(b"\0")) >= 0:
        raise SpecError(file, data.count(b"\n", 0, nul) + 1, "not a text file (it holds NUL bytes)")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SpecError(file, line, f"not UTF-8 (byte 0x{data[error.start]:02x})") from None


def _task(block: TaskBlock, lines: Sequence[str]) -> Task:
    fields = as_mapping(block.fields)
    text = verify_text(block.fields) or inline_verify(lines[block.line])
    return Task(
        id=block.named.id or slug(block.named.title),
        title=block.named.title,
        checked=block.checked,
        markers=block.named.markers,
        phase=block.phase,
        line=block.line + 1,
        end_line=block.end,
        fields=fields,
        files=read_files(fields.get("Files", "")),
        verify=read_verify(text),
    )


def _name_apart(tasks: Sequence[Task]) -> tuple[Task, ...]:
    """The second task with an id gets `~2` behind its node name."""
    seen: dict[str, int] = {}
    named = []
    for task in tasks:
        count = seen[task.id] = seen.get(task.id, 0) + 1
        named.append(task if count == 1 else replace(task, name=f"{task.id}~{count}"))
    return tuple(named)


def _with_command(task: Task, commands: Mapping[str, str | Sequence[str]]) -> Task:
    """A task without a Verify field takes its command from the mapping: by id, then marker, then phase."""
    if not commands or task.verify.text.strip():
        return task
    keys = [
        task.id,
        task.id.rstrip("."),
        *(key for marker in task.markers for key in (f"[{marker}]", marker)),
    ]
    found = next((commands[key] for key in keys if key in commands), None) or _by_phase(
        task.phase, commands
    )
    if not found:
        return task
    lines = [found] if isinstance(found, str) else found
    return replace(
        task,
        verify=Verify(
            tuple(Check(str(line).strip()) for line in lines), text="\n".join(map(str, lines))
        ),
    )


def _by_phase(
    phase: str, commands: Mapping[str, str | Sequence[str]]
) -> str | Sequence[str] | None:
    for key, command in commands.items():
        if re.match(rf"{re.escape(key)}(?!\w)", phase, re.IGNORECASE):
            return command
    return None


def problems_of(
    tasks: Sequence[Task], unclosed: Sequence[int], front: FrontMatter
) -> Iterator[Problem]:
    for line in unclosed:
        yield Problem(
            line + 1, "unclosed fence: the code block that starts here never ends", "unclosed-fence"
        )
    first: dict[str, int] = {}
    for task in tasks:
        if first.setdefault(task.id, task.line) != task.line:
            yield Problem(
                task.line,
                f"duplicate id {task.id}: first used on line {first[task.id]}",
                "duplicate-id",
            )
    total = front.data.get("total_tasks")
    if isinstance(total, int) and total != len(tasks):
        yield Problem(
            front.total_line,
            f"total_tasks is {total}, but there are {len(tasks)} tasks",
            "wrong-total",
        )
    if not tasks:
        yield Problem(1, "no tasks found", "no-tasks")
