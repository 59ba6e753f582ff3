"""Find the specs that a command line selects without collecting, for controller and linter."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.files import SPECS_NAME, TASKS_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

# Equal for two paths that lead to the same spec.
SpecIdentity = tuple[object, ...]


def find_specs(config: pytest.Config) -> Iterator[Path]:
    """Yield every tasks.md below the given paths and every Markdown file given by name.

    A spec that is reached by several paths is yielded once, by the first of them.
    """
    seen: set[SpecIdentity] = set()
    for argument in config.args:
        for path in _selected_by(config, argument.partition("::")[0]):
            identity = identity_of(path)
            if identity not in seen:
                seen.add(identity)
                yield path


def look_in_specs(config: pytest.Config) -> None:
    """Add `specs/` to the arguments if they come from `testpaths` and lead to no spec."""
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    specs = config.invocation_params.dir / SPECS_NAME
    if specs.is_dir() and not any(find_specs(config)):
        config.args.append(SPECS_NAME)


def identity_of(path: Path) -> SpecIdentity:
    """Return what is the same for a spec by whatever path it is reached.

    Links are followed, and numbers of inodes stand for names that differ in case only. Hard links
    in two directories are two specs, because each directory has its own state file.
    """
    real = Path(os.path.realpath(path))
    try:
        file = real.stat()
        directory = real.parent.stat()
    except OSError:
        return (str(real),)
    return file.st_dev, file.st_ino, directory.st_dev, directory.st_ino


def argument_path(config: pytest.Config, argument: str) -> Path:
    """Return the path that an argument of the command line names, without `..` in it."""
    return Path(os.path.normpath(config.invocation_params.dir / argument))


def with_known_paths(config: pytest.Config) -> list[str]:
    """Return the arguments, with files by the path under which the spec is collected.

    `a/tasks.md::1.1 b/tasks.md::1.2` selects two tasks of one spec if `b` is a link to `a`. What
    is selected twice then is named once: older versions of pytest would run it twice.
    """
    if len(config.args) < 2:
        return config.args
    directory = config.invocation_params.dir
    collected = {identity_of(path): path for path in find_specs(config)}
    selected: set[tuple[Path, str]] = set()
    arguments = []
    for argument in config.args:
        file, separator, name = argument.partition("::")
        path = argument_path(config, file)
        known = collected.get(identity_of(path), path)
        if known == path:
            arguments.append(argument)
        elif (known, name) not in selected:
            known_file = os.path.relpath(known, directory)
            arguments.append(known_file + separator + name)
        selected.add((known, name))
    return arguments


def _selected_by(config: pytest.Config, argument: str) -> Iterator[Path]:
    path = argument_path(config, argument)
    if path.is_dir():
        yield from find_below(config, path)
    elif is_markdown(path.name) and path.is_file():
        yield path
    elif not path.exists() and not config.getoption("pyargs"):
        raise pytest.UsageError(f"file or directory not found: {argument}")


def find_below(config: pytest.Config, top: Path, *, follow_links: bool = True) -> Iterator[Path]:
    """Yield every tasks.md below a directory, except where pytest would not collect either.

    Directories that links lead to come last, unless they were searched under their real path.
    """
    tops = [top]
    seen: set[str] = set()
    # It grows meanwhile.
    for start in tops:
        real_start = os.path.realpath(start)
        for directory, names, files in os.walk(start):
            real = real_start + directory.removeprefix(str(start))
            if real in seen:
                names.clear()
                continue
            seen.add(real)
            here = Path(directory)
            # os.walk descends into these, but not into links.
            names[:] = sorted(name for name in names if not _is_ignored(config, here / name))
            if follow_links:
                tops += [here / name for name in names if (here / name).is_symlink()]
            if TASKS_NAME in files and not _is_ignored(config, here / TASKS_NAME):
                yield here / TASKS_NAME


def _is_ignored(config: pytest.Config, path: Path) -> bool:
    """Return whether `norecursedirs`, `--ignore`, a conftest or a plugin excludes the path."""
    return bool(config.hook.pytest_ignore_collect(collection_path=path, config=config))


def is_markdown(name: str) -> bool:
    """Return whether a file name, or a node id without `::`, is that of a Markdown file."""
    return name.lower().endswith(".md")


def shown_path(path: Path, root: Path) -> str:
    """Return a path as users know it: relative to the project root if it is below it."""
    if path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    return str(path)


def split_nodeid(nodeid: str) -> tuple[str, str]:
    """Return the path of the spec and the name of the task.

    With `--dist=loadgroup`, pytest-xdist appends the group of an item, as in `tasks.md::1.3@group`.
    """
    path, _, name = nodeid.partition("::")
    return path, name.partition("@")[0]
