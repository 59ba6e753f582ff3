"""Executors work in worktrees: verify there, merge, verify in the project."""

from __future__ import annotations

import os
import shutil
import venv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.fixing.errors import GitError, RecoveryError
from pytest_ralph.fixing.isolation.worktree import Worktree
from pytest_ralph.healing import fixer
from pytest_ralph.healing.guard import Guard
from tests.worktrees import worktrees_of

if TYPE_CHECKING:
    from pytest_ralph.fixing.file_state import Change
    from tests.integration.recovery.conftest import Project

ISOLATED = "--ralph-isolate=worktree"


@pytest.fixture
def isolated(one_task: Project) -> Project:
    """A repository with a task that fails: parser.txt has to contain `fixed`."""
    one_task.write("parser.txt", "one\ntwo\nthree\nfour\nfive\n")
    one_task.repository()
    return one_task


def append(text: str) -> str:
    return f"echo {text} >> parser.txt"


def no_worktrees(project: Project) -> bool:
    return not worktrees_of(project.root)


def test_change_is_merged_after_verify(isolated: Project) -> None:
    result = isolated.run(ISOLATED, executor=isolated.shell(append("fixed")))

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*1 passed, 1 recovered*"])
    assert (isolated.root / "parser.txt").read_text() == "one\ntwo\nthree\nfour\nfive\nfixed\n"
    assert isolated.boxes["1.3"]
    assert no_worktrees(isolated)


def test_executor_works_outside_the_project(isolated: Project) -> None:
    body = "pwd > where.txt; echo $RALPH_SPEC_PATH >> where.txt; echo fixed > parser.txt"
    isolated.run(ISOLATED, executor=isolated.shell(body))

    directory, spec_path = (isolated.root / "where.txt").read_text().splitlines()
    assert not Path(directory).is_relative_to(isolated.root)
    assert spec_path == f"{directory}/specs/demo"
    assert not Path(directory).exists()


def test_uncommitted_and_untracked_files_are_there(isolated: Project) -> None:
    isolated.write("parser.txt", "uncommitted\n")
    isolated.write("new.txt", "untracked\n")
    isolated.write(".gitignore", "ignored.txt\n")
    isolated.write("ignored.txt", "ignored\n")
    body = "cat parser.txt new.txt > seen.txt; test -e ignored.txt || echo fixed >> parser.txt"
    result = isolated.run(ISOLATED, executor=isolated.shell(body))

    assert result.ret == 0
    assert (isolated.root / "seen.txt").read_text() == "uncommitted\nuntracked\n"
    assert (isolated.root / "parser.txt").read_text() == "uncommitted\nfixed\n"
    assert (isolated.root / "ignored.txt").read_text() == "ignored\n"


def test_huge_files_are_not_merged(isolated: Project) -> None:
    """To read or copy one of 300 GB would take all memory, or hours."""
    with (isolated.root / "mine.bin").open("wb") as file:
        file.truncate(300 << 30)
    body = f"truncate -s 300G big.bin; {append('fixed')}; test -e mine.bin && echo > seen.txt"
    result = isolated.run(ISOLATED, "--ralph-commit=auto", executor=isolated.shell(body))

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*1.3.1 left files that are too large to be merged: big.bin*"])
    assert isolated.git("status", "--porcelain", "*.bin", "*.txt") == "?? mine.bin"
    assert not (isolated.root / "seen.txt").exists()
    assert no_worktrees(isolated)


def test_large_files_of_a_failed_fix_are_not_kept(isolated: Project) -> None:
    body = "truncate -s 400M big.bin; echo tried >> parser.txt"
    result = isolated.run(ISOLATED, "--ralph-max-fixes=1", executor=isolated.shell(body))

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*1.3: too large to be kept in a patch: big.bin*"])
    [patch] = (isolated.root / ".ralph/patches").iterdir()
    assert "+tried" in patch.read_text()
    assert patch.stat().st_size < 10_000


def test_failed_fix_does_not_touch_the_project(isolated: Project) -> None:
    body = "echo wrong > parser.txt; rm -r specs; echo new > new.txt"
    result = isolated.run(ISOLATED, "--ralph-max-fixes=1", executor=isolated.shell(body))

    assert result.ret == 1
    assert (isolated.root / "parser.txt").read_text() == "one\ntwo\nthree\nfour\nfive\n"
    assert not (isolated.root / "new.txt").exists()
    assert isolated.tasks.exists()
    assert no_worktrees(isolated)
    [patch] = (isolated.root / ".ralph/patches").iterdir()
    assert "+wrong" in patch.read_text()
    isolated.git("apply", "--check", str(patch))


def test_later_fix_goes_on_with_earlier_work(isolated: Project) -> None:
    body = "if test $call = 2; then echo fixed > parser.txt; fi"
    result = isolated.run(ISOLATED, executor=isolated.shell(body))

    assert result.ret == 0
    assert isolated.calls == ["1.3.1", "1.3.2"]


