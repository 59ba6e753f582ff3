"""Run git as a child process."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, NamedTuple

from pytest_ralph.files import read_or_empty
from pytest_ralph.fixing.errors import GitError
from pytest_ralph.running.process import exit_descriptor
from pytest_ralph.running.strays import start_unmarked
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# git sets these while it runs a hook. A run started by a hook would work on the wrong repository.
REPOSITORY_VARIABLES = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_GLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_INDEX_FILE",
    "GIT_LITERAL_PATHSPECS",
    "GIT_NAMESPACE",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_WORK_TREE",
)
UNATTENDED = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": ":"}

# Hooks of the project run for real commits only. Mixed line endings are not an error. No daemon is
# started to watch a worktree, and an index has no part in another file.
CONFIGURATION = (
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.safecrlf=false",
    "-c",
    "advice.addEmbeddedRepo=false",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.splitIndex=false",
)

# The author of commits that are not the user's: git may not know the user's name yet.
OWN_AUTHOR = {
    "GIT_AUTHOR_NAME": "pytest-ralph",
    "GIT_AUTHOR_EMAIL": "pytest-ralph@localhost",
    "GIT_COMMITTER_NAME": "pytest-ralph",
    "GIT_COMMITTER_EMAIL": "pytest-ralph@localhost",
}

# `git commit` runs the project's hooks, and a hook that hangs must not block the whole run.
TIME_LIMIT = 600.0
# Seconds between two looks at a git that has not ended.
PIPE_CHECK = 1.0
# Seconds that git and its hooks have to end by themselves when they are interrupted.
GRACE = 5.0
GRACE_PAUSE = 0.01
# Where a process of Linux sleeps that opens a pipe (FIFO) which no other process has open.
WAITS_FOR_PIPE = "wait_for_partner"

ERROR_LINE = regex(r"(?i)^(?:fatal|error):")
MESSAGE_PREFIX = regex(r"(?i)^(?:fatal|error|warning|hint):\s*")


class GitResult(NamedTuple):
    """How a git command ended. Paths that are not UTF-8 hold lone surrogates."""

    status: int
    stdout: str
    stderr: str

    def check(self, verb: str) -> str:
        """Return what git printed. Raise GitError if its exit status is not 0."""
        if self.status == 0:
            return self.stdout
        message = _message(self.stderr or self.stdout)
        raise GitError(f"git {verb}: {message or f'exit status {self.status}'}")


class GitCommand(NamedTuple):
    """Calls git in one directory."""

    directory: Path
    environ: Mapping[str, str]

    @classmethod
    def at(cls, directory: Path, environ: Mapping[str, str] | None = None) -> GitCommand:
        """Return the command for `directory`, free of variables about other repositories."""
        inherited = os.environ if environ is None else environ
        kept = {
            name: value for name, value in inherited.items() if name not in REPOSITORY_VARIABLES
        }
        return cls(directory, {**kept, **UNATTENDED})

    def __call__(
        self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> str:
        """Return what git prints. Raise GitError if its exit status is not 0."""
        return self.run(*arguments, stdin=stdin, env=env).check(arguments[0])

    def listed(
        self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> list[str]:
        """Return what git prints with its option `-z`: paths, or lines that end with one."""
        printed = self(*arguments, stdin=stdin, env=env)
        return [item for item in printed.split("\0") if item]

    def commit_id(self, name: str) -> str | None:
        """Return the id of the commit that `name` stands for; None if there is none."""
        found = self.run("rev-parse", "--verify", "-q", f"{name}^{{commit}}")
        return found.stdout.strip() if found.status == 0 else None

    def succeeds(self, *arguments: str) -> bool:
        """Return whether the exit status of a git command is 0."""
        return self.run(*arguments).status == 0

    def run(
        self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> GitResult:
        """Run git to its end, whatever its exit status."""
        # Files, not pipes: a program that a hook leaves in the background may hold them open.
        with _unnamed_file() as source, _unnamed_file() as out, _unnamed_file() as errors:
            source.write(stdin)
            source.seek(0)
            process = self._start(arguments, env or {}, source, out, errors)
            try:
                ended = _has_ended(process.pid)
            finally:
                # Unless it has ended: it hangs, or the run is interrupted.
                _end(process)
            if not ended:
                raise GitError(f"git {arguments[0]} did not finish within {TIME_LIMIT:.0f} s")
            out.seek(0)
            errors.seek(0)
            printed = os.fsdecode(out.read())
            return GitResult(process.returncode, printed, errors.read().decode("utf-8", "replace"))

    def _start(
        self, arguments: tuple[str, ...], env: Mapping[str, str], *streams: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        if not self.directory.is_dir():
            raise GitError(f"no directory {self.directory}")
        configuration = () if arguments[0] == "commit" else CONFIGURATION
        source, out, errors = streams
        try:
            with start_unmarked():
                return subprocess.Popen(
                    ["git", *configuration, *arguments],
                    cwd=self.directory,
                    env={**self.environ, **env},
                    stdin=source,
                    stdout=out,
                    stderr=errors,
                    start_new_session=True,
                )
        except FileNotFoundError as error:
            raise GitError("git is not installed") from error
        except OSError as error:
            raise GitError(f"git cannot be run: {error.strerror or error}") from error


class Repository(NamedTuple):
    """The repository around a project.

    top: The directory of the main worktree, or of the linked one that the project is in.
    prefix: The way from there to the project; empty, or it ends with a slash.
    git_dir: What git stores for this worktree.
    common_dir: What git stores for all worktrees.
    """

    top: Path
    prefix: str
    git_dir: Path
    common_dir: Path

    def writing_objects_to(self, directory: Path) -> dict[str, str]:
        """Return the variables with which git writes objects to another directory."""
        # In quotes, a colon does not end the path.
        own = str(self.common_dir / "objects").replace("\\", r"\\").replace('"', r"\"")
        return {
            "GIT_OBJECT_DIRECTORY": str(directory),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{own}"',
        }


def find_repository(git: GitCommand) -> Repository:
    """Return the repository around git's directory. Raise GitError if it has no files there."""
    questions = ("--is-inside-work-tree", "--absolute-git-dir", "--git-common-dir")
    result = git.run("rev-parse", *questions, "--show-prefix", "--show-toplevel")
    name = git.directory.name
    if result.stdout.startswith("false"):
        raise GitError(f"{name}: a bare repository has no files to go back to")
    if result.status != 0:
        raise GitError(_why_no_repository(name, result.stderr))
    answers = result.stdout.removesuffix("\n").split("\n")
    if len(answers) != 5:
        raise GitError(f"{name}: a path with a line break cannot be used")
    _, git_dir, common_dir, prefix, top = answers
    return Repository(Path(top), prefix, Path(git_dir), (git.directory / common_dir).resolve())


