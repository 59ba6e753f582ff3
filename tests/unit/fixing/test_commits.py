"""Commit messages are one inert line; the commit script does what it says and nothing else."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.fixing.git.messages import append_commit, commit_message, wants_commit
from pytest_ralph.spec.task import Task

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("`feat(api): add users`", "feat(api): add users"),
        ("feat: use `x` and `y`", "feat: use x and y"),
        ("\n  `fix: a`\n  more", "fix: a"),
        ("fix:\ta\x1b[31m b\u202ec", "fix: a bc"),
        ("", "feat(foo): Add a thing"),
        ("None", "feat(foo): Add a thing"),
        ("N/A", "feat(foo): Add a thing"),
        ("`None`", "feat(foo): Add a thing"),
        ("No commit needed", "feat(foo): Add a thing"),
        ("nonempty check added", "nonempty check added"),
        ("`feat: a` (only if it passes)", "feat: a"),
        ("feat: a (skip when empty)", "feat: a"),
        ("feat: a (optional)", "feat: a"),
        ("fix: call f() (#12)", "fix: call f() (#12)"),
        ("fix: close f()", "fix: close f()"),
        ("skip blank rows in the reader", "skip blank rows in the reader"),
        ("no changes of the order any more", "no changes of the order any more"),
    ],
)
def test_the_message_comes_from_field_or_title(field: str, message: str) -> None:
    task = Task(id="1.1", title="Add `a` thing", fields={"Do": "x", "commit": field})
    assert commit_message(task, "foo") == message


@pytest.mark.parametrize(
    ("field", "wanted"),
    [
        ("", True),
        ("feat: a", True),
        ("None", False),
        ("`None`", False),
        ("-", False),
        ("N/A", False),
        ("No commit", False),
        ("No commit needed if no changes", False),
        ("skip", False),
        ("none needed", False),
        ("Not applicable", False),
        ("nothing to commit", False),
        ("None - verification only", False),
        ("no more blank rows", True),
        ("none of the rows is blank", True),
        ("skip blank rows", True),
        ("None (verification only)", False),
    ],
)
def test_fields_that_ask_for_no_commit(field: str, wanted: bool) -> None:
    task = Task(id="1.1", title="x", fields={"Commit": field})
    assert wants_commit(task) is wanted


def test_a_message_needs_no_title_and_is_cut() -> None:
    assert commit_message(Task(id="1.1", title=""), "foo") == "feat(foo): 1.1"
    assert len(commit_message(Task(id="1.1", title="x" * 1000), "foo")) == 200


def test_the_script_runs_from_anywhere_and_expands_nothing(tmp_path: Path) -> None:
    root, script = tmp_path / "my project", tmp_path / "my project/.ralph/commits-foo.sh"
    script.parent.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", root], check=True)
    for pair in (("user.name", "U"), ("user.email", "u@example.org")):
        subprocess.run(["git", "-C", root, "config", *pair], check=True)
    for name in ("a b.py", "$(touch owned).py", "left.py"):
        (root / name).write_text("x\n")
    hostile = "feat: $(touch owned) `touch owned` 'x' \"y\"\n; touch owned"
    append_commit(script, root, hostile, ["a b.py"])
    append_commit(script, root, "feat: b", ["$(touch owned).py"])
    append_commit(script, root, "feat: nothing", [])
    subprocess.run([script], cwd=tmp_path, check=True, capture_output=True)
    log = subprocess.run(
        ["git", "-C", root, "log", "--format=%s"], capture_output=True, text=True, check=True
    ).stdout
    assert log.splitlines() == [
        "feat: b",
        "feat: $(touch owned) touch owned 'x' \"y\" ; touch owned",
    ]
    assert not list(tmp_path.rglob("owned"))
    status = subprocess.run(
        ["git", "-C", root, "status", "--porcelain"], capture_output=True, text=True, check=True
    )
    assert "?? left.py" in status.stdout