def test_edits_of_the_user_are_merged(isolated: Project) -> None:
    main = isolated.root
    body = f"sed -i s/one/ONE/ {main}/parser.txt; {append('fixed')}"
    result = isolated.run(ISOLATED, executor=isolated.shell(body))

    assert result.ret == 0
    assert (main / "parser.txt").read_text() == "ONE\ntwo\nthree\nfour\nfive\nfixed\n"


def test_conflict_goes_back_to_the_executor(isolated: Project) -> None:
    main = isolated.root
    body = f"""
        if test $call = 1; then
            echo mine > {main}/parser.txt
            echo fixed > parser.txt
        else
            echo fixed >> parser.txt
        fi
    """
    result = isolated.run(ISOLATED, executor=isolated.shell(body))

    assert result.ret == 0
    assert (main / "parser.txt").read_text() == "mine\nfixed\n"
    prompt = isolated.prompt(2)
    assert "could not be merged" in prompt
    assert "<<<<<<<" in prompt
    assert "different approach" not in prompt
    assert isolated.calls == ["1.3.1", "1.3.1"]


@pytest.mark.parametrize("edit", ["rm parser.txt", "ln -sf other parser.txt"])
def test_conflict_without_markers_shows_both_versions(isolated: Project, edit: str) -> None:
    main = isolated.root
    body = f"""
        cp prompt.$call {main}
        test $call = 1 || exit 0
        (cd {main} && {edit})
        echo fixed > parser.txt
    """
    result = isolated.run(ISOLATED, "--ralph-max-fixes=1", executor=isolated.shell(body))

    assert result.ret == 1
    assert "--- your version:\nfixed\n--- in the project now:\n(" in isolated.prompt(2)
    # What has passed in the worktree is kept, although the second run did not do it again.
    [patch] = (main / ".ralph/patches").glob("*1.3.1.patch")
    assert "+fixed" in patch.read_text()
    result.stdout.fnmatch_lines([f"*kept as*{patch.name}*"])


def test_siblings_that_change_the_same_place_are_all_merged(project: Project) -> None:
    numbers = range(1, 6)
    project.write("list.txt", "start\n")
    project.spec(
        "".join(
            f"- [ ] 1.{number} [P] Part {number}\n"
            f"  - **Files**: `part{number}.txt`\n"
            f"  - **Verify**: `grep -q 'item 1.{number}$' list.txt`\n"
            for number in numbers
        )
    )
    project.repository()
    body = "sleep 0.5; echo item $RALPH_FIX_FOR >> list.txt"
    result = project.run(ISOLATED, "--ralph-jobs=5", executor=project.shell(body))

    assert result.ret == 0, result.stdout.str()
    lines = (project.root / "list.txt").read_text().splitlines()
    assert sorted(lines) == [*(f"item 1.{number}" for number in numbers), "start"]


def test_second_conflict_escalates_with_a_patch(isolated: Project) -> None:
    main = isolated.root
    body = f"echo mine $call > {main}/parser.txt; echo fixed $call > parser.txt"
    result = isolated.run(ISOLATED, executor=isolated.shell(body))

    assert result.ret == 1
    assert (main / "parser.txt").read_text() == "mine 2\n"
    result.stdout.fnmatch_lines(["*conflict*parser.txt*.ralph/patches/*"])
    [patch] = (main / ".ralph/patches").iterdir()
    assert "+fixed 2" in patch.read_text()
    assert no_worktrees(isolated)


def test_merge_that_fails_in_the_project_is_undone(isolated: Project) -> None:
    isolated.spec(
        """\
        # Tasks

        - [ ] 1.3 Add failure parser
          - **Do**: Add parsing logic
          - **Files**: `parser.txt`
          - **Verify**: `grep -q fixed parser.txt && test -e .git/objects/info/alternates`
        """
    )
    result = isolated.run(ISOLATED, "--ralph-max-fixes=1", executor=isolated.shell(append("fixed")))

    # Only the repository of a worktree borrows objects, so that the Verify passes there only.
    assert result.ret == 1
    assert (isolated.root / "parser.txt").read_text() == "one\ntwo\nthree\nfour\nfive\n"
    result.stdout.fnmatch_lines(["*passed in its worktree, but not in the project*"])


def test_git_state_of_the_project_stays(isolated: Project) -> None:
    isolated.write("staged.txt", "staged\n")
    isolated.git("add", "staged.txt")
    isolated.git("branch", "other")
    before = isolated.git("status", "--porcelain=v2", "--", "staged.txt")
    refs = isolated.git("for-each-ref")
    body = "git checkout -q other; git commit -q --allow-empty -m x; " + append("fixed")
    result = isolated.run(ISOLATED, executor=isolated.shell(body))

    assert result.ret == 0
    assert isolated.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert isolated.git("status", "--porcelain=v2", "--", "staged.txt") == before
    assert isolated.git("rev-parse", "main") in refs


def test_stash_of_the_user_stays(isolated: Project) -> None:
    isolated.write("parser.txt", "edit of the user\n")
    isolated.git("stash", "-q")
    before = isolated.git("stash", "list", "--format=%H %gs")
    body = "git stash drop -q; echo more > parser.txt; git stash -q; echo fixed > parser.txt"
    result = isolated.run(ISOLATED, executor=isolated.shell(body))

    assert result.ret == 0
    assert isolated.git("stash", "list", "--format=%H %gs") == before


