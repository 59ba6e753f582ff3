"""Which specs a command line means, without collecting: for a controller, for the linter."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.files import TASKS_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator


def find_specs(config: pytest.Config) -> Iterator[Path]:
    """Every tasks.md below the given paths, and every other markdown file given by name, each once."""
    seen: set[Path] = set()
    for argument in config.args:
        for path in _meant(config, argument.partition("::")[0]):
            if path not in seen:
                seen.add(path)
                yield path


def _meant(config: pytest.Config, argument: str) -> Iterator[Path]:
    path = Path(os.path.normpath(config.invocation_params.dir / argument))
    if path.is_dir():
        yield from find_below(config, path)
    elif path.suffix.lower() == ".md" and path.is_file():
        yield path
    elif not path.exists() and not config.getoption("pyargs"):
        raise pytest.UsageError(f"file or directory not found: {argument}")


def find_below(config: pytest.Config, top: Path) -> Iterator[Path]:
    """What pytest would not look into (`norecursedirs`, `--ignore`, virtual environments, …) is left out here too."""
    for directory, names, files in os.walk(top):
        names[:] = sorted(name for name in names if not _ignored(config, Path(directory, name)))
        if TASKS_NAME in files and not _ignored(config, Path(directory, TASKS_NAME)):
            yield Path(directory, TASKS_NAME)


def _ignored(config: pytest.Config, path: Path) -> bool:
    return bool(config.hook.pytest_ignore_collect(collection_path=path, config=config))
