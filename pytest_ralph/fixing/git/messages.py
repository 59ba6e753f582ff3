"""Room fixing: what a commit of a task says, and the script of commits that `--ralph-commit=message-only` leaves."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING

from pytest_ralph.files import write_atomically
from pytest_ralph.text.inert import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pytest_ralph.spec.task import Task

_LONGEST = 200
_NO_MESSAGE = re.compile(
    r"(?i)^(?:none|n/?a|no commit.*|no changes?.*|not? needed.*|skip.*|-+|—|tbd)?[.\s]*$"
)


def commit_message(task: Task, spec: str) -> str:
    """The task's Commit field as one plain line; without one, `feat(<spec>): <title>`."""
    written = next(
        (text for name, text in task.fields.items() if name.strip().casefold() == "commit"), ""
    )
    # Only the first line: notes below it are for the reader of the spec.
    message = _plain(next((line for line in written.splitlines() if line.strip("` \t")), ""))
    if _NO_MESSAGE.match(message) is None:
        return message
    return _plain(f"feat({spec}): {task.title or task.id}")


def _plain(text: str) -> str:
    return one_line(text.replace("`", ""), _LONGEST)


def append_commit(script: Path, root: Path, message: str, paths: Iterable[str]) -> None:
    """Add one commit of `paths` (named from `root`) to a shell script that makes the commits when a person runs it."""
    files = " ".join(shlex.quote(path) for path in paths)
    if not files:
        return
    before = os.fsdecode(script.read_bytes()) if script.exists() else _heading(script, root)
    quoted = shlex.quote(_plain(message))
    write_atomically(
        script, f"{before}\ngit add -A -- {files}\ngit commit -m {quoted} -- {files}\n"
    )
    script.chmod(script.stat().st_mode | 0o100)


def _heading(script: Path, root: Path) -> str:
    up = shlex.quote(os.path.relpath(root, script.parent))
    return (
        "#!/bin/sh\n"
        "# One commit for each task that passed. Read it, then run it; tasks that pass later are added below.\n"
        f'set -e\ncd "$(dirname "$0")"/{up}\n'
    )