def test_git_of_an_executor_stays_in_its_worktree(isolated: Project) -> None:
    isolated.git("branch", "topic")
    before = isolated.git("for-each-ref") + isolated.git("config", "--local", "--list")
    executor = isolated.shell("""\
        git switch -qc fix/parser && echo fixed > parser.txt && git commit -qam sneaky
        git update-ref refs/heads/main HEAD && git branch -qD topic && git tag mine
        git config user.name somebody && git stash list && git gc -q --prune=now
    """)
    result = isolated.run(ISOLATED, executor=executor)

    assert result.ret == 0
    assert (isolated.root / "parser.txt").read_text() == "fixed\n"
    assert isolated.git("for-each-ref") + isolated.git("config", "--local", "--list") == before
    assert isolated.git("status", "--porcelain", "--", "parser.txt") == "M parser.txt"


def test_git_in_a_worktree_is_that_of_the_project(isolated: Project) -> None:
    isolated.git("config", "ralph.setting", "value")
    isolated.git("tag", "v1")
    hook = isolated.root / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho hooked > hooked.txt\n")
    hook.chmod(0o755)
    isolated.write(".git/info/exclude", "excluded.txt\n")
    executor = isolated.shell("""\
        touch excluded.txt
        {
            git config ralph.setting; git log -1 --format=%s%d; git status --porcelain
        } > seen.txt
        git commit -q --allow-empty -m mine; echo fixed > parser.txt
    """)
    isolated.run(ISOLATED, executor=executor)

    subject = isolated.git("log", "-1", "--format=%s")
    seen = (isolated.root / "seen.txt").read_text().split("\n")
    assert seen[:2] == ["value", f"{subject} (HEAD, tag: v1, main)"]
    assert "?? excluded.txt" not in seen
    assert (isolated.root / "hooked.txt").read_text() == "hooked\n"


@pytest.mark.parametrize(
    "damage",
    ["rm -rf .git", "rm -rf .git; git init -q", "rm -rf .git; ln -s /nowhere .git"],
)
def test_executor_may_damage_its_worktree(
    isolated: Project, damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # git records where the link leads to.
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "link"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "link"))
    body = f"echo fixed > parser.txt; {damage}"
    result = isolated.run(ISOLATED, executor=isolated.shell(body))

    assert result.ret == 0
    assert (isolated.root / "parser.txt").read_text() == "fixed\n"
    assert no_worktrees(isolated)


