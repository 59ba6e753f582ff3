"""Commit messages of tasks, and the script that `--ralph-commit=message-only` writes."""

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

LONGEST_MESSAGE = 200
# What a Commit field says if no commit is wanted: `None`, `-`, `(none)`, `No commit needed`, `N/A
# (docs only)`. A keyword in front of other words, as in `skip blank rows`, begins a message.
NO_COMMIT = re.compile(
    r"""
    [(\[]?
    (?: none | no | n/?a | not\ applicable | no\ commit\b.* | nothing\ to\ commit | no\ changes?
      | not | skip(?:\ commit)? | -+ | — | tbd
    )
    (?:\ needed|\ required)?
    [)\].\s]*
    (?: (?:[(\[,;] | [-–—]\ ) .* )?
    """,
    re.IGNORECASE | re.VERBOSE,
)
LIST_MARKER = re.compile(r"^[-*]\s+")
# A whole message in backquotes, with or without a remark behind it.
QUOTED_MESSAGE = re.compile(r"^\s*`(?P<message>[^`]+)`\s*(?:[(\[].*)?$")
# A remark in brackets at the end. `(#12)` and `f()` belong to the message.
REMARK = re.compile(r"\s+(?:\([^()#]+\)|\[[^\[\]#]+\])\s*$")
SCRIPT_HEADING = """\
#!/bin/sh
# One commit per task that passed. Read this script, then run it. Later tasks are appended.
set -e
cd "$(dirname "$0")"/{root}
# A name like [id].tsx is no pattern.
export GIT_LITERAL_PATHSPECS=1

is_listed() {{
    test -n "$(git ls-files -- "$1")"
}}

# A file that a later task removed again, or that is committed already, is left out.
commit() {{
    message=$1
    shift
    for file do
        shift
        if [ -e "$file" ] || [ -L "$file" ] || is_listed "$file"; then
            git add -A -- "$file"
        fi
        if is_listed "$file" || git rev-parse -q --verify "HEAD:./$file" > /dev/null; then
            set -- "$@" "$file"
        fi
    done
    if [ $# -gt 0 ] && ! git diff --cached --quiet -- "$@"; then
        git commit -m "$message" -- "$@"
    fi
}}
"""


def declines_commit(task: Task) -> bool:
    """Return whether the task's Commit field says that there is to be no commit."""
    return bool(NO_COMMIT.fullmatch(_commit_field(task)))


def written_message(task: Task) -> str:
    """Return the message in the task's Commit field; empty if it has none or declines a commit."""
    return "" if declines_commit(task) else _commit_field(task)


def commit_message(task: Task, spec: str) -> str:
    """Return the written message, or else `feat(<spec>): <title>`, as one plain line."""
    return written_message(task) or _plain_line(f"feat({spec}): {task.title or task.id}")


def append_commit(script: Path, root: Path, message: str, paths: Iterable[str]) -> None:
    """Append a commit of `paths` (relative to `root`) to the shell script `script`."""
    files = shlex.join(paths)
    if not files:
        return

    if script.exists():
        text = os.fsdecode(script.read_bytes())
    else:
        path_to_root = shlex.quote(os.path.relpath(root, script.parent))
        text = SCRIPT_HEADING.format(root=path_to_root)
    text += f"\ncommit {shlex.quote(_plain_line(message))} {files}\n"
    write_atomically(script, text)
    script.chmod(script.stat().st_mode | 0o100)


def _commit_field(task: Task) -> str:
    """Return the Commit field as one plain line, without remarks; empty if there is none."""
    line = _first_line(task.fields.get("Commit", ""))
    return LIST_MARKER.sub("", _plain_line(_without_remark(line)))


def _first_line(text: str) -> str:
    """Return the first line with text in it: the lines below are notes for readers of the spec."""
    for line in text.splitlines():
        if line.strip("` \t"):
            return line
    return ""


def _without_remark(line: str) -> str:
    """Return a message without the remark in brackets behind it: "`fix: a` (if needed)"."""
    quoted = QUOTED_MESSAGE.match(line)
    if quoted is not None:
        return quoted["message"]
    return REMARK.sub("", line)


def _plain_line(text: str) -> str:
    return one_line(text.replace("`", ""), LONGEST_MESSAGE)
