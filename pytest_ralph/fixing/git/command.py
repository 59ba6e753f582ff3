"""Room fixing: git, run as a child process. One call, one answer or one clear line."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

# Set by git itself while it runs a hook; with them a run started by a hook would work on the wrong repository.
_REPOSITORY_VARIABLES = (
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
_QUIET = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": ":"}
# Only a real commit is the business of the project's hooks; a file with mixed line ends is no reason to stop.
_PLAIN = (
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.safecrlf=false",
    "-c",
    "advice.addEmbeddedRepo=false",
)
# Hooks of the project run inside `git commit`; one that never ends must not hold the whole run.
TIME_LIMIT = 600.0
_NOISE = re.compile(r"(?i)^(?:fatal|error|warning|hint):\s*")


class GitError(Exception):
    """One clear line: why git could not do it, and that nothing was changed."""


class GitCommand(NamedTuple):
    """How to call git in one directory."""

    directory: Path
    environ: Mapping[str, str]

    @classmethod
    def at(cls, directory: Path, environ: Mapping[str, str] | None = None) -> GitCommand:
        inherited = dict(os.environ if environ is None else environ)
        for name in _REPOSITORY_VARIABLES:
            inherited.pop(name, None)
        return cls(directory, {**inherited, **_QUIET})

    def __call__(
        self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> str:
        """What git prints, paths outside UTF-8 as lone surrogates. GitError if it fails."""
        status, output, errors = self.status(*arguments, stdin=stdin, env=env)
        if status != 0:
            raise GitError(_one_line(arguments[0], errors or output, status))
        return output

    def status(
        self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> tuple[int, str, str]:
        """Exit status, stdout and stderr."""
        plain = () if arguments[0] == "commit" else _PLAIN
        try:
            process = subprocess.Popen(
                ["git", *plain, *arguments],
                cwd=self.directory,
                env={**self.environ, **(env or {})},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            missing = (
                f"no directory {self.directory}"
                if not self.directory.is_dir()
                else "git is not installed"
            )
            raise GitError(missing) from error
        except OSError as error:
            raise GitError(f"git cannot be run: {error.strerror or error}") from error
        try:
            output, errors = process.communicate(stdin, timeout=TIME_LIMIT)
        except BaseException as error:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            with process:
                """Its pipes are closed, and it is waited for."""
            if isinstance(error, subprocess.TimeoutExpired):
                raise GitError(
                    f"git {arguments[0]} did not end within {TIME_LIMIT:.0f} s"
                ) from error
            raise
        return process.returncode, os.fsdecode(output), errors.decode("utf-8", "replace")


def null_separated(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def _one_line(verb: str, text: str, status: int) -> str:
    lines = [_NOISE.sub("", line).strip() for line in text.splitlines()]
    told = next((line for line in lines if line), f"exit status {status}")
    return f"git {verb}: {told}"
