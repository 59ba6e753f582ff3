"""Several specs that name the same file, healed at once by several workers."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.faults.shared_files import heal as heal_shared_files

if TYPE_CHECKING:
    from pathlib import Path

SPEC = """\
# Tasks

- [ ] 1.1 Add {word}
  - **Do**: Add the word {word}
  - **Files**: `shared.txt`
  - **Verify**: `grep -q {word} shared.txt`
"""
ADD = "sleep 0.2; echo $RALPH_SPEC_PATH | sed 's|.*/||' >> shared.txt"
# Both are at work before one of them ends, and pear ends after apple has passed.
ADD_AT_ONCE = """\
cd {root}/.ralph; word=$(basename $RALPH_SPEC_PATH); echo $word >> begun; cd - > /dev/null
until test $(wc -l < {root}/.ralph/begun) -ge 2; do sleep 0.02; done
case $word in
    apple) sed -i '1i apple' shared.txt;;
    pear) until grep -q '\\[x\\] 1.1 ' {root}/specs/apple/tasks.md; do sleep 0.02; done
        echo pear >> shared.txt;;
esac
"""
OVERWRITE = "echo $RALPH_SPEC_PATH | sed 's|.*/||' > shared.txt"


@pytest.fixture
def root(pytester: pytest.Pytester) -> Path:
    for word in ("apple", "pear"):
        directory = pytester.path / "specs" / word
        directory.mkdir(parents=True)
        (directory / "tasks.md").write_text(SPEC.format(word=word))
    (pytester.path / "shared.txt").write_text("begin\n")
    for words in (
        ("init", "-q", "--template="),
        ("config", "user.name", "A"),
        ("config", "user.email", "a@b"),
        ("add", "-A"),
        ("commit", "-q", "-m", "begin"),
    ):
        subprocess.run(["git", *words], cwd=pytester.path, check=True)
    return pytester.path


def heal(pytester: pytest.Pytester, executor: str, *options: str) -> pytest.RunResult:
    return pytester.runpytest(
        "--ralph-recovery", f"--ralph-executor={executor}", "-n", "2", *options, "specs"
    )


def recovered_words(result: pytest.RunResult) -> set[str]:
    lines = [line.split() for line in result.outlines if line.startswith("RECOVERED")]
    return {words[1] for words in lines}


@pytest.mark.slow
def test_workers_take_turns_at_a_file(pytester: pytest.Pytester, root: Path) -> None:
    result = heal(pytester, ADD)

    assert result.ret == 0
    assert {"apple", "pear"} <= set((root / "shared.txt").read_text().split())


def test_turns_outlast_the_removal_of_their_locks(pytester: pytest.Pytester, root: Path) -> None:
    """An executor that runs `git clean -fdx` must not let that of another worker begin."""
    executor = root / "executor.sh"
    executor.write_text("""\
        rm -rf .ralph; ls *.working >> seen; word=$(basename $RALPH_SPEC_PATH)
        touch $word.working; sleep 0.5; echo $word >> shared.txt; rm $word.working
    """)
    result = heal(pytester, f"sh {executor}", "--ralph-commit=auto")

    assert result.ret == 0
    assert (root / "seen").read_text() == ""


def test_a_budget_outlasts_the_removal_of_our_directory(
    pytester: pytest.Pytester, root: Path
) -> None:
    """The file in which the workers count is not among what an executor may remove."""
    executor = "echo $RALPH_TASK_ID >> ../ran; rm -rf .ralph; false"
    result = heal(pytester, executor, "--ralph-budget=2")

    assert result.ret == 1
    assert len((root.parent / "ran").read_text().split()) == 2


@pytest.mark.slow
def test_one_spec_with_commits_makes_all_take_turns(pytester: pytest.Pytester, root: Path) -> None:
    for word, commit in (("apple", "auto"), ("pear", "none")):
        text = SPEC.format(word=word).replace("shared.txt", f"{word}.txt")
        front_matter = f"---\nralph:\n  commit: {commit}\n---\n"
        (root / f"specs/{word}/tasks.md").write_text(front_matter + text)
    executor = root / "executor.sh"
    executor.write_text("""\
        word=$(basename $RALPH_SPEC_PATH); sleep 0.3; echo $word > $word.txt; sleep 0.3
    """)
    result = heal(pytester, f"sh {executor}")

    assert result.ret == 0
    done = subprocess.run(
        ["git", "show", "--name-only", "--format="], cwd=root, check=True, capture_output=True
    )
    committed = done.stdout.decode().split()
    assert "apple.txt" in committed
    assert "pear.txt" not in committed


@pytest.mark.slow
def test_commits_of_a_refused_fix_are_moved_back(pytester: pytest.Pytester, root: Path) -> None:
    """Whatever other workers commit meanwhile."""
    for word in ("apple", "pear"):
        text = SPEC.format(word=word).replace("shared.txt", f"{word}.txt")
        (root / f"specs/{word}/tasks.md").write_text(text)
    (root / "conftest.py").write_text("")
    executor = root / "executor.sh"
    executor.write_text("""\
        word=$(basename $RALPH_SPEC_PATH)
        [ $RALPH_TASK_ID = 1.1.1 ] && echo "# $word" > conftest.py && git commit -qam agent
        [ $RALPH_TASK_ID = 1.1.2 ] && echo $word > $word.txt
    """)
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    subprocess.run(["git", "commit", "-qm", "more"], cwd=root, check=True)
    result = heal(pytester, f"sh {executor}", "--ralph-commit=auto", "--ralph-guard=refuse")

    assert result.ret == 0
    log = ["git", "log", "--format=%s"]
    subjects = subprocess.run(log, cwd=root, check=True, capture_output=True).stdout.decode()
    assert sorted(subjects.split("\n"))[1:] == sorted(
        ["begin", "more", "feat(apple): Add apple", "feat(pear): Add pear"]
    )
    assert (root / "conftest.py").read_text() == ""


@pytest.mark.slow
def test_isolated_workers_change_a_file_at_once(pytester: pytest.Pytester, root: Path) -> None:
    (root / "shared.txt").write_text("begin\n\n\n\nend\n")
    executor = root / "executor.sh"
    executor.write_text(ADD_AT_ONCE.format(root=root))
    result = heal(pytester, f"sh {executor}", "--ralph-isolate=worktree")

    assert result.ret == 0
    assert (root / "shared.txt").read_text() == "apple\nbegin\n\n\n\nend\npear\n"
    # No executor had to run again.
    assert len((root / ".ralph/begun").read_text().split()) == 2
    # The workers removed their worktrees, which were kept to be used again.
    assert [path.name for path in (root / ".git/worktrees").glob("*")] == []


@pytest.mark.slow
def test_recovered_tasks_pass_in_the_final_tree(pytester: pytest.Pytester, root: Path) -> None:
    result = heal(pytester, OVERWRITE, "--ralph-isolate=worktree", "--ralph-max-fixes=1")

    # Each executor destroys what the other one did: only one of them can win.
    assert result.ret == 1
    assert recovered_words(result) == set((root / "shared.txt").read_text().split())


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_broken_task_fails_not_its_culprit(
    pytester: pytest.Pytester, root: Path, workers: str
) -> None:
    result = heal(pytester, OVERWRITE, "--ralph-max-fixes=1", "-n", workers)

    assert result.ret == 1
    (word,) = (root / "shared.txt").read_text().split()
    (other,) = {"apple", "pear"} - {word}
    assert recovered_words(result) == {word}
    result.stdout.fnmatch_lines([f"*{other} 1.1 no longer passes since {word} 1.1 changed *"])


@pytest.mark.slow
def test_edits_at_random_moments_are_merged(tmp_path: Path) -> None:
    """The long version is in tests/faults."""
    ended = heal_shared_files(tmp_path / "project", 1, "worktree", specs=4, workers=2)

    assert ended.problems == [], ended.output
    assert ended.good > 0
