"""The command that a rollback announces brings everything back: bytes, modes, times and index."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.fixing.errors import GitError
from pytest_ralph.fixing.git import rollback
from pytest_ralph.fixing.git.checkpoint import Git
from pytest_ralph.fixing.git.rollback import Target
from pytest_ralph.fixing.snapshot import MAX_FILE_SIZE, Snapshots

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


IDENTITY = ("-c", "user.name=A User", "-c", "user.email=user@example.org")


class Checkout:
    """A repository with one commit: `a.txt` is good, and other files are as a test needs them."""

    def __init__(self, root: Path, *options: str) -> None:
        self.root = root
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(root.parent),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        root.mkdir()
        self.run(f"git init -q -b main {' '.join(options)}")
        self.write("a.txt", b"good\n")
        self.write("run.sh", b"true\n")
        self.write("hidden.txt", b"committed\n")
        self.commit()
        self.git = Git(root, self.environ)
        self.lines: list[str] = []

    def run(self, command: str) -> str:
        done = subprocess.run(
            command, shell=True, cwd=self.root, env=self.environ, capture_output=True, check=True
        )
        return os.fsdecode(done.stdout)

    def write(self, name: str, content: bytes, mode: int = 0o644) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(mode)
        # A time that no file gets by itself.
        os.utime(path, ns=(1_600_000_000_123_456_789, 1_600_000_000_123_456_789))

    def commit(self) -> None:
        identity = " ".join(f"'{word}'" for word in IDENTITY)
        self.run(f"git add -A && git {identity} commit -q -m work")

    def state(self) -> dict[str, object]:
        """Content, mode and time of each file, and the index with its flags."""
        found: dict[str, object] = {
            "index": self.run("git ls-files -v --stage -z"),
            "staged": self.run("git diff --cached --name-status -z"),
        }
        for path in sorted(self.root.rglob("*")):
            name = path.relative_to(self.root).as_posix()
            if name.split("/")[0] == ".git":
                continue
            status = path.lstat()
            if path.is_dir() and not path.is_symlink():
                found[name] = oct(status.st_mode)
            elif path.is_symlink():
                found[name] = str(path.readlink())
            else:
                found[name] = (path.read_bytes(), oct(status.st_mode), status.st_mtime_ns)
        return found

    def roll_back(self) -> None:
        self.git.rollback("HEAD", [], self.git.refs.next("foo", "1.3"), self.lines.append)

    def announced(self) -> str:
        return self.lines[-1].partition("to get it back: ")[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "pro'ject")


def staged_version(checkout: Checkout) -> None:
    checkout.write("a.txt", b"staged\n")
    checkout.run("git add a.txt")
    checkout.write("a.txt", b"edited after that\n")


def deleted_and_added(checkout: Checkout) -> None:
    checkout.run("git rm -q a.txt")
    checkout.write("new name \t'\".txt", b"untracked\n")
    checkout.write("new/dir/b.txt", b"staged\n")
    checkout.run("git add new/dir")


def swapped(checkout: Checkout) -> None:
    (checkout.root / "a.txt").unlink()
    checkout.write("a.txt/inner", b"in a directory\n")


def link(checkout: Checkout) -> None:
    (checkout.root / "a.txt").unlink()
    (checkout.root / "a.txt").symlink_to("run.sh")


def mixed_line_endings(checkout: Checkout) -> None:
    checkout.write(".gitattributes", b"* text=auto\n")
    checkout.commit()
    checkout.write("a.txt", b"one\r\ntwo\nthree\r\n")


def filter_that_strips(checkout: Checkout) -> None:
    checkout.write(".gitattributes", b"a.txt filter=strip\n")
    checkout.run('git config filter.strip.clean "sed s/password=.*//"')
    checkout.run("git config filter.strip.smudge cat")
    checkout.commit()
    checkout.write("a.txt", b"broken\npassword=of-the-user\n")


def private_mode(checkout: Checkout) -> None:
    checkout.write("a.txt", b"broken\n", 0o600)
    checkout.write("untracked.key", b"private\n", 0o600)
    checkout.write("run.sh", b"true\n", 0o755)


def hidden_files(checkout: Checkout) -> None:
    checkout.write("hidden.txt", b"of the user\n")
    checkout.write("run.sh", b"of the user\n")
    checkout.run("git update-index --skip-worktree hidden.txt")
    checkout.run("git update-index --assume-unchanged run.sh")
    checkout.write("a.txt", b"broken\n")


def intended_file(checkout: Checkout) -> None:
    checkout.write("new.txt", b"not staged yet\n")
    checkout.run("git add --intent-to-add new.txt")
    checkout.write("a.txt", b"broken\n")


def private_directory(checkout: Checkout) -> None:
    checkout.write("private/new.key", b"private\n", 0o600)
    (checkout.root / "private").chmod(0o700)
    checkout.write("a.txt", b"broken\n")


def replaced_object(checkout: Checkout) -> None:
    checkout.write("a.txt", b"broken\n")
    checkout.run("git replace $(git hash-object -w a.txt) $(git rev-parse HEAD:run.sh)")


def names_that_are_no_text(checkout: Checkout) -> None:
    names = [b"caf\xe9.txt", b"two\nlines", b"-rf", b" $(touch x) ", b"%s\\n", b'"quoted"']
    names.append(b"Icon\r")
    for name in names:
        checkout.write(os.fsdecode(name), b"tracked\n")
    checkout.commit()
    for name in names:
        checkout.write(os.fsdecode(name), b"edited by the user\n")
        checkout.write(os.fsdecode(b"new/" + name), b"untracked\n")
    checkout.run("git update-index --skip-worktree '%s\\n'")
    checkout.write("a.txt", b"broken\n")


def large_file_storage(checkout: Checkout) -> None:
    checkout.write(".gitattributes", b"*.bin filter=lfs\n")
    checkout.run("git config filter.lfs.clean 'sha1sum | cut -c1-40'")
    checkout.run("git config filter.lfs.smudge 'sed s/^/of-/'")
    checkout.run("git config filter.lfs.required true")
    checkout.write("one.bin", b"content\n")
    checkout.commit()
    checkout.write("one.bin", b"of the user\n")
    checkout.write("two.bin", b"untracked\n")
    checkout.write("a.txt", b"broken\n")


def other_encoding(checkout: Checkout) -> None:
    checkout.write(".gitattributes", b"w.txt working-tree-encoding=UTF-16\n")
    checkout.write("w.txt", "one\n".encode("utf-16"))
    checkout.commit()
    checkout.write("w.txt", b"not that encoding \xff\n")
    checkout.write("a.txt", b"broken\n")


def sparse_checkout(checkout: Checkout) -> None:
    checkout.write("in/x", b"1\n")
    checkout.write("out/y", b"1\n")
    checkout.commit()
    checkout.run("git sparse-checkout set --cone in")
    checkout.write("out/y", b"of the user\n")
    checkout.write("a.txt", b"broken\n")


def split_index(checkout: Checkout) -> None:
    checkout.run("git update-index --split-index")
    staged_version(checkout)


def repository_elsewhere(checkout: Checkout) -> None:
    checkout.run("mv .git ../store && echo gitdir: ../store > .git")
    checkout.run('git config core.worktree "$PWD"')
    checkout.git = Git(checkout.root, checkout.environ)
    staged_version(checkout)


CHANGES = [
    intended_file,
    private_directory,
    replaced_object,
    names_that_are_no_text,
    large_file_storage,
    other_encoding,
    sparse_checkout,
    split_index,
    repository_elsewhere,
    staged_version,
    deleted_and_added,
    swapped,
    link,
    mixed_line_endings,
    filter_that_strips,
    private_mode,
    hidden_files,
]


@pytest.mark.parametrize("change", CHANGES, ids=[function.__name__ for function in CHANGES])
def test_announced_command_brings_all_back(
    checkout: Checkout, change: Callable[[Checkout], None]
) -> None:
    change(checkout)
    before = checkout.state()
    checkout.roll_back()
    assert (checkout.root / "a.txt").read_bytes() == b"good\n"

    checkout.run(checkout.announced())
    assert checkout.state() == before


def test_it_works_in_a_sha256_repository(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path / "project", "--object-format=sha256")
    deleted_and_added(checkout)
    before = checkout.state()
    checkout.roll_back()

    checkout.run(checkout.announced())
    assert checkout.state() == before
    checkout.run("git config user.name U; git config user.email u@example.org")
    removed = [checkout.root / "a.txt"]
    assert checkout.git.commit("fix: remove it", removed)
    assert checkout.run("git show --format= --name-status").split() == ["D", "a.txt"]


def test_hidden_files_of_a_later_commit_come_back(checkout: Checkout) -> None:
    good = checkout.git.head()
    assert good is not None
    checkout.write("hidden.txt", b"second\n")
    checkout.commit()
    hidden_files(checkout)
    before = checkout.state()
    ref = checkout.git.refs.next("foo", "1.3")
    checkout.git.rollback(good, [], ref, checkout.lines.append)
    assert checkout.run("git ls-files -v hidden.txt") == "S hidden.txt\n"

    checkout.run(checkout.announced())
    assert checkout.state() == before


def test_large_untracked_file_stays(checkout: Checkout) -> None:
    with (checkout.root / "large.bin").open("wb") as file:
        file.truncate(MAX_FILE_SIZE + 1)
    checkout.write("a.txt", b"broken\n")
    result = checkout.git.rollback("HEAD", [], checkout.git.refs.next("foo", "1"))

    assert (checkout.root / "large.bin").stat().st_size == MAX_FILE_SIZE + 1
    assert "large.bin (10 MB, too large to keep)" in str(result)


def test_verified_state_has_uncommitted_work(checkout: Checkout, tmp_path: Path) -> None:
    snapshots = Snapshots(checkout.root, tmp_path / "copies", checkout.git.listing.files)
    checkout.write("a.txt", b"verified, not committed\n", 0o600)
    checkout.write("work.txt", b"untracked\n")
    checkout.write("hidden.txt", b"of the user\n")
    checkout.run("git update-index --skip-worktree hidden.txt")
    verified = checkout.state()
    files = snapshots.take()
    index = checkout.git.index()

    checkout.write("a.txt", b"broken\n")
    checkout.write("more.txt", b"broken\n")
    checkout.write("hidden.txt", b"broken\n")
    checkout.run("git add a.txt more.txt")
    (checkout.root / "work.txt").unlink()
    broken = checkout.state()
    changes = snapshots.changes(files, snapshots.take())
    ref = checkout.git.refs.next("foo", "1")
    target = Target("before", checkout.git.head() or "", changes, index)
    checkout.git.rollback(target, [], ref, checkout.lines.append)
    assert checkout.state() == verified

    checkout.run(checkout.announced())
    assert checkout.state() == broken


def test_ignored_secret_stays_ignored(checkout: Checkout) -> None:
    checkout.write(".gitignore", b".env\n")
    checkout.write(".env", b"KEY=1\n")
    checkout.write("a.txt", b"broken\n")
    result = checkout.git.rollback("HEAD", [], checkout.git.refs.next("foo", "1"))

    assert (checkout.root / "a.txt").read_bytes() == b"good\n"
    assert checkout.run("git status --porcelain") == "?? .gitignore\n"
    assert result.left == (".gitignore",)


def test_file_that_cannot_be_written_undoes_all(checkout: Checkout) -> None:
    checkout.write("a.txt", b"broken\n", 0o600)
    checkout.write("new.txt", b"untracked\n")
    before = checkout.state()
    checkout.run("git config filter.bad.smudge false; git config filter.bad.required true")
    checkout.run("git config filter.bad.clean cat; echo 'a.txt filter=bad' > .git/info/attributes")
    with pytest.raises(GitError):
        checkout.roll_back()
    assert checkout.state() == before
    assert checkout.run("git for-each-ref refs/ralph") == ""


def test_rollback_that_fails_midway_is_taken_back(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout.write("a.txt", b"broken\n", 0o600)
    checkout.write("run.sh", b"broken\n")
    checkout.write("new/b.txt", b"untracked\n")

    def save_and_fail(*_: object) -> None:
        assert (checkout.root / "a.txt").read_bytes() == b"good\n"
        checkout.write("run.sh", b"saved by the user\n")
        raise GitError("no index")

    monkeypatch.setattr(rollback, "set_index", save_and_fail)
    with pytest.raises(GitError, match="no index"):
        checkout.roll_back()

    assert (checkout.root / "a.txt").read_bytes() == b"broken\n"
    assert (checkout.root / "a.txt").stat().st_mode & 0o777 == 0o600
    assert (checkout.root / "new/b.txt").read_bytes() == b"untracked\n"
    assert (checkout.root / "run.sh").read_bytes() == b"saved by the user\n"