def _why_no_repository(name: str, errors: str) -> str:
    if "not a git repository" in errors:
        return f"{name} is not in a git repository"
    return f"{name}: {_message(errors) or 'git cannot read it'}"


def _message(printed: str) -> str:
    """Return the first error that git printed, or else its first line; empty if there is none."""
    lines = list(filter(str.strip, printed.splitlines()))
    # A warning may come first.
    errors = [line for line in lines if ERROR_LINE.match(line)]
    for line in (*errors, *lines):
        message = MESSAGE_PREFIX.sub("", line).strip()
        if message:
            return message
    return ""


def null_separated(paths: Iterable[str]) -> bytes:
    """Return `paths` in the form that git's `-z --stdin` options read."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def _unnamed_file() -> IO[bytes]:
    """Return a file for a stream of git, in memory where the system can do that."""
    if not hasattr(os, "memfd_create"):
        return TemporaryFile()
    # On disk, three of them take longer than starting git.
    return os.fdopen(os.memfd_create("git"), "w+b")


def _has_ended(pid: int) -> bool:
    """Wait for git; return whether it has ended within the time limit.

    Raise GitError if it waits for a pipe, as it would if one is in the place of a .gitignore.
    """
    deadline = time.monotonic() + TIME_LIMIT
    descriptor = exit_descriptor(pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            if poll.poll(min(left, PIPE_CHECK) * 1000):
                return True
            if read_or_empty(Path(f"/proc/{pid}/wchan")) == WAITS_FOR_PIPE:
                raise GitError("a pipe (FIFO) is in the place of a file that git reads")
    finally:
        os.close(descriptor)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git with everything it has started, unless it has ended.

    They are interrupted first: git removes its lock files then, and a hook that has set edits of
    the user aside puts them back.
    """
    if process.poll() is not None:
        return
    deadline = time.monotonic() + GRACE
    try:
        os.killpg(process.pid, signal.SIGINT)
        while time.monotonic() < deadline and _is_at_work(process):
            time.sleep(GRACE_PAUSE)
    finally:
        # Also if the user interrupts the wait.
        if _is_at_work(process):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _is_at_work(process: subprocess.Popen[bytes]) -> bool:
    """Return whether git is running, or anything it has started in its process group."""
    if process.poll() is None:
        return True
    try:
        os.killpg(process.pid, 0)
    except OSError:
        return False
    return True
