"""What a repair is found from."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_ralph.fixing.repairs.indirection import Step, steps
from pytest_ralph.fixing.repairs.own_files import own_file

if TYPE_CHECKING:
    import re
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from pytest_ralph.failure.failure import Failure

MAX_LINES = 20_000
LONGEST_LINE = 5000


@dataclass(frozen=True)
class RepairContext:
    """A failure in a project, and what the user allows to repair."""

    failure: Failure
    root: Path
    environ: Mapping[str, str]
    # The names of the repairs that the user allows.
    allowed: Collection[str]

    @property
    def command(self) -> str:
        """The Verify command that failed, in the root."""
        return self.failure.command

    @property
    def search_path(self) -> str:
        """The PATH of the commands."""
        return self.environ.get("PATH", os.defpath)

    def has_program(self, name: str) -> bool:
        """Return whether a program is on the PATH of the commands."""
        return shutil.which(name, path=self.search_path) is not None

    def own_file(self, name: str, base: Path | None = None) -> Path | None:
        """Return the file of the project that `name` means, looked up from `base` first."""
        for directory in (base or self.root, self.root):
            file = own_file(self.root, directory / name)
            if file is not None:
                return file
        return None

    def own_files(self, names: Iterable[str], base: Path | None = None) -> Iterator[Path]:
        """Yield the files of the project that `names` mean."""
        for name in names:
            file = self.own_file(name, base)
            if file is not None:
                yield file

    @cached_property
    def output_lines(self) -> list[str]:
        """The lines of the output, without those that are too many or too long to look at."""
        lines = self.failure.raw_output.splitlines()[:MAX_LINES]
        return [line.rstrip() for line in lines if len(line) < LONGEST_LINE]

    def names_in_output(self, pattern: re.Pattern[str]) -> Iterator[str]:
        """Yield what the named groups of a pattern find in the lines of the output."""
        for line in self.output_lines:
            for match in pattern.finditer(line):
                if match.lastgroup:
                    yield match[match.lastgroup]

    def relative(self, path: Path) -> str:
        """Return `path` relative to the root."""
        return path.relative_to(self.root).as_posix()

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The calls of programs behind the Verify command."""
        return steps(self.command, self.root)

    @cached_property
    def directories(self) -> tuple[Path, ...]:
        """Where a manifest may be, each directory once.

        These are the directories of the programs called and of the files named, and those above
        them up to the root.
        """
        starts = [step.directory for step in self.steps]
        starts += [file.parent for file in self.own_files(self.failure.files)]
        starts.append(self.root)

        found: dict[Path, None] = {}
        for start in starts:
            for directory in (start, *start.parents):
                if directory.is_relative_to(self.root):
                    found[directory] = None
        return tuple(found)
