"""Entries of the index and of commits, and the blobs that they name."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from pytest_ralph.fixing.errors import GitError
from pytest_ralph.fixing.file_state import is_behind_link
from pytest_ralph.fixing.git.command import null_separated
from pytest_ralph.fixing.git.path_set import PathSet

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from pytest_ralph.fixing.file_state import FileState
    from pytest_ralph.fixing.git.command import GitCommand

LITERAL = {"GIT_LITERAL_PATHSPECS": "1"}
# More paths than this are not given to git one by one.
MOST_ARGUMENTS = 500
SUBMODULE_MODE = "160000"
# The mode that git's raw diff shows for a file that does not exist.
ABSENT = "000000"
# The name of the empty file in repositories of both formats.
EMPTY_BLOBS = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)


class IndexEntry(NamedTuple):
    """A file as git stores it. In the index, flags can hide changes of the file from git.

    is_intended: Whether `git add --intent-to-add` has announced a file that is not staged yet.
    """

    mode: str
    identity: str
    skip_worktree: bool = False
    assume_unchanged: bool = False
    is_intended: bool = False

    def __str__(self) -> str:
        return f"{self.mode} {self.identity}"

    @property
    def has_flags(self) -> bool:
        return self.skip_worktree or self.assume_unchanged

    def with_flags_of(self, other: IndexEntry | None) -> IndexEntry:
        """Return the entry with the flags of another one; None stands for no flags."""
        if other is None:
            return IndexEntry(self.mode, self.identity)
        return other._replace(mode=self.mode, identity=self.identity, is_intended=False)


# Path → entry.
Index = dict[str, IndexEntry]
# Path → what there was of a file before a change and after it; None if there was no file.
Versions = dict[str, tuple[IndexEntry | None, IndexEntry | None]]


def read_index(git: GitCommand, *paths: str, env: Mapping[str, str] | None = None) -> Index:
    """Return the entries of the index below git's directory, or those of `paths`."""
    entries = {}
    wanted = PathSet(frozenset(paths or (".",)))
    options = ("-v", "--stage", "-z", "--", *_as_arguments(paths))
    for line in git.listed("ls-files", *options, env={**LITERAL, **(env or {})}):
        about, _, path = line.partition("\t")
        if path not in wanted:
            continue
        tag, mode, identity, _ = about.split(" ")
        entries[path] = IndexEntry(mode, identity, tag.upper() == "S", tag.islower())
    return entries


def _as_arguments(paths: Collection[str]) -> Collection[str]:
    """Return what limits a git command to `paths`, or to its directory if they are too many.

    The system limits the length of a command line, and git compares each file with each path.
    """
    if not paths or len(paths) > MOST_ARGUMENTS:
        return (".",)
    return paths


def read_tree(git: GitCommand, commit: str, paths: Collection[str]) -> Index:
    """Return the entries that a commit has for `paths`; none if there is no such commit."""
    listed = git.run("ls-tree", "-r", "-z", commit, "--", *_as_arguments(paths), env=LITERAL)
    if listed.status != 0:
        return {}
    wanted = PathSet(frozenset(paths))
    entries = {}
    for line in listed.stdout.split("\0")[:-1]:
        about, _, path = line.partition("\t")
        if path not in wanted:
            continue
        mode, _, identity = about.split(" ")
        entries[path] = IndexEntry(mode, identity)
    return entries


def read_diff(git: GitCommand, command: str, *arguments: str) -> Versions:
    """Return the files that one of git's diff commands finds changed, in both versions."""
    options = ("-z", "--raw", "--no-renames", "--no-abbrev")
    parts = git.listed(command, *options, *arguments, env=LITERAL)
    versions = {}
    for header, path in zip(parts[::2], parts[1::2], strict=True):
        old_mode, mode, old_identity, identity, _ = header.lstrip(":").split(" ")
        before = None if old_mode == ABSENT else IndexEntry(old_mode, old_identity)
        after = None if mode == ABSENT else IndexEntry(mode, identity)
        versions[path] = (before, after)
    return versions


def write_blob(git: GitCommand, content: bytes, *options: str) -> str:
    """Write a file into the repository and return its id."""
    return git("hash-object", "-w", *options, "--stdin", stdin=content).strip()


def read_blob(git: GitCommand, name: str, env: Mapping[str, str] | None = None) -> bytes:
    """Return the content of a file in the repository."""
    return os.fsencode(git("cat-file", "blob", name, env=env))


def with_intended(git: GitCommand, index: Index) -> Index:
    """Return an index in which the entries of files that are only intended are marked.

    git shows them as empty files otherwise.
    """
    empty = [path for path, entry in index.items() if entry.identity in EMPTY_BLOBS]
    if not empty:
        return index
    options = ("--cached", "--name-only", "--no-renames", "-z", "--diff-filter=A")
    staged = set(git.listed("diff", *options, "--", *_as_arguments(empty), env=LITERAL))
    in_head = read_tree(git, "HEAD", empty)
    marked = {
        path: index[path]._replace(is_intended=True)
        for path in empty
        if path not in staged and path not in in_head
    }
    return {**index, **marked}