def test_worktree_is_used_again_without_traces(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 One
          - **Verify**: `grep -q fixed one.txt`

        - [ ] 1.2 Two
          - **Verify**: `grep -q fixed two.txt`
    """)
    project.write(".gitignore", "*.cache\ncalls.txt\nprompt.*\n")
    project.write("tools.cache", "linked\n")
    project.write("kept.txt", "kept\n")
    project.repository()
    (project.root / "pytest.ini").write_text("[pytest]\nralph_isolate_link = tools.cache\n")
    # The second run sees the work of the first one, and nothing else of it.
    executor = project.shell(f"""\
        pwd >> {project.root}/.ralph/where
        case $task in
            1.1*)
                rm kept.txt; mkdir empty; touch left.cache; git add -A; git commit -qm one
                git checkout -q HEAD~1 -- kept.txt; chmod +x kept.txt; echo fixed > one.txt
                chmod -x kept.txt;;
            *)
                test -e one.txt && test ! -e left.cache && test ! -e empty || exit 1
                test -z "$(git status --porcelain kept.txt)" && test -e tools.cache || exit 1
                echo fixed > two.txt;;
        esac
    """)
    result = project.run(ISOLATED, executor=executor)

    assert result.ret == 0
    first, second = (project.root / ".ralph/where").read_text().split()
    assert first == second
    assert (project.root / "tools.cache").read_text() == "linked\n"
    assert no_worktrees(project)


def test_worktree_shows_what_is_staged(isolated: Project) -> None:
    isolated.write("staged.txt", "staged\n")
    isolated.git("add", "staged.txt")
    isolated.write("loose.txt", "untracked\n")
    body = "git status --porcelain -- staged.txt loose.txt > status.txt; " + append("fixed")
    isolated.run(ISOLATED, executor=isolated.shell(body))

    status = (isolated.root / "status.txt").read_text()
    assert status == "A  staged.txt\n?? loose.txt\n"


def test_edited_tests_are_refused_before_the_merge(isolated: Project) -> None:
    isolated.write("tests/test_parser.txt", "expects 1\n")
    body = "echo fixed > parser.txt; echo 2 > tests/test_parser.txt"
    result = isolated.run(
        ISOLATED,
        "--ralph-guard=refuse",
        "--ralph-max-fixes=1",
        executor=isolated.shell(body),
    )

    assert result.ret == 1
    assert (isolated.root / "tests/test_parser.txt").read_text() == "expects 1\n"
    result.stdout.fnmatch_lines(["*1.3.1 changed tests: tests/test_parser.txt*"])


def test_edits_of_the_plan_are_not_merged(isolated: Project) -> None:
    body = "sed -i 's/grep -q fixed/true/' specs/demo/tasks.md; " + append("fixed")
    result = isolated.run(ISOLATED, executor=isolated.shell(body))

    assert result.ret == 0
    assert "grep -q fixed parser.txt" in isolated.tasks.read_text()
    result.stdout.fnmatch_lines(["*changed Verify of 1.3,*in tasks.md: not merged*"])


def test_removed_and_new_files_are_merged(isolated: Project) -> None:
    isolated.write("old/old.txt", "old\n")
    isolated.write("run.sh", "true\n")
    body = "rm old/old.txt; chmod +x run.sh; mkdir n; echo > n/new; ln -s new n/link; "
    result = isolated.run(ISOLATED, executor=isolated.shell(body + append("fixed")))

    assert result.ret == 0
    assert not (isolated.root / "old").exists()
    assert os.access(isolated.root / "run.sh", os.X_OK)
    assert (isolated.root / "n/link").readlink() == Path("new")


@pytest.mark.parametrize("mode", [0o444, 0o600, 0o640, 0o500])
@pytest.mark.parametrize("move", ["mv", "git mv", "mv -f a.key b.key; echo more >> b.key; :"])
def test_a_moved_file_keeps_its_permissions(isolated: Project, mode: int, move: str) -> None:
    (isolated.write("a.key", "a key\n")).chmod(mode)
    (isolated.write("kept.key", "another key\n")).chmod(mode)
    isolated.git("add", "-A")
    isolated.git("commit", "-qm", "keys")
    body = f"{move} a.key b.key; " + append("fixed")
    result = isolated.run(ISOLATED, executor=isolated.shell(body))

    assert result.ret == 0
    assert not (isolated.root / "a.key").exists()
    assert (isolated.root / "b.key").stat().st_mode & 0o777 == mode
    assert (isolated.root / "kept.key").stat().st_mode & 0o777 == mode

    result = isolated.pytester.runpytest("--ralph-undo")
    assert result.ret == 0
    assert (isolated.root / "a.key").stat().st_mode & 0o777 == mode


def test_a_worktree_that_is_used_again_has_the_permissions(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 First
          - **Verify**: `test -e one.txt`
        - [ ] 1.2 Second
          - **Verify**: `test -e two.key`
    """)
    project.write("a.key", "a key\n").chmod(0o600)
    project.repository()
    body = """
        case $task in
        1.1*) touch one.txt; chmod 666 a.key;;
        1.2*) mv a.key two.key;;
        esac
    """
    result = project.run(ISOLATED, executor=project.shell(body))

    assert result.ret == 0
    assert (project.root / "two.key").stat().st_mode & 0o777 == 0o600


def test_commit_leaves_out_later_edits(isolated: Project) -> None:
    isolated.tasks.write_text(isolated.tasks.read_text().replace("grep -q fixed", "sh check.sh"))
    # As when a sibling merges its own change of the file before this one is committed.
    edit = f"if test $PWD = {isolated.root}; then sed -i s/one/ONE/ $1; fi"
    isolated.write("check.sh", f"grep -q fixed $1 && {edit}\n")
    isolated.git("add", "-A")
    isolated.git("commit", "-qm", "check")
    executor = isolated.shell(append("fixed"))
    result = isolated.run(ISOLATED, "--ralph-commit=auto", executor=executor)

    assert result.ret == 0
    assert (isolated.root / "parser.txt").read_text().startswith("ONE\n")
    assert isolated.git("show", "HEAD:parser.txt") == "one\ntwo\nthree\nfour\nfive\nfixed"


def test_merged_change_is_undone(isolated: Project) -> None:
    body = "echo new > new.txt; " + append("fixed")
    isolated.run(ISOLATED, executor=isolated.shell(body))
    result = isolated.pytester.runpytest("--ralph-undo")

    assert result.ret == 0
    assert isolated.boxes == {"1.3": False, "1.3.1": True, "1.4": False}
    assert (isolated.root / "parser.txt").read_text() == "one\ntwo\nthree\nfour\nfive\n"
    assert not (isolated.root / "new.txt").exists()


