"""Keep files and index as they are under a ref, byte for byte, before a rollback changes them.

The commit under the ref has three parents: HEAD, the index, and a commit with a shell script. Its
tree is the index with the files that are about to change, stored without clean filters and
line-ending conversion. The script puts these files back with their modes and times, and the index
with its flags; it needs nothing but git.
"""

from __future__ import annotations

import datetime
import os
import shlex
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.files import fault_point
from pytest_ralph.fixing.git.command import OWN_AUTHOR, GitCommand, null_separated
from pytest_ralph.fixing.git.index import (
    flagged_paths,
    git_mode,
    index_lines,
    no_entry,
    read_blob,
    read_index,
    split_intended,
    with_intended,
    write_blob,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ralph.fixing.file_state import Change, FileState

# The user may have told git to take another object in the place of one.
AS_STORED = {"GIT_NO_REPLACE_OBJECTS": "1"}
SCRIPT_NAME = "restore.sh"
SCRIPT_HEADING = """\
# Puts back {count} files, and their entries in the index, as they were before a rollback.
set -e
export GIT_NO_REPLACE_OBJECTS=1
cd "$(git rev-parse --show-toplevel)"
"""


class KeptState:
    """Writes the state of some paths into a repository.

    `git` runs at the top of the repository, and `changes` are relative to it: `after` is how a file
    is now.
    """

    def __init__(self, git: GitCommand, changes: Sequence[Change], scratch: Path) -> None:
        self._git = git
        self._changes = changes
        self._states = {change.path: change.after for change in changes}
        self._scratch = scratch
        self._blobs = self._write_blobs()
        index = read_index(git)
        changed = {path: index[path] for path in self._states if path in index}
        self._index = with_intended(git, changed)

    def state_of(self, path: str) -> FileState | None:
        """Return the state of one of the paths, with a copy of its content."""
        state = self._states[path]
        if state is None or state.is_link:
            return state
        copy = self._scratch / self._blobs[path]
        copy.write_bytes(read_blob(self._git, self._blobs[path], AS_STORED))
        return state._replace(copy=str(copy))

    def write(self, ref: str, message: str, head: str) -> None:
        """Keep everything under the new `ref`."""
        copy = self._copy_index()
        index_tree = self._git("write-tree", env=copy).strip()
        index_commit = self._commit_tree(index_tree, ("-p", head), "the index")

        lines = []
        removed = no_entry(self._git)
        for change in self._changes:
            entry = removed
            if change.after is not None:
                entry = f"{git_mode(change.after)} {self._blobs[change.path]}"
            lines.append(f"{entry}\t{change.path}")
        entries = null_separated(lines)
        self._git("update-index", "-z", "--replace", "--index-info", stdin=entries, env=copy)
        tree = self._git("write-tree", env=copy).strip()

        script = write_blob(self._git, os.fsencode(self._script()))
        script_entry = os.fsencode(f"100644 blob {script}\t{SCRIPT_NAME}\n")
        script_tree = self._git("mktree", stdin=script_entry).strip()
        script_commit = self._commit_tree(script_tree, (), "how to put it back")

        parents = ("-p", head, "-p", index_commit, "-p", script_commit)
        commit = self._commit_tree(tree, parents, message)
        fault_point("before keeping ref")
        # The empty old value makes git refuse to overwrite a ref.
        self._git("update-ref", "-m", "pytest-ralph: keep", ref, commit, "")

    def _write_blobs(self) -> dict[str, str]:
        """Store the files as they are, without filters; return path → object."""
        blobs = {}
        plain = []
        for change in self._changes:
            if change.after is None:
                continue
            if change.after.is_link:
                target = os.fsencode(change.after.target)
                blobs[change.path] = write_blob(self._git, target)
            elif "\n" in change.path or change.path.startswith('"') or change.path.endswith("\r"):
                # git would read these names differently from its standard input.
                content = (self._git.directory / change.path).read_bytes()
                blobs[change.path] = write_blob(self._git, content)
            else:
                plain.append(change.path)
        if plain:
            listed = os.fsencode("\n".join(plain))
            options = ("-w", "--no-filters", "--stdin-paths")
            written = self._git("hash-object", *options, stdin=listed).split()
            blobs.update(zip(plain, written, strict=True))
        return blobs

    def _copy_index(self) -> dict[str, str]:
        """Copy the user's index, and return the environment that selects the copy."""
        path = self._git("rev-parse", "--git-path", "index").rstrip("\n")
        index = self._git.directory / path
        copy = self._scratch / "kept-index"
        if index.exists():
            shutil.copy2(index, copy)
        return {"GIT_INDEX_FILE": str(copy)}

    def _commit_tree(self, tree: str, parents: tuple[str, ...], message: str) -> str:
        commit = self._git("commit-tree", tree, *parents, "-m", message, env=OWN_AUTHOR)
        return commit.strip()

    # The script

    def _script(self) -> str:
        lines = [SCRIPT_HEADING.format(count=len(self._changes))]
        # First remove what was not there: a directory may be in the way of a file.
        for change in self._changes:
            if change.after is None:
                path = shlex.quote(change.path)
                lines.append(f"rm -f -- {path}\n")
                lines += _remove_directories(change.path)
        for change in self._changes:
            if change.after is not None:
                lines += self._write_file(change.path, change.after)
        lines += self._restore_directories()
        lines += self._restore_index()
        return "".join(lines)

    def _write_file(self, path: str, state: FileState) -> list[str]:
        quoted = shlex.quote(path)
        lines = []
        directory = os.path.dirname(path)  # noqa: PTH120 - may hold lone surrogates
        if directory:
            lines.append(f"mkdir -p -- {shlex.quote(directory)}\n")
        lines.append(f"rm -f -- {quoted}\n")
        if state.is_link:
            lines.append(f"ln -s -- {shlex.quote(state.target)} {quoted}\n")
            return lines
        lines.append(f"git cat-file blob {self._blobs[path]} > {shlex.quote('./' + path)}\n")
        lines.append(f"chmod {stat.S_IMODE(state.mode):04o} -- {quoted}\n")
        lines.append(f"TZ=UTC touch -m -d {_timestamp(state.modified)} -- {quoted}\n")
        return lines

    def _restore_directories(self) -> list[str]:
        """Return the commands that give the directories of the files their modes again."""
        directories = {
            str(parent): None
            for change in self._changes
            if change.after is not None
            for parent in Path(change.path).parents
            if parent.parts
        }
        lines = []
        for directory in directories:
            mode = stat.S_IMODE((self._git.directory / directory).lstat().st_mode)
            lines.append(f"chmod {mode:04o} -- {shlex.quote(directory)}\n")
        return lines

    def _restore_index(self) -> list[str]:
        paths = [change.path for change in self._changes]
        intended, staged = split_intended(self._index)
        entries = index_lines(self._git, paths, staged)
        lines = []
        if entries:
            quoted = shlex.join(entries)
            lines.append(f"printf '%s\\0' {quoted} | git update-index -z --replace --index-info\n")
        for flag, flagged in flagged_paths(paths, self._index).items():
            lines.append(f"git update-index {flag} -- {shlex.join(flagged)}\n")
        if intended:
            quoted = shlex.join(intended)
            lines.append(f"GIT_LITERAL_PATHSPECS=1 git add --force --intent-to-add -- {quoted}\n")
        lines.append("git update-index -q --refresh || :\n")
        return lines


def _remove_directories(path: str) -> list[str]:
    """Return the commands that remove the directories of a path as far as they are empty."""
    parents = [str(parent) for parent in Path(path).parents if parent.parts]
    return [f"rmdir -- {shlex.quote(parent)} 2> /dev/null || :\n" for parent in parents]


def _timestamp(nanoseconds: int) -> str:
    seconds, fraction = divmod(nanoseconds, 1_000_000_000)
    moment = datetime.datetime.fromtimestamp(seconds, tz=datetime.timezone.utc)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{fraction:09d}Z"
