"""Rollback, snapshots, fingerprints and commits in real repositories."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_ralph import files as disk
from pytest_ralph.fixing.errors import GitError
from pytest_ralph.fixing.git import command as gitcommand
from pytest_ralph.fixing.git.checkpoint import Git
from pytest_ralph.fixing.git.command import GitCommand, GitResult
from pytest_ralph.fixing.git.index import IndexFile, refresh_index, write_index_file
from pytest_ralph.fixing.git.path_set import PathSet
from pytest_ralph.fixing.git.scratch import scratch_directory
from pytest_ralph.fixing.snapshot import Snapshots
from tests.limits import limited_file_size


class Repository:
    """A real repository in a temporary directory, away from the user's own git configuration."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(root.parent),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        root.mkdir(parents=True, exist_ok=True)

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env=self.environ,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def commit(self, files: dict[str, str], message: str = "work") -> str:
        self.write(files)
        self.run("add", "-A")
        self.run("commit", "-q", "-m", message)
        return self.run("rev-parse", "HEAD")

    def state(self) -> dict[str, str]:
        """Every file and link below the root that is not git's own, with content."""
        found = {}
        for top, _, names in os.walk(self.root):
            for name in names:
                path = Path(top, name)
                if ".git" not in path.relative_to(self.root).parts:
                    text = f"-> {path.readlink()}" if path.is_symlink() else path.read_text()
                    found[path.relative_to(self.root).as_posix()] = (
                        f"{path.lstat().st_mode:o} {text}"
                    )
        return found


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "project")
    made.run("init", "-q", "-b", "main")
    made.run("config", "user.name", "A User")
    made.run("config", "user.email", "user@example.org")
    return made


@pytest.fixture
def git(repository: Repository) -> Git:
    return Git(repository.root, repository.environ)


def broken_project(repository: Repository) -> str:
    """One good commit, then every kind of change there is. Returns the good commit."""
    good = repository.commit(
        {
            ".gitignore": "*.secret\nbuild/\n.ralph/\n",
            "app.py": "good\n",
            "gone.py": "was here\n",
            "lib/deep/a.py": "good\n",
            "run.sh": "#!/bin/sh\n",
            "specs/foo/tasks.md": "- [ ] 1.1 A\n",
            "wird näme \t.txt": "good\n",
        }
    )
    repository.write(
        {
            "app.py": "broken\n",
            "lib/deep/a.py": "staged\n",
            "new/dir/file.py": "untracked\n",
            "key.secret": "ignored\n",
            "build/out.o": "ignored\n",
            ".ralph/history.db": "ours\n",
            "specs/foo/tasks.md": "- [x] 1.1 A\n",
            "specs/foo/.progress.md": "progress\n",
            "specs/foo/.ralph-state.json": "{}\n",
            "specs/foo/design.md": "design\n",
            "wird näme \t.txt": "broken\n",
        }
    )
    (repository.root / "gone.py").unlink()
    (repository.root / "run.sh").chmod(0o755)
    (repository.root / "link").symlink_to("app.py")
    repository.run("add", "lib/deep/a.py")
    repository.write({"lib/deep/a.py": "and changed again\n"})
    return good


def test_rollback_leaves_spec_files_and_ignored_files(repository: Repository, git: Git) -> None:
    good = broken_project(repository)
    result = git.rollback(
        good, [repository.root / "specs/foo/tasks.md"], git.refs.next("foo", "1.3")
    )
    texts = {name: text.partition(" ")[2] for name, text in repository.state().items()}
    assert texts == {
        ".gitignore": "*.secret\nbuild/\n.ralph/\n",
        "app.py": "good\n",
        "gone.py": "was here\n",
        "lib/deep/a.py": "good\n",
        "run.sh": "#!/bin/sh\n",
        "wird näme \t.txt": "good\n",
        "key.secret": "ignored\n",
        "build/out.o": "ignored\n",
        ".ralph/history.db": "ours\n",
        "specs/foo/tasks.md": "- [x] 1.1 A\n",
        "specs/foo/.progress.md": "progress\n",
        "specs/foo/.ralph-state.json": "{}\n",
        "specs/foo/design.md": "design\n",
    }
    assert not os.access(repository.root / "run.sh", os.X_OK)
    assert not (repository.root / "new").exists()
    assert set(result.removed) == {"link", "new/dir/file.py"}
    assert set(result.written) == {
        "app.py",
        "gone.py",
        "lib/deep/a.py",
        "run.sh",
        "wird näme \t.txt",
    }
    assert result.left == ()


def test_rollback_moves_no_head_branch_or_stash(repository: Repository, git: Git) -> None:
    good = broken_project(repository)
    before = [
        repository.run(*command.split())
        for command in ("rev-parse HEAD", "branch -a", "stash list", "reflog")
    ]
    git.rollback(good, [], git.refs.next("foo", "1.3"))
    after = [
        repository.run(*command.split())
        for command in ("rev-parse HEAD", "branch -a", "stash list", "reflog")
    ]
    assert after == before
    assert repository.run("status", "--porcelain", "--", "app.py", "lib", "gone.py") == ""