def test_a_new_repository_is_named(isolated: Project) -> None:
    body = f"git init -q vendored; touch vendored/file; {append('fixed')}"
    result = isolated.run(ISOLATED, executor=isolated.shell(body))

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*1.3.1 created repositories that cannot be merged: vendored/*"])


@pytest.mark.parametrize("flag", ["skip-worktree", "assume-unchanged"])
def test_files_that_git_takes_as_unchanged(isolated: Project, flag: str) -> None:
    isolated.write("parser.txt", "mine\n")
    isolated.git("update-index", f"--{flag}", "parser.txt")
    result = isolated.run(ISOLATED, executor=isolated.shell("echo fixed >> parser.txt"))

    assert result.ret == 0
    assert (isolated.root / "parser.txt").read_text() == "mine\nfixed\n"
    assert isolated.git("ls-files", "-v", "parser.txt")[0] in "Sh"


def test_ignored_directories_are_linked(isolated: Project) -> None:
    isolated.write(".gitignore", "node_modules/\ncache/\n.env\n")
    isolated.write("node_modules/tool", "tool\n")
    isolated.write("cache/data", "data\n")
    isolated.write(".env", "KEY=1\n")
    isolated.pytester.makeini("[pytest]\nralph_isolate_copy = cache\n")
    body = "test -e node_modules/tool && echo more > cache/data && grep -q KEY .env && "
    body += "echo KEY=2 > .env && " + append("fixed")
    result = isolated.run(ISOLATED, executor=isolated.shell(body))

    assert result.ret == 0
    assert (isolated.root / "cache/data").read_text() == "data\n"
    # A small file is copied, too, so that it cannot be written through a link.
    assert (isolated.root / ".env").read_text() == "KEY=1\n"
    assert not (isolated.root / "node_modules").is_symlink()


def test_ignored_files_of_the_task_are_merged(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 Build
          - **Files**: `dist/app.js`, `.env`, `gen/`, `conf/*.local`, `../out.txt`, `linked/new.txt`
          - **Verify**: `test -s dist/app.js && grep -q KEY=2 .env && cat gen/new/a.py conf/a.local`
    """)
    project.write(".gitignore", "dist/\ngen/\n*.local\n.env\nlinked\n.ralph/\n")
    project.write(".env", "KEY=1\n")
    project.write("gen/old.py", "old\n")
    project.write("conf/a.txt", "tracked\n")
    project.repository()
    body = "mkdir dist; echo built | tee dist/app.js dist/other.js; echo KEY=2 >> .env\n"
    body += "rm gen/old.py; mkdir gen/new; echo new | tee gen/new/a.py conf/a.local\n"
    body += "echo x > ../out.txt; ln -s .. linked; echo x > linked/new.txt"
    result = project.run(ISOLATED, "--ralph-commit=auto", executor=project.shell(body))

    assert result.ret == 0
    assert (project.root / "dist/app.js").read_text() == "built\n"
    assert (project.root / ".env").read_text() == "KEY=1\nKEY=2\n"
    assert (project.root / "gen/new/a.py").read_text() == "new\n"
    assert (project.root / "conf/a.local").read_text() == "new\n"
    assert not (project.root / "gen/old.py").exists()
    assert not (project.root / "dist/other.js").exists()
    assert not (project.root / "linked").exists()
    assert not (project.root.parent / "out.txt").exists()
    # What git ignores is never committed.
    committed = project.git("ls-tree", "-r", "--name-only", "HEAD").splitlines()
    assert not {".env", "dist/app.js"}.intersection(committed)

    project.pytester.runpytest("--ralph-undo")
    assert (project.root / ".env").read_text() == "KEY=1\n"
    assert (project.root / "gen/old.py").read_text() == "old\n"
    assert not (project.root / "dist/app.js").exists()


def test_conflict_in_an_ignored_file(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 Set the key
          - **Files**: `.env`
          - **Verify**: `grep -q KEY=2 .env`
    """)
    project.write(".gitignore", ".env\n.ralph/\n")
    project.write(".env", "KEY=1\n")
    project.repository()
    # The user edits the same line while the first run is at work.
    body = f"test $call = 2 || echo KEY=user > {project.root}/.env; sed -i 's/=.*/=2/' .env"
    result = project.run(ISOLATED, executor=project.shell(body))

    assert result.ret == 0
    assert (project.root / ".env").read_text() == "KEY=2\n"


def test_what_is_not_merged_is_named(project: Project) -> None:
    project.spec("""\
        - [ ] 1.1 An ignored file that no field names
          - **Verify**: `test -s dist/other.js`

        - [ ] 1.2 An empty directory
          - **Depends on**: none
          - **Verify**: `test -d logs`
    """)
    project.write(".gitignore", "dist/\n")
    project.repository()
    body = "case $task in 1.1*) mkdir dist; echo built > dist/other.js;; *) mkdir logs;; esac"
    result = project.run(ISOLATED, "--ralph-max-fixes=1", executor=project.shell(body))

    assert result.ret == 1
    only = "passed in its worktree, but not in the project"
    output = result.stdout.str()
    assert "ignored by git, so not merged: dist" in output
    assert f"1.1.1 {only}" in output
    assert f"1.2.1 {only}" in output


def test_editable_install_is_imported_from_the_worktree(isolated: Project) -> None:
    venv.create(isolated.root / ".venv", symlinks=True)
    (packages,) = isolated.root.glob(".venv/lib/python*/site-packages")
    (packages / "__editable__.shop-0.1.pth").write_text(f"{isolated.root}/src\n")
    isolated.write(".gitignore", ".venv/\n__pycache__/\n")
    isolated.write("src/shop.py", "TOTAL = 1\n")
    verify = ".venv/bin/python -c 'import shop; assert shop.TOTAL == 2, shop.__file__'"
    isolated.spec(f"- [ ] 1.1 Total\n  - **Verify**: `{verify}`\n")
    # Of another length: Python takes a file of the same second and size for unchanged.
    body = 'test "$UV_NO_SYNC" && echo TOTAL = 1 + 1 > src/shop.py'
    result = isolated.run(ISOLATED, executor=isolated.shell(body))

    assert result.ret == 0
    assert (isolated.root / "src/shop.py").read_text() == "TOTAL = 1 + 1\n"


