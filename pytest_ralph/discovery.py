"""Which specs a command line means, without collecting: for a controller, for the linter."""

from __future__ import annotations

import fnmatch
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

SPEC_NAME = "tasks.md"


def find_specs(config: pytest.Config) -> Iterator[Path]:
    """Every tasks.md below the given paths, and every other markdown file given by name."""
    for argument in config.args:
        path = Path(config.invocation_params.dir, argument.partition("::")[0])
        if path.is_file() and path.suffix.lower() == ".md":
            yield path
        elif path.is_dir():
            yield from _below(path, config.getini("norecursedirs"))


def _below(top: Path, skipped: list[str]) -> Iterator[Path]:
    for directory, names, files in os.walk(top):
        names[:] = sorted(name for name in names if not any(fnmatch.fnmatch(name, pattern) for pattern in skipped))
        if SPEC_NAME in files:
            yield Path(directory, SPEC_NAME)
