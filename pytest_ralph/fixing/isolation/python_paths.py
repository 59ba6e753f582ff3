"""Which code Python imports in a worktree.

A project that is installed in editable mode is imported from the directory that it was installed
from, wherever a command runs. In a worktree, Verify would test the files of the project, and a
correct fix could not pass.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
import site
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ralph.files import read_or_empty

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_ralph.fixing.isolation.worktree import Worktree

# setuptools writes such a module where a path would make too much importable.
FINDERS = "__editable___*_finder.py"
FINDER_MAPPING = re.compile(r"^MAPPING\b[^=]*= (\{.*\})$", re.MULTILINE)


def worktree_variables(worktree: Worktree, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which commands in a worktree import its own code."""
    environments = [path for path in worktree.linked if (worktree.path / path / "bin").is_dir()]
    variables = {}
    if environments:
        # `uv run` would install the worktree into the environment of the project.
        variables["UV_NO_SYNC"] = "1"

    directories = [Path(path) for path in site.getsitepackages()]
    for environment in environments:
        directories += (worktree.project / environment).glob("lib/python*/site-packages")
    imported = []
    for directory in directories:
        for path in _editable_paths(directory):
            moved = _moved(path, worktree)
            if moved is not None:
                imported.append(moved)
    given = environ.get("PYTHONPATH")
    if given:
        imported += [_moved(path, worktree) or path for path in given.split(os.pathsep)]
    if imported:
        variables["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(imported))
    return variables


def _moved(path: str, worktree: Worktree) -> str | None:
    """Return the directory of the worktree that corresponds to one of the project."""
    if not Path(path).is_absolute():
        return None
    resolved = Path(path).resolve()
    if not resolved.is_relative_to(worktree.project):
        return None
    return str(worktree.path / resolved.relative_to(worktree.project))


def _editable_paths(directory: Path) -> Iterator[str]:
    """Yield the directories that editable installs make importable, from a site-packages."""
    for file in sorted(directory.glob("*.pth")):
        for line in read_or_empty(file).splitlines():
            # Other lines are code and comments.
            if line.startswith("/"):
                yield line.rstrip()
    for file in sorted(directory.glob(FINDERS)):
        mapping = FINDER_MAPPING.search(read_or_empty(file))
        if mapping is None:
            continue
        # Another version of setuptools may write something else.
        with contextlib.suppress(ValueError, SyntaxError):
            for package in ast.literal_eval(mapping[1]).values():
                yield str(Path(package).parent)