def test_project_may_be_below_the_repository(isolated: Project) -> None:
    below = isolated.pytester.mkdir("below")
    for name in ("specs", "parser.txt"):
        (isolated.root / name).rename(below / name)
    result = isolated.pytester.runpytest(
        "--ralph-recovery",
        f"--rootdir={below}",
        ISOLATED,
        f"--ralph-executor={append('fixed')}; echo more > ../above.txt",
        "below/specs/demo",
    )

    assert result.ret == 0
    result.stdout.fnmatch_lines(["* changed files outside the project: not merged: above.txt"])
    assert (below / "parser.txt").read_text().endswith("fixed\n")


def test_isolation_needs_git(one_task: Project) -> None:
    result = one_task.run(ISOLATED, executor="true")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--ralph-isolate=worktree needs a git repository: *"])


def test_submodules_are_refused(isolated: Project) -> None:
    commit = isolated.git("rev-parse", "HEAD")
    isolated.git("update-index", "--add", "--cacheinfo", f"160000,{commit},lib")
    result = isolated.run(ISOLATED, executor="true")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--ralph-isolate=worktree: submodules*: lib"])


def test_names_that_differ_in_case_are_refused(isolated: Project) -> None:
    for name in ("README", "readme"):
        isolated.write(name, "text\n")
        isolated.git("add", name)
    # As on a file system that ignores case.
    isolated.git("config", "core.ignorecase", "true")
    result = isolated.run(ISOLATED, executor="true")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*names that differ only in case*: README, readme"])


def test_sparse_checkouts_and_filters_are_kept(isolated: Project) -> None:
    # A filter like that of LFS: git stores something else than the file.
    isolated.git("config", "filter.lfs.clean", "sed s/content/pointer/")
    isolated.git("config", "filter.lfs.smudge", "sed s/pointer/content/")
    isolated.write(".gitattributes", "*.bin filter=lfs\n")
    isolated.write("data/large.bin", "content\n")
    isolated.write("other/file.txt", "text\n")
    isolated.git("add", "-A")
    isolated.git("commit", "-q", "-m", "files")
    isolated.git("sparse-checkout", "set", "specs", "data")
    body = "test ! -e other && grep content data/large.bin && echo more content >> data/large.bin"
    result = isolated.run(ISOLATED, executor=isolated.shell(f"{body} && {append('fixed')}"))

    assert result.ret == 0
    assert (isolated.root / "data/large.bin").read_text() == "content\nmore content\n"
    assert not (isolated.root / "other").exists()
    assert isolated.git("ls-files", "-t", "other").strip() == "S other/file.txt"


def test_isolation_works_before_the_first_commit(isolated: Project) -> None:
    isolated.git("update-ref", "-d", "HEAD")
    result = isolated.run(ISOLATED, executor=isolated.shell(append("fixed")))

    assert result.ret == 0
    assert no_worktrees(isolated)


# After a kill


def test_next_run_removes_what_was_left(isolated: Project) -> None:
    isolated.write(
        "conftest.py", "import os, pathlib; pathlib.Path('pid').write_text(str(os.getpid()))\n"
    )
    where = isolated.root / ".git/where"
    body = f"pwd > {where}; echo work >> parser.txt; kill -9 $(cat {isolated.root}/pid)"
    isolated.pytester.runpytest_subprocess(
        "--ralph-recovery", ISOLATED, f"--ralph-executor={body}", "specs/demo"
    )
    left = Path(where.read_text().strip())
    assert left.exists()
    result = isolated.run(ISOLATED, executor=append("fixed"))

    assert result.ret == 0
    [patch] = (isolated.root / ".ralph/patches").iterdir()
    line = (
        f"*removed the worktrees of a run that was killed: 1 (kept as .ralph/patches/{patch.name})"
    )
    result.stdout.fnmatch_lines([line])
    isolated.git("checkout", "parser.txt")
    isolated.git("apply", str(patch))
    assert (isolated.root / "parser.txt").read_text().endswith("five\nwork\n")
    assert not left.exists()
    assert no_worktrees(isolated)
    assert list((isolated.root / ".git/ralph/worktrees").iterdir()) == []


def test_work_that_cannot_be_kept_stays_where_it_is(isolated: Project) -> None:
    isolated.write(
        "conftest.py", "import os, pathlib; pathlib.Path('pid').write_text(str(os.getpid()))\n"
    )
    body = f"echo work >> parser.txt; kill -9 $(cat {isolated.root}/pid)"
    isolated.pytester.runpytest_subprocess(
        "--ralph-recovery", ISOLATED, f"--ralph-executor={body}", "specs/demo"
    )
    # In place of a full disk.
    (isolated.root / ".ralph/patches").write_text("in the way of the patches")
    result = isolated.run(ISOLATED, executor=append("fixed"))

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*worktrees of a run that was killed could not be removed: *"])
    [left] = worktrees_of(isolated.root)
    assert "work" in (left / "parser.txt").read_text()
    shutil.rmtree(left.parent)