def test_everything_is_kept_before_any_file_changes(repository: Repository, git: Git) -> None:
    good = broken_project(repository)
    ref = git.refs.next("foo", "1.3")
    before = repository.state()

    def tell(line: str) -> None:
        assert ref in line
        assert repository.state() == before
        assert repository.run("show", f"{ref}:new/dir/file.py") == "untracked"
        assert repository.run("show", f"{ref}^2:lib/deep/a.py") == "staged"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        git.rollback(good, [], ref, tell)
    assert repository.state() == before


def test_each_rollback_of_a_task_gets_the_next_number(repository: Repository, git: Git) -> None:
    good = repository.commit({"a": "1\n"})
    for number in (1, 2, 3):
        repository.write({"a": f"broken {number}\n"})
        assert (
            git.rollback(good, [], git.refs.next("foo", "1.3")).ref
            == f"refs/ralph/foo/1.3/{number}"
        )
    assert repository.run("show", "refs/ralph/foo/1.3/2:a") == "broken 2"


def test_an_existing_ref_is_never_overwritten(repository: Repository, git: Git) -> None:
    good = repository.commit({"a": "1\n"})
    git.rollback(good, [], "refs/ralph/foo/1.3/1")
    first = repository.run("rev-parse", "refs/ralph/foo/1.3/1")
    repository.write({"a": "2\n"})
    with pytest.raises(GitError):
        git.rollback(good, [], "refs/ralph/foo/1.3/1")
    assert repository.run("rev-parse", "refs/ralph/foo/1.3/1") == first
    assert (repository.root / "a").read_text() == "2\n"


def test_later_commits_stay_in_history(repository: Repository, git: Git) -> None:
    good = repository.commit({"a": "good\n"})
    later = repository.commit({"a": "broken\n", "b": "new\n"})
    result = git.rollback(good, [], git.refs.next("foo", "1.3"))
    assert repository.run("rev-parse", "HEAD") == later
    assert (repository.root / "a").read_text() == "good\n"
    assert not (repository.root / "b").exists()
    assert repository.run("status", "--porcelain").split("\n") == ["M  a", "D  b"]
    assert repository.run("rev-parse", f"{result.ref}^1") == later


def test_only_the_project_in_a_repository_goes_back(repository: Repository, tmp_path: Path) -> None:
    good = repository.commit({"web/a": "good\n", "api/b": "good\n"})
    repository.write({"web/a": "broken\n", "web/new": "x\n", "api/b": "work\n", "api/new": "x\n"})
    repository.run("add", "api/b")
    git = Git(repository.root / "web", repository.environ)
    result = git.rollback(good, [], git.refs.next("foo", "1"))
    assert (result.written, result.removed) == (("a",), ("new",))
    assert repository.run("status", "--porcelain") == "M  api/b\n?? api/new"


def test_a_project_whose_name_looks_like_a_pattern_goes_back(
    repository: Repository, tmp_path: Path
) -> None:
    repository.commit({":app/a": "1\n", "app/a": "1\n"})
    git = Git(tmp_path / "project/:app", repository.environ)
    repository.write({":app/a": "2\n", "app/a": "2\n"})

    result = git.rollback("HEAD", [], "refs/ralph/foo/1.1/1")
    assert result.written == ("a",)
    assert repository.run("diff", "--name-only") == "app/a"


def test_an_ignored_file_in_the_way_is_left(repository: Repository, git: Git) -> None:
    good = repository.commit({"conf": "default\n", "d/x": "tracked\n", "a": "good\n"})
    repository.run("rm", "-q", "--cached", "conf", "d/x")
    repository.commit({".gitignore": "conf\nd\n", "a": "broken\n"})
    repository.write({"conf": "mine\n"})
    (repository.root / "d/x").unlink()
    (repository.root / "d").rmdir()
    (repository.root / "d").symlink_to("/tmp")
    result = git.rollback(good, [], git.refs.next("foo", "1"))
    assert (repository.root / "conf").read_text() == "mine\n"
    assert (repository.root / "d").is_symlink()
    assert (repository.root / "a").read_text() == "good\n"
    # Without .gitignore the file and the link would get into the next commit.
    assert set(result.left) == {".gitignore", "conf", "d/x"}


def test_files_a_lost_gitignore_protected_are_left(repository: Repository, git: Git) -> None:
    good = repository.commit({".gitignore": "*.secret\n", "a": "good\n"})
    repository.write({"k.secret": "mine\n"})
    (repository.root / ".gitignore").unlink()
    result = git.rollback(good, [], git.refs.next("foo", "1"))
    assert (repository.root / "k.secret").read_text() == "mine\n"
    assert result.left == ("k.secret",)
    assert repository.run("status", "--porcelain") == ""


def test_files_and_directories_that_swapped_go_back(repository: Repository, git: Git) -> None:
    good = repository.commit({"a": "file\n", "b/c": "inner\n"})
    (repository.root / "a").unlink()
    (repository.root / "b/c").unlink()
    (repository.root / "b").rmdir()
    repository.write({"a/x": "1\n", "b": "2\n"})
    git.rollback(good, [], git.refs.next("foo", "1"))
    assert repository.run("status", "--porcelain") == ""


