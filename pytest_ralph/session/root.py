"""The root directory of a run, if pytest chose it for the value of one of our options.

pytest chooses its root directory and its ini file before it loads any plugin, so at that point it
does not know our options. In `--ralph-executor /opt/agent.sh` it takes the value for a test path,
and may choose a root directory that also contains `/opt`. Verify commands would run there. With an
equals sign, `--ralph-executor=/opt/agent.sh`, it does not.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

FLAGS = frozenset(option.flag for option in OPTIONS if option.takes_value)
ENVIRONMENT_OPTIONS = "PYTEST_ADDOPTS"


def correct_root(config: pytest.Config) -> None:
    """Start the process again with equals signs if pytest chose its root directory for a value.

    Raise UsageError where that is not possible, because another program called `pytest.main()`.
    """
    if config.getoption("rootdir") or config.getoption("inifilename"):
        return
    arguments = [str(argument) for argument in config.invocation_params.args]
    from_environment = shlex.split(os.environ.get(ENVIRONMENT_OPTIONS, ""))
    words = [*from_environment, "--", *arguments]
    corrected = [word for word in _with_equals_signs(words) if word not in words]
    if not corrected or _is_root_of(config, list(_paths_of_tests(config))):
        return

    if from_environment:
        os.environ[ENVIRONMENT_OPTIONS] = shlex.join(_with_equals_signs(from_environment))
    command = _command_line_with(arguments, _with_equals_signs(arguments))
    if command is None:
        flag, _, path = corrected[0].partition("=")
        raise pytest.UsageError(
            f"pytest took {path} for a test path and chose {config.rootpath} as the root "
            f"directory: write {flag}={path}, with an equals sign"
        )
    # Nothing has been collected, and pytest does not capture output at this point.
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, command)  # noqa: S606 - the same command line, corrected


def _with_equals_signs(arguments: Iterable[str]) -> list[str]:
    """Join each option of ours with the path behind it."""
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] in FLAGS and Path(argument).exists():
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def _command_line_with(arguments: Sequence[str], corrected: Sequence[str]) -> list[str] | None:
    """Return the command line of this process with other arguments of pytest at its end.

    None if it does not end with those arguments.
    """
    before = len(sys.orig_argv) - len(arguments)
    if before < 1 or sys.orig_argv[before:] != arguments:
        return None
    return [*sys.orig_argv[:before], *corrected]


def _paths_of_tests(config: pytest.Config) -> Iterator[Path]:
    """Yield the directories of the paths that the user gave."""
    for argument in config.option.file_or_dir or ():
        path = config.invocation_params.dir / str(argument).split("::")[0]
        if path.exists():
            yield path if path.is_dir() else path.parent


def _is_root_of(config: pytest.Config, directories: list[Path]) -> bool:
    """Return whether pytest's choice follows from the working directory and the given paths."""
    root = config.rootpath
    starts = [config.invocation_params.dir, *directories]
    if config.inipath is not None or (root / "setup.py").is_file():
        return any(start.is_relative_to(root) for start in starts)
    return root == Path(os.path.commonpath(starts))