def test_half_a_worktree_is_no_work_to_keep(isolated: Project) -> None:
    isolated.write(
        "conftest.py", "import os, pathlib; pathlib.Path('pid').write_text(str(os.getpid()))\n"
    )
    isolated.write(".gitignore", "pid\n__pycache__/\n")
    isolated.write(".gitattributes", "parser.txt filter=once\n")
    # git does not keep all permissions: a copy of it differs.
    isolated.write("a.txt", "private\n")
    (isolated.root / "a.txt").chmod(0o600)
    killed = isolated.root / ".git/killed"
    kill = f"test -e {killed} || {{ touch {killed}; kill -9 $(cat {isolated.root}/pid) $PPID; }}"
    isolated.git("config", "filter.once.smudge", f"{kill}; cat")
    isolated.pytester.runpytest_subprocess(
        "--ralph-recovery", ISOLATED, "--ralph-executor=true", "specs/demo"
    )
    assert killed.exists()
    result = isolated.run(ISOLATED, executor=append("fixed"))

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*removed the worktrees of a run that was killed: 1"])
    assert not (isolated.root / ".ralph/patches").exists()


def kill_in_merge(isolated: Project, body: str) -> None:
    """Kill a run, whose executor does `body`, between a merge and its Verify."""
    isolated.write(
        "conftest.py",
        """\
        import os, pathlib
        from pytest_ralph import files

        def kill(name):
            if name == "before verifying a merge":
                os.kill(os.getpid(), 9)

        if not pathlib.Path(".ralph").exists():
            files.on_fault_point = kill
        """,
    )
    isolated.pytester.runpytest_subprocess(
        "--ralph-recovery", ISOLATED, f"--ralph-executor={body}", "specs/demo"
    )
    assert (isolated.root / "parser.txt").read_text() == "fixed\n"


def test_merge_that_is_taken_back_is_kept(isolated: Project) -> None:
    body = "echo fixed > parser.txt; printf '\\0\\1' > binary; rm notes.txt; chmod +x run.sh"
    isolated.write("notes.txt", "notes\n")
    isolated.write("run.sh", "true\n")
    kill_in_merge(isolated, body)
    result = isolated.run(executor="true")

    assert result.ret == 1
    [patch] = (isolated.root / ".ralph/patches").iterdir()
    files = "binary, notes.txt, parser.txt, run.sh"
    kept = f"kept as .ralph/patches/{patch.name}"
    result.stdout.fnmatch_lines([f"*undid the merge of a run that was killed: {files} ({kept})"])
    assert (isolated.root / "parser.txt").read_text().startswith("one\n")
    isolated.git("apply", str(patch))
    assert (isolated.root / "parser.txt").read_text() == "fixed\n"
    assert (isolated.root / "binary").read_bytes() == b"\0\1"
    assert not (isolated.root / "notes.txt").exists()
    assert os.access(isolated.root / "run.sh", os.X_OK)


# Several candidates


def test_first_candidate_that_passes_wins(isolated: Project) -> None:
    body = f"""
        if mkdir {isolated.root}/.git/first; then sleep 300; fi
        echo '{{"type": "result", "total_cost_usd": 0.5}}'
        {append("fixed")}
    """
    result = isolated.run("--ralph-candidates=2", executor=isolated.shell(body))

    assert result.ret == 0
    assert (isolated.root / "parser.txt").read_text() == "one\ntwo\nthree\nfour\nfive\nfixed\n"
    assert result.duration < 250
    assert no_worktrees(isolated)

    isolated.pytester.runpytest("--ralph-undo")
    assert (isolated.root / "parser.txt").read_text() == "one\ntwo\nthree\nfour\nfive\n"


@pytest.mark.parametrize("other", [append("fixed"), "true"])
def test_candidate_that_changes_tests_wins_only_alone(isolated: Project, other: str) -> None:
    isolated.write("test_it.py", "assert True\n")
    isolated.git("add", "-A")
    isolated.git("commit", "-qm", "test")
    body = f"""
        if mkdir {isolated.root}/.git/first; then echo > test_it.py; {append("fixed")}
        else sleep 1; {other}
        fi
    """
    result = isolated.run("--ralph-candidates=2", executor=isolated.shell(body))

    assert result.ret == 0
    is_alone = other == "true"
    assert ((isolated.root / "test_it.py").read_text() == "\n") is is_alone
    assert ("changed tests: test_it.py" in result.stdout.str()) is is_alone


def test_candidates_use_up_the_budget(isolated: Project) -> None:
    log = isolated.root / ".git/log.txt"
    body = f"echo x >> {log}; false"
    isolated.run(
        "--ralph-candidates=3",
        "--ralph-budget=2",
        executor=isolated.shell(body),
    )

    assert log.read_text().split() == ["x", "x"]


