"""Project: the files of the project at hand, to tell its own modules and files from those of others."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pytest_ralph.files import RALPH_DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_FILES = 20_000
DEPTH = 8
FOREIGN = re.compile(
    r"(?:^|/)(?:node_modules|site-packages|dist-packages|vendor/(?:bundle|composer)|\.venv|venv|\.tox|\.nox|\.git|"
    r"\.cargo/registry|rustlib|go/pkg/mod|lib/python\d|usr/(?:lib|share|include|local/lib)|\.m2|\.gradle|gems)(?:/|$)"
)
SKIPPED = frozenset(
    (
        RALPH_DIRECTORY,
        ".git",
        ".hg",
        ".svn",
        "node_modules",
        ".venv",
        "venv",
        ".tox",
        ".nox",
        "__pycache__",
        "target",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
    )
)
# Directories that are not part of a module's name.
ROOTS = (
    "",
    "src/",
    "lib/",
    "app/",
    "python/",
    "tests/",
    "test/",
    "src/main/java/",
    "src/main/kotlin/",
    "source/",
)
ALIASES = ("./", "../", "/", "@/", "~/", "#/", "src/", "file:", "$lib", "~~/", "app/")
SUFFIXES = (
    "",
    ".py",
    ".js",
    ".ts",
    ".mjs",
    ".cjs",
    ".jsx",
    ".tsx",
    ".rb",
    ".pm",
    ".lua",
    ".h",
    ".hpp",
    ".php",
    ".rs",
    ".java",
    ".kt",
    ".go",
    ".ex",
    ".hs",
    ".vue",
    ".svelte",
    ".css",
    ".scss",
    ".json",
)


class Project:
    """The tree below a root directory; without a root every question is answered from names alone.

    `planned` are files that may not be there yet, but will be the project's own.
    """

    def __init__(self, root: Path | None, planned: Iterable[str] = ()) -> None:
        self.root = root
        self._planned = frozenset(planned)

    @cached_property
    def files(self) -> frozenset[str]:
        return frozenset(_walk(self.root)) if self.root is not None else frozenset()

    @cached_property
    def _by_base(self) -> defaultdict[str, list[str]]:
        table: defaultdict[str, list[str]] = defaultdict(list)
        for file in self.files:
            table[file.rpartition("/")[2]].append(file)
        return table

    @cached_property
    def _own(self) -> frozenset[str]:
        return self.files | self._planned

    @cached_property
    def _directories(self) -> frozenset[str]:
        return frozenset(
            str(parent) for name in self._own for parent in PurePosixPath(name).parents
        )

    def find(self, path: str) -> str | None:
        """The project's file that a printed path means, relative to the root."""
        if FOREIGN.search(path):
            return None
        parts = [
            part
            for part in PurePosixPath(path.replace("\\", "/")).parts
            if part not in ("/", ".", "..")
        ]
        for start in range(len(parts)):
            name = "/".join(parts[start:])
            if name in self.files:
                return name
            if (
                not path.startswith(("/", "file:", "..", "\\"))
                and start == 0
                and (found := self._by_name(name))
            ):
                return found
        return None

    def _by_name(self, name: str) -> str | None:
        """The end of a path that only one file has (stack traces of Java, test runners of Go, charts of Helm)."""
        found = [
            file for file in self._by_base[name.rpartition("/")[2]] if file.endswith("/" + name)
        ]
        return found[0] if len(found) == 1 else None

    def owns_module(self, name: str) -> bool:
        """Is a module of this name the project's own: named by a path, or (the start of it) in the tree?"""
        if name.startswith(ALIASES) and not name.startswith("src/@"):
            return not FOREIGN.search(name)
        path = (
            re.sub(r"::|\.(?=\w)|\\", "/", name)
            if not name.endswith((".h", ".hpp", ".js", ".rb"))
            else name
        )
        top = path.split("/")[0]
        return any(self._exists(root + start) for root in ROOTS for start in {path, top} if start)

    def _exists(self, path: str) -> bool:
        return path in self._directories or any(path + suffix in self._own for suffix in SUFFIXES)


def _walk(root: Path) -> Iterator[str]:
    left = MOST_FILES
    for directory, folders, names in os.walk(root):
        inside = Path(directory).relative_to(root)
        folders[:] = sorted(set(folders) - SKIPPED) if len(inside.parts) < DEPTH else []
        for name in names:
            yield (inside / name).as_posix()
        left -= len(names)
        if left < 0:
            return
