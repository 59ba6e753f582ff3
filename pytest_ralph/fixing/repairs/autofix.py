"""The repairs `format` and `lint`: run the tool that complained in its fix mode on its files."""

from __future__ import annotations

import os
import re
from itertools import islice
from typing import TYPE_CHECKING

from pytest_ralph.fixing.check_files import is_test
from pytest_ralph.fixing.repairs.base import Repair
from pytest_ralph.fixing.repairs.own_files import as_argument
from pytest_ralph.running.project_files import entries_below

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pytest_ralph.fixing.repairs.context import RepairContext
    from pytest_ralph.fixing.repairs.indirection import Step
    from pytest_ralph.shell.programs import FixMode

PURPOSE_OF_KIND = {"format_error": "format", "lint_error": "lint"}
MAX_FILES = 2000
# Files below a directory that are looked at.
MOST_FILES_BELOW = 20_000

# How formatters introduce the name of a file that they would change.
INTRODUCED_FILE = re.compile(
    r"""^(?:
        would\ reformat:?\ (?P<black>.+)
      | ERROR:\ (?P<isort>.+?)\ Imports\ are\ incorrectly
      | \[warn\]\ (?P<prettier>.+)
      | Diff\ in\ (?P<rustfmt>.+?)(?:\ at\ line\ \d+:?|:\d+:?)
      | (?:---|diff)\ (?:a/|original/)?(?P<diff>[^\t]+?)(?:\.orig)?(?:\t.*)?
      | \s*-->\ (?P<arrow>.+?):\d+(?::\d+)?
      | (?P<alone>\S.*)
    )$""",
    re.VERBOSE | re.IGNORECASE,
)
PATH = re.compile(r"[^\s:'\"`(),;<>\[\]|*=]+\.\w+|[\w./-]*(?:Gemfile|Rakefile|BUILD|WORKSPACE)\b")
# A formatter would change these files, too, but the next build overwrites them.
BUILT_DIRECTORIES = frozenset(
    {
        "dist",
        "build",
        "out",
        "target",
        "coverage",
        "htmlcov",
        "vendor",
        "generated",
        "__generated__",
    }
)
BUILT_FILE = re.compile(r"\.min\.(?:js|css)$|_pb2(?:_grpc)?\.pyi?$|\.pb\.go$|\.g\.dart$")
BUILT_MARK = re.compile(rb"(?i)@generated\b|code generated .{0,80}do not edit")
# An import that nothing uses in the file itself may be there for others, or for what it does.
UNUSED_IMPORT = re.compile(r"F401.{0,40}?`([\w.]+)(?: as \w+)?` imported but unused")
MODIFIED_BY_HOOK = "files were modified by this hook"


def find(context: RepairContext) -> Repair | None:
    """Return the fix mode of the tool that failed, if it named files of the project."""
    if "format" in context.allowed and MODIFIED_BY_HOOK in context.failure.raw_output:
        reason = "Verify changed the files that it complained about"
        return Repair("format", reason, verify=context.command)
    for mode, step in _candidates(context):
        repair = _repair(context, mode, step)
        if repair is not None:
            return repair
    return None


def _candidates(context: RepairContext) -> list[tuple[FixMode, Step]]:
    """Return the tools that may have failed with their fix modes, the most likely first."""
    purpose = PURPOSE_OF_KIND.get(context.failure.kind)
    # `test -z "$(gofmt -l .)"` fails without a word that tells its kind.
    is_silent = not context.failure.raw_output.strip()
    candidates = []
    for step in context.steps:
        mode = step.fix_mode
        if mode is None or mode.purpose not in context.allowed:
            continue
        if purpose is not None or (is_silent and step.nested):
            candidates.append((mode, step))
    # In `ruff check . && ruff format --check .` the kind of the failure tells which one failed.
    candidates.sort(key=lambda candidate: candidate[0].purpose != purpose)
    return candidates


def _repair(context: RepairContext, mode: FixMode, step: Step) -> Repair | None:
    argv = step.fixing_argv(mode)
    files = _named_files(context, mode, step)
    if mode.title == "autoflake":
        files = [file for file in files if not _may_import_for_others(context, file)]
    if argv is None or not files:
        return None
    if mode.title == "ruff check" and _has_protected_import(context, files):
        argv = (*argv, "--extend-unfixable", "F401")

    names = tuple(context.relative(file) for file in files)
    where = names[0] if len(names) == 1 else f"{len(names)} files"
    arguments: tuple[str, ...] = ()
    if mode.whole:
        # It may also change files that it did not name.
        others = filter(mode.handles, entries_below(context.root))
        names = tuple(dict.fromkeys([*names, *others]))
    else:
        arguments = tuple(as_argument(file, step.directory) for file in files)
    return Repair(
        name=mode.purpose,
        reason=f"{mode.title} can fix what it found in {where}",
        files=names,
        argv=argv,
        arguments=arguments,
        directory=step.directory,
        env=_environment(context, step),
    )


def _environment(context: RepairContext, step: Step) -> tuple[tuple[str, str], ...]:
    """Return the variables of the failing call, with the PATH of an activated environment."""
    if step.activated is None:
        return step.env
    search_path = os.pathsep.join([str(step.activated), context.search_path])
    return (("PATH", search_path), *step.env)


def _has_protected_import(context: RepairContext, files: list[Path]) -> bool:
    """Return whether an unused import is in a test or `__init__.py`, or of the project's own."""
    output = context.failure.raw_output
    if "F401" not in output:
        return False
    if any(_may_import_for_others(context, file) for file in files):
        return True
    modules = UNUSED_IMPORT.findall(output)
    # In other formats than those for people, the name of the module is not looked for.
    return not modules or any(_is_own_module(context.root, module) for module in modules)


def _may_import_for_others(context: RepairContext, file: Path) -> bool:
    return file.name == "__init__.py" or is_test(context.relative(file))


def _is_own_module(root: Path, module: str) -> bool:
    name = module.partition(".")[0]
    if not name:
        # A relative import.
        return True
    for place in (root, root / "src", root / "lib"):
        if (place / name).is_dir() or (place / f"{name}.py").is_file():
            return True
    return False


def _is_built(file: Path, root: Path) -> bool:
    """Return whether a file is made from others, as far as can be read."""
    directories = file.relative_to(root).parts[:-1]
    if not BUILT_DIRECTORIES.isdisjoint(directories):
        return True
    if BUILT_FILE.search(file.name):
        return True
    try:
        with file.open("rb") as opened:
            beginning = opened.read(1000)
    except OSError:
        # Nobody can fix a file that cannot be read.
        return True
    return BUILT_MARK.search(beginning) is not None


def _named_files(context: RepairContext, mode: FixMode, step: Step) -> list[Path]:
    """Return the project's files that the tool named."""
    for names in _possible_names(context, mode, step):
        handled = filter(mode.handles, dict.fromkeys(names))
        # Several names may mean the same file.
        own = dict.fromkeys(context.own_files(handled, step.directory))
        files = [file for file in own if not _is_built(file, context.root)]
        if files:
            return files[:MAX_FILES]
    return []


def _possible_names(context: RepairContext, mode: FixMode, step: Step) -> Iterator[Iterable[str]]:
    """Yield what may be the names of files, each time less certain than before."""
    yield [*context.names_in_output(INTRODUCED_FILE), *context.failure.files]
    yield PATH.findall("\n".join(context.output_lines))
    if step.nested and mode.suffixes:
        # Inside `$(…)` the tool named them to the shell only.
        below = islice(step.directory.rglob("*"), MOST_FILES_BELOW)
        yield map(str, below)