def test_candidate_in_trouble_is_not_used_again(
    isolated: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = isolated.write(
        "limited.sh", "echo x >> $LOG; echo 'API Error: 429 rate_limit_error'; exit 1"
    )
    monkeypatch.setenv("LOG", str(isolated.root / ".git/log.txt"))
    wrong = f"{append('wrong')}; sleep 0.5"
    result = isolated.run(
        "-q",
        "--ralph-candidates=2",
        f"--ralph-executor=sh {limited}",
        executor=isolated.shell(wrong),
    )

    line = "*executor sh *limited.sh is unavailable (sh executor.sh takes over): rate limit: *"
    result.stdout.fnmatch_lines([line])
    assert (isolated.root / ".git/log.txt").read_text().split() == ["x"]
    assert not [title for title in isolated.boxes if "limit" in title]


def test_a_candidate_wins_though_another_is_lost(
    isolated: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = Worktree.changes

    def fail_once(worktree: Worktree) -> tuple[Change, ...]:
        if (worktree.root / "lost.txt").exists():
            raise GitError("not a repository")
        return changes(worktree)

    monkeypatch.setattr(Worktree, "changes", fail_once)
    body = f"""
        if mkdir {isolated.root}/.git/first; then echo > lost.txt; else sleep 1; fi
        {append("fixed")}
    """
    result = isolated.run("--ralph-candidates=2", executor=isolated.shell(body))

    assert result.ret == 0
    assert (isolated.root / "parser.txt").read_text().endswith("fixed\n")
    assert no_worktrees(isolated)


def test_candidates_in_trouble_take_no_run_of_the_budget(
    isolated: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fixer, "SHORTEST_PAUSE", 0.2)
    log = isolated.root / ".git/log.txt"
    body = f"echo x >> {log}; echo 'API Error: 429 rate_limit_error'; exit 1"
    isolated.run(
        "--ralph-candidates=3",
        "--ralph-budget=3",
        "--ralph-wait=0.2",
        executor=isolated.shell(body),
    )

    assert len(log.read_text().split()) == 6


def test_a_merge_that_cannot_be_recorded_is_undone(
    isolated: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RecoveryError("the disk is full")

    monkeypatch.setattr(Guard, "accept", fail)
    result = isolated.run(ISOLATED, executor=isolated.shell(append("fixed")))

    assert result.ret == 1
    assert (isolated.root / "parser.txt").read_text() == "one\ntwo\nthree\nfour\nfive\n"


def test_the_cost_counts_though_the_worktree_is_lost(
    isolated: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Worktree) -> None:
        raise GitError("not a repository")

    monkeypatch.setattr(Worktree, "changes", fail)
    log = isolated.root / ".git/log.txt"
    body = f"""
        echo x >> {log}
        echo '{{"type": "result", "total_cost_usd": 0.5}}'
    """
    isolated.spec(TWO_FAILING)
    result = isolated.run(
        ISOLATED,
        "--ralph-keep-going",
        "--ralph-max-cost=0.3",
        executor=isolated.shell(body),
    )

    assert log.read_text().split() == ["x"]
    result.stdout.fnmatch_lines(["*ERROR: Max cost ($0.30) reached"])


TWO_FAILING = """\
    # Tasks

    - [ ] 1.1 One
      - **Verify**: `false`

    - [ ] 1.2 Two
      - **Verify**: `! true`
"""


def test_session_is_not_continued_by_another_executor(
    isolated: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = isolated.root / ".git/arguments"
    cut_off = (
        f'#!/bin/sh\necho "NAME $*" >> {log}\n'
        """echo '{"type": "result", "session_id": "abc", "is_error": true,"""
        """ "subtype": "error_max_turns"}'; exit 1\n"""
    )
    for name in ("claude", "cursor-agent"):
        program = isolated.write(f"bin/{name}", cut_off.replace("NAME", name))
        program.chmod(0o755)
    path = f"{isolated.root}/bin{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    decide = "def pytest_ralph_decide(failure, task, history):\n    return 'continue'\n"
    isolated.write("conftest.py", decide)
    isolated.run(
        "--ralph-candidates=2",
        "--ralph-budget=4",
        "--ralph-executor=cursor-agent",
        executor="claude",
    )

    calls = log.read_text().splitlines()
    assert [call for call in calls if call.startswith("claude") and "--resume abc" in call]
    assert not [call for call in calls if call.startswith("cursor") and "--resume" in call]


@pytest.mark.parametrize("option", ["--collect-only", "--ralph-explain"])
def test_what_runs_nothing_takes_back_nothing(isolated: Project, option: str) -> None:
    kill_in_merge(isolated, "echo fixed > parser.txt")
    result = isolated.run(option, executor="true")

    assert result.ret == 0
    assert "undid the merge" not in result.stdout.str()
    assert (isolated.root / "parser.txt").read_text() == "fixed\n"
    assert "undid the merge" in isolated.run(executor="true").stdout.str()
