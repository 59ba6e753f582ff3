"""Values of our options that pytest takes for paths of tests.

pytest chooses its root directory and its ini file before it loads any plugin, so at that point it
does not know our options. In `--ralph-executor /opt/agent.sh` it takes the value for a test path,
and may choose a root directory that also contains `/opt`. Verify commands would run there.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def refuse_wrong_root(config: pytest.Config) -> None:
    """Raise UsageError if pytest chose its root directory for the value of one of our options."""
    if config.getoption("rootdir") or config.getoption("inifilename"):
        return
    misread = list(_misread_values(config.invocation_params.args))
    if not misread or _is_root_of(config, list(_paths_of_tests(config))):
        return
    flag, value = misread[0]
    raise pytest.UsageError(
        f"pytest took {value} for a test path and chose {config.rootpath} as the root directory: "
        f"write {flag}={value}, with an equals sign"
    )


def _misread_values(arguments: Iterable[str | os.PathLike[str]]) -> Iterator[tuple[str, str]]:
    """Yield each of our options that is followed by the path of an existing file."""
    flags = {option.flag for option in OPTIONS if option.takes_value}
    flag = ""
    for argument in map(str, arguments):
        if flag in flags and Path(argument).exists():
            yield flag, argument
        flag = argument


def _paths_of_tests(config: pytest.Config) -> Iterator[Path]:
    """Yield the directories of the paths that the user gave."""
    for argument in config.option.file_or_dir or ():
        path = config.invocation_params.dir / str(argument).split("::")[0]
        if path.exists():
            yield path if path.is_dir() else path.parent


def _is_root_of(config: pytest.Config, directories: list[Path]) -> bool:
    """Return whether pytest's choice follows from the working directory and the given paths."""
    starts = [config.invocation_params.dir, *directories]
    has_setup = (config.rootpath / "setup.py").is_file()
    if config.inipath is not None or has_setup:
        return any(start.is_relative_to(config.rootpath) for start in starts)
    return config.rootpath == Path(os.path.commonpath(starts))
