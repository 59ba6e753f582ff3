"""Run git as a child process."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import tempfile
from typing import IO, TYPE_CHECKING, NamedTuple

from pytest_ralph.running.process import exit_descriptor
from pytest_ralph.running.strays import start_unmarked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

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

# `git commit` runs the project's hooks, and a hook that hangs must not block the whole run.
TIME_LIMIT = 600.0

MESSAGE_PREFIX = re.compile(r"(?i)^(?:fatal|error|warning|hint):\s*")


class GitError(Exception):
    """git could not do something. The message is one line; nothing was changed."""


class GitResult(NamedTuple):
    """How a git command ended. Paths that are not UTF-8 hold lone surrogates."""

    status: int
    stdout: str
    stderr: str

    def check(self, verb: str) -> str:
        """Return what git printed. Raise GitError if its exit status is not 0."""
        if self.status == 0:
            return self.stdout
        for line in (self.stderr or self.stdout).splitlines():
            message = MESSAGE_PREFIX.sub("", line).strip()
            if message:
                raise GitError(f"git {verb}: {message}")
        raise GitError(f"git {verb}: exit status {self.status}")


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

    def succeeds(self, *arguments: str) -> bool:
        """Return whether the exit status of a git command is 0."""
        return self.run(*arguments).status == 0

    def run(
        self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> GitResult:
        """Run git to its end, whatever its exit status."""
        # Files, not pipes: a program that a hook leaves in the background may hold them open.
        with (
            tempfile.TemporaryFile() as source,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as errors,
        ):
            source.write(stdin)
            source.seek(0)
            process = self._start(arguments, env or {}, (source, out, errors))
            try:
                ended = _wait(process)
            except BaseException:
                _kill(process)
                raise
            if not ended:
                _kill(process)
                raise GitError(f"git {arguments[0]} did not end within {TIME_LIMIT:.0f} s")
            out.seek(0)
            errors.seek(0)
            printed = os.fsdecode(out.read())
            return GitResult(process.returncode, printed, errors.read().decode("utf-8", "replace"))

    def _start(
        self,
        arguments: tuple[str, ...],
        env: Mapping[str, str],
        streams: tuple[IO[bytes], IO[bytes], IO[bytes]],
    ) -> subprocess.Popen[bytes]:
        configuration = () if arguments[0] == "commit" else CONFIGURATION
        try:
            with start_unmarked():
                return subprocess.Popen(
                    ["git", *configuration, *arguments],
                    cwd=self.directory,
                    env={**self.environ, **env},
                    stdin=streams[0],
                    stdout=streams[1],
                    stderr=streams[2],
                    start_new_session=True,
                )
        except FileNotFoundError as error:
            if not self.directory.is_dir():
                raise GitError(f"no directory {self.directory}") from error
            raise GitError("git is not installed") from error
        except OSError as error:
            raise GitError(f"git cannot be run: {error.strerror or error}") from error


def null_separated(paths: Iterable[str]) -> bytes:
    """Return `paths` in the form that git's `-z --stdin` options read."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def _wait(process: subprocess.Popen[bytes]) -> bool:
    """Wait for a process; return whether it has ended within the time limit.

    Popen.wait() with a time limit looks at the process only now and then.
    """
    descriptor = exit_descriptor(process.pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        ended = bool(poll.poll(TIME_LIMIT * 1000))
    finally:
        os.close(descriptor)
    if ended:
        process.wait()
    return ended


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill git with everything it has started, and wait for it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
