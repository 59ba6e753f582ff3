"""The environment of commands, and the JUnit file that a pytest in them writes for us."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

from pytest_ralph.files import read_or_empty
from pytest_ralph.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_ralph.spec.document import Spec
    from pytest_ralph.spec.task import Task

NESTED = "RALPH_NESTED"
_OF_THE_OUTER_RUN = {
    "PYTEST_CURRENT_TEST",
    "PYTEST_VERSION",
    "PYTEST_XDIST_WORKER",
    "PYTEST_XDIST_WORKER_COUNT",
    "PYTEST_XDIST_TESTRUNUID",
}
_OPTIONS_WITH_VALUE = frozenset(option.flag for option in OPTIONS if option.takes_value)
_OURS = ("--ralph", "--no-ralph", "-oralph", "--override-ini=ralph")
_CONFIG_FILES = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")


def clean_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for commands: that of the Python that runs pytest, activated or not.

    Variables of this pytest run are removed, and our plugin is told to stay out of nested runs.
    """
    clean = {name: value for name, value in environ.items() if name not in _OF_THE_OUTER_RUN}
    if "PYTEST_ADDOPTS" in clean:
        clean["PYTEST_ADDOPTS"] = without_our_options(clean["PYTEST_ADDOPTS"])
    clean[NESTED] = "1"
    if clean.get("PATH"):
        clean["PATH"] = with_own_programs(clean["PATH"])
    if not clean.get("LC_ALL"):
        # Failures are read from English messages.
        clean["LC_MESSAGES"] = "C"
    return clean


def task_environment(
    spec: Spec, task: Task, *, directory: Path, attempt: int = 1
) -> dict[str, str]:
    """Return the variables that tell a Verify command which task it verifies.

    `directory` is that of the spec, which in a worktree is another one than the project's.
    """
    return {
        "RALPH_SPEC": spec.name,
        "RALPH_SPEC_PATH": str(directory),
        "RALPH_TASK_ID": task.id,
        "RALPH_ATTEMPT": str(attempt),
    }


def path_below(root: Path, path: Path, project: Path) -> Path:
    """Return the path in a worktree that corresponds to one in the project."""
    if root == project or not path.is_relative_to(project):
        return path
    return root / path.relative_to(project)


def with_own_programs(path: str, executable: str = sys.executable) -> str:
    """Return PATH with the directory of the running Python first.

    An IDE or a CI job may start pytest from an environment that is not activated.
    """
    own = os.path.dirname(executable)  # noqa: PTH120 - a Path would resolve "."
    if not own:
        return path
    others = [directory for directory in path.split(os.pathsep) if directory != own]
    return os.pathsep.join([own, *others])


def without_our_options(addopts: str) -> str:
    """Return the value of PYTEST_ADDOPTS without the options of this plugin."""
    try:
        words = shlex.split(addopts)
    except ValueError:
        return addopts

    kept = []
    rest = iter(words)
    for word in rest:
        if word in _OPTIONS_WITH_VALUE:
            next(rest, None)
        elif word in {"-o", "--override-ini"}:
            setting = next(rest, "")
            if not setting.startswith("ralph"):
                kept += [word, setting]
        elif not word.startswith(_OURS):
            kept.append(word)
    return shlex.join(kept)


def with_junit(addopts: str, path: str) -> str:
    """Return the value of PYTEST_ADDOPTS that requests a JUnit file as well."""
    option = shlex.quote(f"--junitxml={path}")
    return f"{addopts} {option}".strip()


def own_junit(command: str, addopts: str, cwd: Path) -> str | None:
    """Return the JUnit file that the command itself requests."""
    for text in (command, f"pytest {addopts}"):
        if "junit" not in text:
            continue
        # Imported here: few commands say anything about JUnit.
        from pytest_ralph.shell.command import Command

        path = Command.parse(text).junit_file
        if path is not None:
            return str(cwd / path)
    return None


def config_speaks_of_junit(root: Path) -> bool:
    return any(speaks_of_junit(read_or_empty(root / name)) for name in _CONFIG_FILES)


def speaks_of_junit(text: str) -> bool:
    """Return whether a command line or configuration sets or disables pytest's JUnit file."""
    return "junitxml" in text or "junit-xml" in text
