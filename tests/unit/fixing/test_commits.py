"""Commit messages are one inert line; the commit script does what it says and nothing else."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.fixing.git.messages import append_commit, commit_message, declines_commit
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
        ("[JIRA-12] add users", "[JIRA-12] add users"),
        ("(core) add parser", "(core) add parser"),
        ("- fix: the bug", "fix: the bug"),
        ("(none)", "feat(foo): Add a thing"),
    ],
)
def test_the_message_comes_from_field_or_title(field: str, message: str) -> None:
    task = Task(id="1.1", title="Add `a` thing", fields={"Do": "x", "Commit": field})
    assert commit_message(task, "foo") == message


@pytest.mark.parametrize(
    ("field", "declines"),
    [
        ("", False),
        ("feat: a", False),
        ("None", True),
        ("`None`", True),
        ("-", True),
        ("N/A", True),
        ("No commit", True),
        ("No commit needed if no changes", True),
        ("skip", True),
        ("none needed", True),
        ("Not applicable", True),
        ("nothing to commit", True),
        ("None - verification only", True),
        ("no more blank rows", False),
        ("none of the rows is blank", False),
        ("skip blank rows", False),
        ("None (verification only)", True),
        ("None, part of 1.4", True),
        ("None; squashed into 1.4", True),
        ("(none)", True),
        ("[no commit]", True),
        ("[JIRA-12] add users", False),
        ("(core) add parser", False),
        ("- fix: the bug", False),
    ],
)
def test_fields_that_ask_for_no_commit(field: str, declines: bool) -> None:
    task = Task(id="1.1", title="x", fields={"Commit": field})
    assert declines_commit(task) is declines


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


def test_the_script_takes_no_name_for_a_pattern(tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=U", "-c", "user.email=u@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    for name in ("[id].tsx", "i.tsx"):
        (tmp_path / name).write_text("x\n")
    script = tmp_path / "commits.sh"
    append_commit(script, tmp_path, "feat: a", ["[id].tsx"])

    environ = {**os.environ, "GIT_CONFIG_COUNT": "2"}
    for number, (name, value) in enumerate({"user.name": "U", "user.email": "u@e.org"}.items()):
        environ[f"GIT_CONFIG_KEY_{number}"] = name
        environ[f"GIT_CONFIG_VALUE_{number}"] = value
    subprocess.run([script], env=environ, check=True)
    listed = subprocess.run([*git, "ls-files"], check=True, capture_output=True, text=True)
    assert listed.stdout.split() == ["[id].tsx"]


def test_the_script_goes_on_where_nothing_is_left_to_commit(tmp_path: Path) -> None:
    root, script = tmp_path / "project", tmp_path / "commits.sh"
    root.mkdir()
    git = ["git", "-C", str(root), "-c", "user.name=U", "-c", "user.email=u@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    for name in ("removed", "staged"):
        (root / name).write_text("x\n")
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "first"], check=True)
    (root / "removed").unlink()
    subprocess.run([*git, "rm", "-q", "staged"], check=True)
    (root / "both").write_text("x\n")
    (root / "last").write_text("x\n")
    # The second task removed what the first one had made, and changed the same file.
    append_commit(script, root, "feat: one", ["both", "gone", "removed"])
    append_commit(script, root, "feat: two", ["both"])
    append_commit(script, root, "feat: three", ["last", "staged"])

    identity = {"GIT_AUTHOR_NAME": "U", "GIT_AUTHOR_EMAIL": "u@example.org"}
    identity |= {"GIT_COMMITTER_NAME": "U", "GIT_COMMITTER_EMAIL": "u@example.org"}
    for _ in range(2):
        # Again: tasks may have been appended since.
        subprocess.run([script], env={**os.environ, **identity}, check=True)

    log = subprocess.run([*git, "log", "--format=%s"], capture_output=True, text=True, check=True)
    assert log.stdout.splitlines() == ["feat: three", "feat: one", "first"]
    status = subprocess.run([*git, "status", "-s"], capture_output=True, text=True, check=True)
    assert status.stdout == ""