def unborn(repository: Repository) -> str:
    return "HEAD"


def detached(repository: Repository) -> str:
    good = repository.commit({"a": "1\n"})
    repository.run("checkout", "-q", "--detach")
    return good


def merging(repository: Repository) -> str:
    good = repository.commit({"a": "1\n"})
    repository.run("checkout", "-q", "-b", "other")
    repository.commit({"b": "1\n"})
    repository.run("checkout", "-q", "main")
    repository.run("merge", "-q", "--no-commit", "--no-ff", "other")
    return good


def rebasing(repository: Repository) -> str:
    good = repository.commit({"a": "1\n"})
    repository.commit({"a": "2\n"})
    with pytest.raises(subprocess.CalledProcessError):
        repository.run("rebase", "-q", "--exec", "false", good)
    return good


def cherry_picking(repository: Repository) -> str:
    good = repository.commit({"a": "1\n"})
    repository.run("checkout", "-q", "-b", "other")
    repository.commit({"a": "2\n"})
    repository.run("checkout", "-q", "main")
    repository.commit({"a": "3\n"})
    with pytest.raises(subprocess.CalledProcessError):
        repository.run("cherry-pick", "other")
    return good


def conflicted(repository: Repository) -> str:
    good = repository.commit({"a": "1\n"})
    repository.write({"a": "2\n"})
    repository.run("stash", "-q")
    repository.commit({"a": "3\n"})
    with pytest.raises(subprocess.CalledProcessError):
        repository.run("stash", "pop", "-q")
    return good


def with_submodule(repository: Repository) -> str:
    other = Repository(repository.root.parent / "other")
    other.run("init", "-q")
    other.run("config", "user.name", "A User")
    other.run("config", "user.email", "user@example.org")
    other.commit({"x": "1\n"})
    repository.run(
        "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.root), "sub"
    )
    return repository.commit({"a": "1\n"})


def with_a_repository_inside(repository: Repository) -> str:
    good = repository.commit({"a": "1\n"})
    inner = Repository(repository.root / "inner")
    inner.run("init", "-q")
    inner.write({"x": "1\n"})
    return good


def with_a_locked_index(repository: Repository) -> str:
    good = repository.commit({"a": "1\n"})
    (repository.root / ".git/index.lock").touch()
    return good


def with_nothing_recorded(repository: Repository) -> str:
    repository.commit({"a": "1\n"})
    return ""


def on_another_branch(repository: Repository) -> str:
    repository.commit({"a": "1\n"})
    repository.run("checkout", "-q", "-b", "other")
    elsewhere = repository.commit({"a": "2\n"})
    repository.run("checkout", "-q", "main")
    return elsewhere


