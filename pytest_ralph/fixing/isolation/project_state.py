"""The current state of a project as git stores it: the files as they are, and what is staged."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import threading
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_ralph.files import RALPH_DIRECTORY, file_signature
from pytest_ralph.fixing.errors import GitError
from pytest_ralph.fixing.file_state import is_too_large
from pytest_ralph.fixing.git.command import null_separated
from pytest_ralph.fixing.git.index import SUBMODULE_MODE, flagged_paths, read_index, stage_files
from pytest_ralph.fixing.git.scratch import scratch_directory
from pytest_ralph.fixing.isolation.links import named_ignored_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pytest_ralph.files import Seen
    from pytest_ralph.fixing.git.command import GitCommand, Repository

NOT_OURS = f":(exclude,glob)**/{RALPH_DIRECTORY}/**"
VANISHED_FILE = re.compile(r"No such file or directory|unable to (?:stat|index|open)")
NESTED_REPOSITORY = re.compile(r"^warning: adding embedded git repository: (.*?)/?$", re.MULTILINE)
ADD_TRIES = 6


class ProjectState:
    """Reads the state of a project. `git` runs at the top of its repository.

    Neither the index of the user nor any file is changed.
    """

    def __init__(self, git: GitCommand, location: Repository) -> None:
        self._git = git
        self._location = location
        self._threads = threading.Lock()
        # The version of the user's index that was read last, and its tree.
        self._staged_trees: dict[Seen, str] = {}

    def require_usable(self) -> None:
        """Raise GitError, in one line, if the repository cannot be used for worktrees."""
        names: dict[str, str] = {}
        ignore_case = self._git.run("config", "--bool", "core.ignorecase").stdout.strip() == "true"
        for path, entry in read_index(self._git).items():
            if entry.mode == SUBMODULE_MODE:
                raise GitError(f"submodules cannot be isolated: {path}")
            if not ignore_case:
                continue
            other = names.setdefault(path.casefold(), path)
            if other != path:
                raise GitError(
                    f"names that differ only in case cannot be isolated: {other}, {path}"
                )

    def write(self, index: Path, objects: Path, named: Sequence[str] = ()) -> str:
        """Write the files as they are to an index file, and return the tree.

        New objects are written to the directory `objects`. Of ignored files, those that match
        `named` are part of the state.
        """
        environ = {"GIT_INDEX_FILE": str(index), **self._location.writing_objects_to(objects)}
        self._copy_index(index)
        self._clear_flags(environ)
        left_out = [NOT_OURS, *self._too_large()]
        for _ in range(ADD_TRIES):
            result = self._git.run("add", "-A", "--", ".", *left_out, env=environ)
            # A file vanished while git looked: other programs are at work.
            if not VANISHED_FILE.search(result.stderr):
                break
        result.check("add")
        nested = NESTED_REPOSITORY.search(result.stderr)
        if nested is not None:
            raise GitError(f"a nested repository cannot be isolated: {nested[1]}")
        stage_files(self._git, self._location.top, self.ignored_files(named), environ)
        return self._git("write-tree", env=environ).strip()

    def _clear_flags(self, environ: Mapping[str, str]) -> None:
        """Have git look at files that it was told to take as unchanged, unless they are not there.

        With a sparse checkout, most of the files with the flag are not.
        """
        entries = read_index(self._git, env=environ)
        for flag, paths in flagged_paths(entries, entries).items():
            existing = [path for path in paths if os.path.lexists(self._location.top / path)]
            option = flag.replace("--", "--no-")
            self._git(
                "update-index", option, "-z", "--stdin", stdin=null_separated(existing), env=environ
            )

    def _too_large(self) -> list[str]:
        """Return what has git leave out files that would take it too long to read."""
        listed = self._git.listed("ls-files", "-z", "-o", "-m", "--exclude-standard")
        large = [path for path in listed if is_too_large(self._location.top / path)]
        return [f":(exclude,literal){path}" for path in large]

    def ignored_files(self, named: Sequence[str]) -> list[str]:
        """Return the ignored files of the project that match what a task names."""
        listed = named_ignored_files(self._git, named)
        # git lists a repository inside the repository as a directory.
        files = [path for path in listed if not path.endswith("/")]
        return [path for path in files if not is_too_large(self._location.top / path)]

    def _copy_index(self, copy: Path) -> None:
        """Copy the index of the user; without one, remove the copy."""
        copy.unlink(missing_ok=True)
        with contextlib.suppress(FileNotFoundError):
            shutil.copy2(self._location.git_dir / "index", copy)

    def staged(self) -> str:
        """Return the tree of what the user has staged."""
        version = file_signature(self._location.git_dir / "index")
        with self._threads:
            if version in self._staged_trees:
                return self._staged_trees[version]
        with scratch_directory(self._location.git_dir) as scratch:
            # git would write into the index itself.
            copy = scratch / "index"
            self._copy_index(copy)
            tree = self._git.run("write-tree", env={"GIT_INDEX_FILE": str(copy)})
        if "unmerged" in tree.stderr:
            raise GitError("the index has unresolved conflicts")
        name = tree.check("write-tree").strip()
        with self._threads:
            self._staged_trees = {version: name}
        return name

    @cached_property
    def size(self) -> int:
        """The size of all files in bytes, without ignored ones."""
        size = 0
        for name in self._git.listed("ls-files", "-z", "-c", "-o", "--exclude-standard"):
            with contextlib.suppress(OSError):
                # A Path for each file would be most of the cost. Files in memory take whole pages.
                size += os.lstat(f"{self._location.top}/{name}").st_size + 4096
        return size