def split_intended(entries: Mapping[str, IndexEntry]) -> tuple[Index, Index]:
    """Return the entries of files that are only intended, and the others."""
    intended = {path: entry for path, entry in entries.items() if entry.is_intended}
    staged = {path: entry for path, entry in entries.items() if not entry.is_intended}
    return intended, staged


def index_lines(
    git: GitCommand, paths: Iterable[str], entries: Mapping[str, IndexEntry]
) -> list[str]:
    """Return what `git update-index --index-info` reads; paths without an entry are removed."""
    removed = ""
    lines = []
    for path in paths:
        entry = entries.get(path)
        if entry is None and not removed:
            removed = no_entry(git)
        lines.append(f"{entry or removed}\t{path}")
    return lines


def no_entry(git: GitCommand) -> str:
    """Return what removes an entry: mode 0, and an object name as long as the repository's."""
    result = git.run("rev-parse", "--show-object-format")
    return "0 " + "0" * (64 if result.stdout.strip() == "sha256" else 40)


def set_index(git: GitCommand, paths: Iterable[str], entries: Mapping[str, IndexEntry]) -> None:
    """Make the entries of `paths` in the user's index those given; remove the others."""
    paths = sorted(paths)
    if not paths:
        return
    wanted = {path: entries[path] for path in paths if path in entries}
    intended, staged = split_intended(wanted)
    flagged = {path: entry for path, entry in staged.items() if entry.has_flags}
    lines = index_lines(git, [path for path in paths if path not in flagged], staged)
    if lines:
        git("update-index", "-z", "--replace", "--index-info", stdin=null_separated(lines))
    for path, entry in flagged.items():
        # In one command: a run that is killed in between would leave the entry without its flags.
        git("update-index", *_options_for_flagged(path, entry), env=LITERAL)
    # git announces no file that is not there.
    found = [path for path in intended if os.path.lexists(git.directory / path)]
    if found:
        options = ("--force", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul")
        git("add", *options, stdin=null_separated(found), env=LITERAL)
    refresh_index(git)


def refresh_index(git: GitCommand) -> None:
    """Have the index hold the times of the files, so that git need not read these again."""
    # Status 1 only means that some files differ from the index.
    git.run("update-index", "-q", "--refresh")


def _options_for_flagged(path: str, entry: IndexEntry) -> list[str]:
    """Return the options of `git update-index` that set an entry and its flags."""
    content = f"{entry.mode},{entry.identity},{path}"
    options = ["--add", "--replace", "--cacheinfo", content]
    for flag in flagged_paths([path], {path: entry}):
        options += [flag, f"./{path}"]
    return options


def stage_files(
    git: GitCommand, root: Path, paths: Collection[str], env: Mapping[str, str]
) -> None:
    """Make entries of the index that `env` selects those of the files below `root`.

    Entries of files that do not exist are removed.
    """
    # git refuses a path behind a link: the directory that held the file became that link.
    gone = {path for path in paths if is_behind_link(root, path)}
    if gone:
        git("update-index", "--force-remove", "-z", "--stdin", stdin=null_separated(gone), env=env)
    options = ("--add", "--remove", "--replace", "-z", "--stdin")
    found = [path for path in paths if path not in gone]
    if found:
        git("update-index", *options, stdin=null_separated(found), env=env)


class IndexFile(NamedTuple):
    """The index as git stores it, and when it was written, in nanoseconds.

    git trusts the times of files in the index only if they are older than the index itself.
    """

    content: bytes
    modified: int


def read_index_file(git_dir: Path) -> IndexFile | None:
    """Return the index as git stores it; None if there is none."""
    index = git_dir / "index"
    try:
        return IndexFile(index.read_bytes(), index.stat().st_mtime_ns)
    except FileNotFoundError:
        return None


def write_index_file(git_dir: Path, index: IndexFile | None) -> None:
    """Replace the index as a whole. Raise GitError while another process writes it."""
    lock = git_dir / "index.lock"
    try:
        file = lock.open("xb")
    except FileExistsError as error:
        raise GitError("another git process holds the index (index.lock)") from error
    try:
        with file:
            file.write(index.content if index else b"")
        if index is None:
            (git_dir / "index").unlink(missing_ok=True)
            lock.unlink()
            return
        os.utime(lock, ns=(index.modified, index.modified))
        lock.replace(git_dir / "index")
    except OSError as error:
        # Such as a disk that is full. The lock would keep every git out from now on.
        lock.unlink(missing_ok=True)
        raise GitError(f"the index cannot be written: {error.strerror or error}") from error


def flagged_paths(paths: Iterable[str], entries: Mapping[str, IndexEntry]) -> dict[str, list[str]]:
    """Return the options of `git update-index` that set flags, with the paths that have them."""
    known = [path for path in paths if path in entries]
    flags = {
        "--skip-worktree": [path for path in known if entries[path].skip_worktree],
        "--assume-unchanged": [path for path in known if entries[path].assume_unchanged],
    }
    return {flag: flagged for flag, flagged in flags.items() if flagged}


def git_mode(state: FileState) -> str:
    """Return the mode that git stores for a file."""
    if state.is_link:
        return "120000"
    return "100755" if state.mode & stat.S_IXUSR else "100644"