@pytest.mark.parametrize(
    ("arrange", "message"),
    [
        (unborn, "no commit yet"),
        (detached, "detached"),
        (merging, "a merge is in progress"),
        (rebasing, "a rebase is in progress"),
        (cherry_picking, "a cherry-pick is in progress"),
        (conflicted, "unresolved conflicts"),
        (with_submodule, "submodules cannot be rolled back: sub"),
        (with_a_repository_inside, "nested repository"),
        (with_a_locked_index, "index.lock"),
        (with_nothing_recorded, "nothing to go back to"),
        (on_another_branch, "not part of the current branch"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_an_impossible_rollback_changes_nothing(
    repository: Repository, git: Git, arrange: object, message: str
) -> None:
    assert callable(arrange)
    to = arrange(repository)
    repository.write({"a": "work\n"})
    before, refs = repository.state(), repository.run("for-each-ref")
    with pytest.raises(GitError, match=message) as caught:
        git.rollback(to, [], "refs/ralph/foo/1.3/1")
    assert "\n" not in str(caught.value)
    assert repository.state() == before
    assert repository.run("for-each-ref") == refs


def test_as_many_files_as_possible_are_taken_back(
    repository: Repository, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = repository.commit({"large": "good\n", "small": "good\n"})
    repository.write({"large": "work\n" * 1_000, "small": "work\n"})

    with contextlib.ExitStack() as limits:

        def fill_disk(name: str) -> None:
            if name == "before index moves":
                limits.enter_context(limited_file_size(1_000))
                raise GitError("the disk is full")

        monkeypatch.setattr(disk, "on_fault_point", fill_disk)
        with pytest.raises(GitError, match="the disk is full"):
            git.rollback(good, [], "refs/ralph/foo/1.3/1")

    assert (repository.root / "small").read_text() == "work\n"


def test_an_unusable_repository_is_explained(tmp_path: Path) -> None:
    plain = Repository(tmp_path / "plain")
    assert Git(plain.root, plain.environ).unavailable() == "plain is not in a git repository"
    bare = Repository(tmp_path / "bare")
    bare.run("init", "-q", "--bare")
    assert "bare repository" in str(Git(bare.root, bare.environ).unavailable())
    outer = Repository(tmp_path / "outer")
    outer.run("init", "-q")
    outer.write({".gitignore": "inner\n", "inner/a": "1\n"})
    assert "ignored by the git repository" in str(
        Git(outer.root / "inner", outer.environ).unavailable()
    )
    assert Git(plain.root, {"PATH": ""}).unavailable() == "git is not installed"


@pytest.mark.skipif(os.name == "nt", reason="the current directory cannot be removed there")
def test_git_runs_after_our_directory_was_removed(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started_in = tmp_path / "started-in"
    started_in.mkdir()
    monkeypatch.chdir(started_in)
    started_in.rmdir()
    assert GitCommand(repository.root, repository.environ).run("status").status == 0


def test_variables_of_a_git_hook_are_ignored(repository: Repository, tmp_path: Path) -> None:
    head = repository.commit({"a": "1\n"})
    elsewhere = {
        "GIT_DIR": str(tmp_path / "nowhere"),
        "GIT_INDEX_FILE": "/nonexistent",
        "GIT_WORK_TREE": "/",
    }
    assert Git(repository.root, {**repository.environ, **elsewhere}).head() == head


def test_a_linked_worktree_can_be_rolled_back(repository: Repository, tmp_path: Path) -> None:
    good = repository.commit({"a": "good\n"})
    repository.run("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    (tmp_path / "side/a").write_text("broken\n")
    git = Git(tmp_path / "side", repository.environ)
    git.rollback(good, [], git.refs.next("foo", "1"))
    assert (tmp_path / "side/a").read_text() == "good\n"


def test_the_last_good_commit_is_remembered(repository: Repository, git: Git) -> None:
    assert git.refs.last_good("foo") is None
    assert git.refs.mark_good("foo") is None
    first = repository.commit({"a": "1\n"})
    assert git.refs.mark_good("foo") == first
    repository.commit({"a": "2\n"})
    assert git.refs.last_good("foo") == first
    assert git.refs.last_good("other") is None


@pytest.mark.parametrize(
    "name", ["good", "a b", "..", "x.lock", "1.", "~^:?*[\\", "@{u}", "ünï", "-x", "a//b", ""]
)
def test_any_name_gives_a_valid_ref(repository: Repository, git: Git, name: str) -> None:
    good = repository.commit({"a": "1\n"})
    git.refs.mark_good(name)
    git.refs.mark_good("good")
    first = git.rollback(good, [], git.refs.next(name, name)).ref
    second = git.rollback(good, [], git.refs.next(name, name)).ref
    assert second.removesuffix("/2") == first.removesuffix("/1")


def test_the_fingerprint_follows_contents_only(repository: Repository, git: Git) -> None:
    repository.commit({"a": "1\n", ".gitignore": "*.log\n", "specs/foo/tasks.md": "x\n"})
    clean = git.tree_fingerprint()
    repository.write(
        {
            "x.log": "1",
            "specs/foo/tasks.md": "y\n",
            "specs/foo/.ralph-state.json": "{}",
            ".ralph/h": "1",
        }
    )
    assert git.tree_fingerprint() == clean
    seen = {clean}
    for files in ({"a": "2\n"}, {"new": "1\n"}, {"new": "2\n"}):
        repository.write(files)
        seen.add(git.tree_fingerprint())
    (repository.root / "a").chmod(0o755)
    seen.add(git.tree_fingerprint())
    assert len(seen) == 5
    repository.run("add", "a", "new")
    repository.run("commit", "-q", "-m", "x")
    assert git.tree_fingerprint() in seen


def test_comparing_leaves_no_objects_behind(repository: Repository, git: Git) -> None:
    repository.commit({"a": "1\n"})
    before = repository.run("count-objects")
    repository.write({"a": "2\n", "new": "3\n"})
    assert git.tree_fingerprint() != git.head()
    assert git.uncommitted([repository.root]) == ("a", "new")
    assert repository.run("count-objects") == before


def test_a_commit_holds_the_task_changes_only(repository: Repository, git: Git) -> None:
    repository.commit(
        {"a": "1\n", "gone": "x\n", "mine": "1\n", "staged": "1\n", "specs/foo/tasks.md": "- [ ]\n"}
    )
    repository.write({"mine": "user\n", "staged": "user\n"})
    repository.run("add", "staged")
    repository.write(
        {
            "a": "2\n",
            "new": "y\n",
            "specs/foo/tasks.md": "- [x]\n",
            "specs/foo/.ralph-state.json": "{}\n",
        }
    )
    (repository.root / "gone").unlink()
    names = ("a", "gone", "new", "specs")
    made = git.commit('feat(foo): `$(x)` "a"', [repository.root / name for name in names])
    assert made == repository.run("rev-parse", "HEAD")
    assert repository.run("show", "--name-status", "--format=%s", "HEAD").split("\n") == [
        'feat(foo): `$(x)` "a"',
        "",
        "M\ta",
        "D\tgone",
        "A\tnew",
        "M\tspecs/foo/tasks.md",
    ]
    assert repository.run("status", "--porcelain").split("\n") == [
        "M mine",
        "M  staged",
        "?? specs/foo/.ralph-state.json",
    ]


def test_a_project_may_have_a_colon_in_its_path(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "a:b")
    repository.run("init", "-q")
    repository.run("config", "user.name", "A User")
    repository.run("config", "user.email", "user@example.org")
    repository.commit({"a.txt": "one\n", "b.txt": "one\n"})
    repository.write({"a.txt": "two\n"})

    assert Git(repository.root, repository.environ).uncommitted([repository.root]) == ("a.txt",)


def test_a_commit_takes_few_calls_of_git(repository: Repository, tmp_path: Path) -> None:
    head = repository.commit({"a": "1\n"})
    repository.write({"a": "2\n"})
    trace = tmp_path / "trace"
    git = Git(repository.root, {**os.environ, "GIT_TRACE": str(trace)})

    assert git.commit("x", [repository.root / "a"]) != head
    # Two for a look at what differs and for the commit, and two for the user's index.
    assert trace.read_text().count("built-in: git update-index") == 4


def test_a_commit_reads_no_other_files(repository: Repository, git: Git, tmp_path: Path) -> None:
    """In a repository with many large files, their filter would take minutes."""
    repository.run("config", "filter.slow.clean", f"cat; echo %f >> {tmp_path}/read")
    repository.write({".gitattributes": "*.bin filter=slow\n", "a": "1\n", "large.bin": "1\n"})
    os.utime(repository.root / "large.bin", (1, 1))
    repository.commit({})
    (tmp_path / "read").unlink()

    repository.write({"a": "2\n"})
    assert git.commit("x", [repository.root / "a"])
    assert not (tmp_path / "read").exists()


def test_no_change_makes_no_commit(repository: Repository, git: Git) -> None:
    head = repository.commit({"a": "1\n"})
    assert git.commit("x", [repository.root]) is None
    repository.write({"skip/a": "1\n"})
    assert git.commit("x", [repository.root / "a"]) is None
    assert repository.run("rev-parse", "HEAD") == head


def test_names_that_look_like_patterns_are_committed(repository: Repository, git: Git) -> None:
    repository.write({"[a]*.py": "1\n", ":(top)x": "1\n", "-f": "1\n", "b.py": "1\n"})
    assert git.commit("first", [repository.root / name for name in ("[a]*.py", ":(top)x", "-f")])
    assert repository.run("status", "--porcelain") == "?? b.py"


def test_a_name_that_begins_with_dots_is_in_the_project(tmp_path: Path) -> None:
    paths = PathSet.of(tmp_path, [tmp_path / "..data", tmp_path / "../outside"])

    assert paths.paths == {"..data"}


def test_a_link_to_a_name_that_is_not_utf8_is_committed(
    repository: Repository, git: Git, tmp_path: Path
) -> None:
    link = repository.root / "link"
    link.symlink_to("old")
    repository.commit({"a": "one\n"})
    snapshots = Snapshots(repository.root, tmp_path / "copies", git.listing.files)
    start = snapshots.take()
    link.unlink()
    link.symlink_to(os.fsdecode(b"\xff"))

    changes = snapshots.changes(start, snapshots.take())
    assert git.commit("x", [link], changes=changes)
    assert repository.run("status", "--porcelain") == ""


def test_a_refusing_hook_leaves_the_index_alone(repository: Repository, git: Git) -> None:
    repository.commit({"a": "1\n"})
    hook = repository.root / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'lint: 2 problems' >&2\nexit 1\n")
    hook.chmod(0o755)
    repository.write({"a": "2\n", "new": "1\n", "intended": "1\n"})
    repository.run("add", "--intent-to-add", "intended")
    before = repository.run("status", "--porcelain")
    with pytest.raises(GitError, match="git refused the commit: lint: 2 problems"):
        git.commit("x", [repository.root])
    assert repository.run("status", "--porcelain") == before


def test_a_hanging_hook_leaves_the_index_alone(
    repository: Repository, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit({"a": "one\n"})
    hook = repository.root / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nsleep 60\n")
    hook.chmod(0o755)
    repository.write({"a": "two\n"})
    before = repository.run("status", "--porcelain")
    monkeypatch.setattr(gitcommand, "TIME_LIMIT", 2.0)

    with pytest.raises(GitError, match="did not finish"):
        git.commit("x", [repository.root / "a"])

    assert repository.run("status", "--porcelain") == before


def add_hook(repository: Repository, name: str, script: str) -> None:
    hook = repository.root / ".git/hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{script}\n")
    hook.chmod(0o755)


def test_a_hook_that_hangs_after_the_commit_takes_nothing_back(
    repository: Repository, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = repository.commit({"a": "1\n"})
    add_hook(repository, "post-commit", "sleep 60")
    repository.write({"a": "2\n"})
    monkeypatch.setattr(gitcommand, "TIME_LIMIT", 1.0)

    commit = git.commit("x", [repository.root / "a"])
    assert commit == repository.run("rev-parse", "HEAD") != head
    assert repository.run("status", "--porcelain") == ""


def interrupt_once_there(file: Path) -> None:
    """Send this process an interrupt when a file exists."""

    def interrupt() -> None:
        while not file.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()


def test_a_hook_that_is_interrupted_puts_edits_back(repository: Repository, git: Git) -> None:
    """Such as that of pre-commit, which sets aside what is not committed."""
    repository.commit({"a": "1\n", "b": "1\n"})
    add_hook(
        repository,
        "pre-commit",
        "mv b .git/b; trap 'mv .git/b b; exit 1' INT\ntouch .git/waits\nwhile :; do sleep .1; done",
    )
    repository.write({"a": "task\n", "b": "user\n"})

    interrupt_once_there(repository.root / ".git/waits")
    with pytest.raises(KeyboardInterrupt):
        git.commit("x", [repository.root / "a"])
    assert (repository.root / "b").read_text() == "user\n"
    assert repository.run("diff", "--name-only").split() == ["a", "b"]


def test_an_interrupted_git_leaves_no_lock(repository: Repository) -> None:
    repository.commit({".gitattributes": "a filter=slow\n", "a": "1\n"})
    repository.run("config", "filter.slow.clean", "touch .git/waits; sleep 60")
    os.utime(repository.root / "a", (1, 1))

    interrupt_once_there(repository.root / ".git/waits")
    with pytest.raises(KeyboardInterrupt):
        refresh_index(GitCommand.at(repository.root, repository.environ))
    assert not (repository.root / ".git/index.lock").exists()


@pytest.mark.parametrize("name", ["d/.gitignore", ".gitattributes"])
def test_git_does_not_wait_for_a_pipe(repository: Repository, git: Git, name: str) -> None:
    repository.commit({"d/a": "1\n"})
    repository.write({"d/b": "1\n"})
    os.mkfifo(repository.root / name)

    started = time.monotonic()
    with pytest.raises(GitError, match="a pipe"):
        git.commit("x", [repository.root / "d"])
    assert time.monotonic() - started < 15


def test_a_commit_of_the_user_meanwhile_stays(
    repository: Repository, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit({"a": "1\n", "b": "1\n"})
    repository.write({"a": "task\n", "b": "user\n"})

    def commit(point: str) -> None:
        if point == "before git commit":
            repository.run("commit", "-q", "-m", "user", "--", "b")

    monkeypatch.setattr(disk, "on_fault_point", commit)
    with pytest.raises(GitError, match="at the same time"):
        git.commit("x", [repository.root / "a"])
    assert repository.run("show", "HEAD:b") == "user"
    assert repository.run("diff", "--name-only") == "a"
    assert repository.run("diff", "--cached", "--name-only") == ""


def test_nothing_is_staged_if_the_user_commits_during_a_hook(
    repository: Repository, git: Git
) -> None:
    """The user's commit has what was staged for the one that fails."""
    repository.commit({"a": "1\n"})
    script = "unset GIT_INDEX_FILE; test -e .git/done && exit; touch .git/done; git commit -qm user"
    add_hook(repository, "pre-commit", script)
    repository.write({"a": "task\n"})

    with pytest.raises(GitError, match="git refused the commit"):
        git.commit("x", [repository.root / "a"])
    assert repository.run("status", "--porcelain") == ""


def test_a_directory_has_no_files_outside_a_sparse_checkout(
    repository: Repository, git: Git
) -> None:
    repository.commit({"src/a/here": "1\n", "src/b/away": "1\n"})
    repository.run("sparse-checkout", "set", "src/a")
    repository.write({"src/a/here": "2\n"})

    assert git.commit("x", [repository.root / "src"])
    assert repository.run("show", "--format=", "--name-only") == "src/a/here"


@pytest.mark.parametrize("flag", ["--skip-worktree", "--assume-unchanged"])
def test_a_directory_has_no_edits_that_git_is_to_ignore(
    repository: Repository, git: Git, flag: str
) -> None:
    repository.commit({"etc/a": "1\n", "etc/local": "1\n"})
    repository.run("update-index", flag, "etc/local")
    repository.write({"etc/a": "2\n", "etc/local": "private\n"})

    assert git.commit("x", [repository.root / "etc"])
    assert repository.run("show", "--format=", "--name-only") == "etc/a"


def test_a_staged_version_stays_staged(repository: Repository, git: Git) -> None:
    repository.commit({"a": "1\n"})
    repository.write({"a": "staged\n"})
    repository.run("add", "a")
    staged = repository.run("ls-files", "--stage", "a")
    repository.write({"a": "work\n"})
    assert git.commit("x", [repository.root / "a"])
    assert repository.run("show", "HEAD:a") == "work"
    assert repository.run("ls-files", "--stage", "a") == staged


def test_an_intended_file_is_not_staged(repository: Repository, git: Git) -> None:
    repository.commit({"a": "1\n"})
    repository.write({"new": "1\n", "other": "1\n"})
    repository.run("add", "--intent-to-add", "new", "other")

    assert git.commit("x", [repository.root / "new"])
    assert repository.run("show", "HEAD:new") == "1"
    # The next commit of the user does not remove the file.
    assert repository.run("status", "--porcelain").strip() == "A other"


@pytest.mark.parametrize("flag", ["--skip-worktree", "--assume-unchanged"])
def test_flags_of_committed_files_stay(repository: Repository, git: Git, flag: str) -> None:
    repository.commit({"a": "1\n"})
    repository.run("update-index", flag, "a")
    before = repository.run("ls-files", "-v", "a")
    repository.write({"a": "2\n"})

    assert git.commit("x", [repository.root / "a"])
    assert repository.run("show", "HEAD:a") == "2"
    assert repository.run("ls-files", "-v", "a") == before


def test_a_killed_commit_leaves_the_flags_of_its_files(
    repository: Repository, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the run is killed, between two calls of git."""
    name = "a, b"
    repository.commit({name: "1\n"})
    repository.run("update-index", "--skip-worktree", name)
    repository.run("update-index", "--assume-unchanged", name)
    repository.write({name: "2\n"})
    run = GitCommand.run
    seen = set()

    def observed(self: GitCommand, *arguments: str, **options: Any) -> GitResult:
        result = run(self, *arguments, **options)
        seen.add(repository.run("ls-files", "-v", name))
        return result

    monkeypatch.setattr(GitCommand, "run", observed)
    assert git.commit("x", [repository.root / name])
    assert repository.run("show", f"HEAD:{name}") == "2"
    assert seen == {f"s {name}"}


def test_moved_and_removed_files_are_committed(repository: Repository, git: Git) -> None:
    repository.commit({"a": "1\n", "b": "2\n", "c": "3\n"})
    repository.run("mv", "a", "moved")
    repository.run("rm", "-q", "b")
    assert git.commit("x", [repository.root / name for name in ("a", "b", "moved")])
    assert repository.run("ls-tree", "--name-only", "HEAD").split() == ["c", "moved"]
    assert repository.run("status", "--porcelain") == ""


def test_background_child_of_a_hook_does_not_block(repository: Repository, git: Git) -> None:
    repository.commit({"a": "1\n"})
    hook = repository.root / ".git/hooks/post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nsleep 20 &\necho $! > child\n")
    hook.chmod(0o755)
    repository.write({"a": "2\n"})
    started = time.monotonic()
    assert git.commit("x", [repository.root / "a"])
    assert time.monotonic() - started < 15
    os.kill(int((repository.root / "child").read_text()), signal.SIGKILL)


def test_an_unknown_committer_is_explained(repository: Repository) -> None:
    good = repository.commit({"a": "1\n"})
    repository.run("config", "--unset", "user.name")
    repository.run("config", "--unset", "user.email")
    repository.run("config", "user.useConfigOnly", "true")
    repository.write({"a": "2\n"})
    git = Git(repository.root, repository.environ)
    with pytest.raises(GitError, match=r"user\.name and user\.email"):
        git.commit("x", [repository.root])
    assert git.rollback(good, [], "refs/ralph/foo/1/1").written == ("a",)


def stand_in(directory: Path, script: str) -> dict[str, str]:
    """An environment in which git is this script."""
    directory.mkdir()
    (directory / "git").write_text(f"#!/bin/sh\n{script}\n")
    (directory / "git").chmod(0o755)
    return {"PATH": f"{directory}:{os.environ['PATH']}"}


def test_a_hanging_git_is_ended_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gitcommand, "TIME_LIMIT", 0.3)
    # The child ignores an interrupt.
    monkeypatch.setattr(gitcommand, "GRACE", 0.3)
    environ = stand_in(tmp_path / "bin", f"(sleep 2; touch {tmp_path}/alive) & sleep 60")
    with pytest.raises(GitError, match="git status did not finish within 0 s"):
        GitCommand.at(tmp_path, environ)("status")
    time.sleep(2.2)
    assert not (tmp_path / "alive").exists()


@pytest.mark.parametrize(
    ("stderr", "message"),
    [
        ("warning: cannot read attributes\nfatal: bad object\nhint: look\n", "bad object"),
        ("\nsomething else\n", "something else"),
        ("", "exit status 128"),
    ],
)
def test_the_error_of_git_is_told_and_no_warning(stderr: str, message: str) -> None:
    with pytest.raises(GitError, match=f"^git add: {message}$"):
        GitResult(128, "", stderr).check("add")


def test_a_git_that_cannot_run_is_explained(tmp_path: Path) -> None:
    stand_in(tmp_path / "bin", "")
    (tmp_path / "bin/git").write_bytes(b"\0not a program")
    with pytest.raises(GitError, match="git cannot be run: Exec format error"):
        GitCommand.at(tmp_path, {"PATH": str(tmp_path / "bin")})("status")


def test_a_repository_git_refuses_is_explained(tmp_path: Path) -> None:
    environ = stand_in(tmp_path / "bin", "echo 'fatal: detected dubious ownership' >&2; exit 128")
    git = Git(tmp_path, environ)
    assert git.unavailable() == f"{tmp_path.name}: detected dubious ownership"


def test_scratch_directories_of_killed_runs_are_removed(repository: Repository, git: Git) -> None:
    directory = repository.root / ".git"
    left = directory / "ralph-0a1b2c"
    other = directory / "ralph"
    for path in (left, other):
        (path / "objects").mkdir(parents=True)

    with scratch_directory(directory) as own:
        git.sweep()
        assert sorted(directory.glob("ralph*")) == [other, own]


def test_a_scratch_directory_may_be_swept_before_it_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By another process, which takes it for that of a killed run."""
    acquire = disk.FileLock.acquire

    def late(lock: disk.FileLock) -> None:
        monkeypatch.undo()
        lock.path.parent.rmdir()
        acquire(lock)

    monkeypatch.setattr(disk.FileLock, "acquire", late)
    with scratch_directory(tmp_path) as directory:
        assert [*tmp_path.iterdir()] == [directory]


def test_a_change_that_was_taken_back_does_not_count(
    repository: Repository, git: Git, tmp_path: Path
) -> None:
    repository.commit({"a": "one\n"})
    snapshots = Snapshots(repository.root, tmp_path / "copies", git.listing.files)
    start = snapshots.take()
    repository.write({"a": "two\n", "new": "first\n"})
    # As after a merge: the content of the files is not kept.
    taken_back = [
        replace(change, after=change.after and change.after._replace(copy=""))
        for change in snapshots.changes(start, snapshots.take())
    ]
    repository.write({"a": "one\n"})
    (repository.root / "new").unlink()
    again = snapshots.take()
    repository.write({"a": "three\n", "new": "second\n"})
    made = snapshots.changes(again, snapshots.take())

    paths = [repository.root / "a", repository.root / "new"]
    assert git.commit("x", paths, changes=[*taken_back, *made])
    assert repository.run("show", "HEAD:a") == "three"
    assert repository.run("show", "HEAD:new") == "second"


# Position


def test_position_on_any_head(repository: Repository, git: Git) -> None:
    commit = repository.commit({"a.txt": "one\n"})
    repository.run("branch", "other")
    refs = {"refs/heads/main": commit, "refs/heads/other": commit}
    assert git.position() == ("main", commit, refs)

    repository.run("checkout", "-q", "--detach")
    assert git.position() == ("", commit, refs)

    repository.run("checkout", "-q", "--orphan", "new")
    assert git.position() == ("new", "", refs)


def test_a_branch_may_have_an_unusual_space_in_its_name(repository: Repository, git: Git) -> None:
    name = "a\N{IDEOGRAPHIC SPACE}b\N{LINE SEPARATOR}c"
    commit = repository.commit({"a": "1\n"})
    repository.run("branch", "a")
    repository.run("switch", "-q", "-c", name)

    position = git.position()
    assert position.branch == name
    assert position.refs == dict.fromkeys(
        ("refs/heads/a", f"refs/heads/{name}", "refs/heads/main"), commit
    )


def test_nothing_moves_back_while_git_is_at_work(repository: Repository, git: Git) -> None:
    repository.commit({"a.txt": "one\n"})
    before = git.position()
    index = git.index_file()
    moved = repository.commit({"a.txt": "two\n"})
    (repository.root / ".git/index.lock").touch()

    with pytest.raises(GitError, match="holds the index"):
        git.move_back(before, index, "refs/ralph/demo/1")

    assert git.head() == moved


def test_an_index_that_cannot_be_written_is_not_locked(tmp_path: Path) -> None:
    # In place of a full disk.
    (tmp_path / "index").mkdir()

    with pytest.raises(GitError, match="the index cannot be written"):
        write_index_file(tmp_path, IndexFile(b"content", 0))

    assert not (tmp_path / "index.lock").exists()


def test_siblings_share_a_position(repository: Repository, git: Git) -> None:
    repository.commit({"a.txt": "one\n"})
    asked = time.monotonic()
    first = git.shared_position(asked)
    repository.commit({"a.txt": "two\n"})

    assert git.shared_position(asked) == first
    assert git.shared_position(time.monotonic()) != first


def test_a_position_that_could_not_be_read_is_read_again(repository: Repository, git: Git) -> None:
    repository.commit({"a.txt": "one\n"})
    first = git.shared_position(time.monotonic())
    repository.commit({"a.txt": "two\n"})
    asked = time.monotonic()
    head = repository.root / ".git/HEAD"
    head.rename(head.with_name("elsewhere"))
    with pytest.raises(GitError):
        git.shared_position(asked)
    head.with_name("elsewhere").rename(head)

    assert git.shared_position(asked) != first


def test_more_files_are_committed_than_fit_on_a_command_line(
    repository: Repository, git: Git
) -> None:
    repository.commit({"a": "1\n"})
    directory = repository.root / ("a-long-name-as-in-node-modules/" * 7)
    directory.mkdir(parents=True)
    for number in range(10_000):
        (directory / f"{number:04}.js").touch()

    git.commit("feat: many", [repository.root])

    assert len(repository.run("ls-files").splitlines()) == 10_001
    assert repository.run("status", "--porcelain") == ""


def test_a_set_of_many_paths_is_asked_in_no_time() -> None:
    paths = [f"vendor/package-{number}/index.js" for number in range(20_000)]
    many = PathSet(frozenset(paths))

    began = time.process_time()
    assert all(path in many for path in paths)
    assert "vendor/package-7" not in many

    assert time.process_time() - began < 1
